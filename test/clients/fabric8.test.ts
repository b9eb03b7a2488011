/**
 * The Java client of fabric8, with Maven and a JDK of at least 17. Maven copies the libraries into the cache of the
 * user once for each state of the project file.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { CLIENT_CACHE, failedClaims } from './program.ts';

const LIMIT = 1_800_000;
const FOLDER = join(import.meta.dirname, 'fabric8');
const PROJECT = join(FOLDER, 'pom.xml');
const OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('fabric8', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test(
    'writes, patches, applies, lists, watches, follows with informers and leads',
    async (context) => {
      const libraries = copiedLibraries();
      if (libraries === undefined) return context.skip();
      const program = [...OPTIONS, '-cp', join(libraries, '*'), join(FOLDER, 'Clients.java')];
      const kubeconfig = join(daemon.dataDir, 'kubeconfig');
      expect(await failedClaims('java', [...program, kubeconfig])).toEqual([]);
    },
    LIMIT,
  );
});

function copiedLibraries(): string | undefined {
  const digest = createHash('sha256').update(readFileSync(PROJECT)).digest('hex').slice(0, 16);
  const libraries = join(CLIENT_CACHE, `fabric8-${digest}`);
  if (existsSync(libraries)) return libraries;
  const unfinished = `${libraries}.${process.pid}`;
  const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const { status, stdout, error } = spawnSync(
    'mvn',
    ['-B', '-ntp', '-q', '-f', PROJECT, ...copy, `-DoutputDirectory=${unfinished}`],
    {
      encoding: 'utf8',
      timeout: LIMIT,
      env: { ...process.env, MAVEN_OPTS: '-Xmx512m' },
    },
  );
  if (status === 0) {
    renameSync(unfinished, libraries);
    return libraries;
  }
  rmSync(unfinished, { recursive: true, force: true });
  const why = error?.message ?? stdout;
  process.stderr.write(`\nThe Java client of fabric8 is SKIPPED: Maven failed\n${why}\n\n`);
  return undefined;
}

/**
 * Libraries of the Java clients. Maven copies them into the cache of the user once for each state of the
 * project file.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_CACHE } from './program.ts';

/** Folder with the libraries; undefined, with a loud line, where Maven cannot have them. */
export function javaLibraries(client: string, limitMs: number): string | undefined {
  const project = join(import.meta.dirname, client, 'pom.xml');
  const digest = createHash('sha256').update(readFileSync(project)).digest('hex').slice(0, 16);
  const libraries = join(CLIENT_CACHE, `${client}-${digest}`);
  if (existsSync(libraries)) return libraries;
  const unfinished = `${libraries}.${process.pid}`;
  const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const { status, stdout, error } = spawnSync(
    'mvn',
    ['-B', '-ntp', '-q', '-f', project, ...copy, `-DoutputDirectory=${unfinished}`],
    {
      encoding: 'utf8',
      timeout: limitMs,
      env: { ...process.env, MAVEN_OPTS: '-Xmx512m' },
    },
  );
  if (status === 0) {
    renameSync(unfinished, libraries);
    return libraries;
  }
  rmSync(unfinished, { recursive: true, force: true });
  const why = error?.message ?? stdout;
  process.stderr.write(`\nThe Java client ${client} is SKIPPED: Maven failed\n${why}\n\n`);
  return undefined;
}

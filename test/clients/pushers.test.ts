/**
 * Libraries that push with a git of their own, go-git and JGit: plain pushes of a clone that the branch
 * has overtaken.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { expectSound } from '../support/git.ts';
import { javaLibraries } from './java-libraries.ts';
import { failedClaimsOf, goProgram, start } from './program.ts';

const LIMIT = 1_800_000;

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('libraries that push', () => {
  const folder = scratchDir('gitplane-pushers-');
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const ca = (): string => join(daemon.dataDir, 'tls/ca.crt');

  /** Runs a program that clones, waits until the branch has gone on, and pushes. */
  async function expectPushes(name: string, program: string, args: readonly string[]) {
    const words = [...args, `${daemon.url}/git/platform.git`, join(folder, name)];
    const env = { GITPLANE_TOKEN: daemon.token, GITPLANE_CA: ca() };
    const running = start(program, words, env);
    await running.until((verdict) => verdict.waiting !== undefined);
    const body = { spec: { displayName: `Beside ${name}` } };
    const type = 'application/merge-patch+json';
    const patched = await daemon.call('PATCH', `${API}/teams/payments`, { body, type });
    expect(patched.code).toBe(200);
    running.tell('go on');
    expect(await failedClaimsOf(running, name)).toEqual([]);
    const displayName = async (team: string): Promise<unknown> =>
      (await daemon.call('GET', `${API}/teams/${team}`)).json().spec.displayName;
    expect(await displayName(name)).toBe('three');
    expect(await displayName('payments')).toBe(`Beside ${name}`);
    const gitDir = join(daemon.dataDir, 'repo.git');
    const { stdout } = await run('git', [
      '--git-dir',
      gitDir,
      'log',
      '--merges',
      '--format=%s',
      '-1',
    ]);
    expect(stdout.trim()).toBe(`merge Team "${name}"`);
    expectSound(gitDir);
  }

  test(
    'go-git lands its pushes at the first try',
    async (context) => {
      const program = goProgram({ folder: join(import.meta.dirname, 'go-git') });
      if (program === undefined) return context.skip();
      await expectPushes('go-git', program, []);
    },
    LIMIT,
  );

  test(
    'JGit lands its pushes at the first try',
    async (context) => {
      const libraries = javaLibraries('jgit', LIMIT);
      const trust = join(folder, 'trust.p12');
      const made = spawnSync('keytool', [
        ...['-importcert', '-noprompt', '-alias', 'gitplane', '-file', ca()],
        ...['-keystore', trust, '-storetype', 'PKCS12', '-storepass', 'changeit'],
      ]);
      if (libraries === undefined || made.status !== 0) return context.skip();
      await expectPushes('jgit', 'java', [
        `-Djavax.net.ssl.trustStore=${trust}`,
        '-Djavax.net.ssl.trustStorePassword=changeit',
        ...['-Xmx256m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=error'],
        ...['-cp', join(libraries, '*'), join(import.meta.dirname, 'jgit/Push.java')],
      ]);
    },
    LIMIT,
  );
});

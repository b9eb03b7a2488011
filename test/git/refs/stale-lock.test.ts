/** Locks that git left when it was killed. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RefLockedError } from '../../../src/git/git-error.ts';
import { initRepository } from '../../../src/git/init-repository.ts';
import { removeStaleLock } from '../../../src/git/refs/stale-lock.ts';
import { bareRepository, commitOf, git, gitEnv, openForTest, publish } from '../../support/git.ts';

const LOCK = 'refs/heads/main.lock';

/** A lock that was taken so many seconds ago. */
function lockIn(gitDir: string, name: string, seconds: number): string {
  const file = join(gitDir, name);
  writeFileSync(file, '');
  const at = Date.now() / 1000 - seconds;
  utimesSync(file, at, at);
  return file;
}

const isLinux = existsSync('/proc/self/stat');

describe.runIf(isLinux)('a lock without a holder', () => {
  test.each([
    [60, true],
    [0, false],
  ])('an abandoned lock that is %i seconds old goes: %s', async (seconds, goes) => {
    const gitDir = await bareRepository();
    const file = lockIn(gitDir, LOCK, seconds);
    expect(await removeStaleLock(gitDir, file)).toBe(goes);
    expect(existsSync(file)).toBe(!goes);
  });

  test('does not keep any user from writing once it is old', async () => {
    const repository = await openForTest({ lockTimeoutMs: 20 });
    const [first = ''] = await publish(repository, commitOf({ a: '1' }));
    // Starts a process that reads for as long as the repository is open.
    await repository.readBlobs([git(repository.gitDir, ['rev-parse', `${first}:a`])]);
    lockIn(repository.gitDir, LOCK, 60);
    const [id] = await publish(repository, commitOf({ a: '2' }));
    expect(git(repository.gitDir, ['rev-parse', 'main'])).toBe(id);
  });

  test.each(['config', 'HEAD'])(
    'an abandoned lock on %s does not keep the daemon from starting',
    async (name) => {
      const gitDir = await bareRepository();
      git(gitDir, ['config', 'gc.auto', '1']);
      lockIn(gitDir, `${name}.lock`, 60);
      await initRepository({ gitDir, branch: 'main' });
      expect(git(gitDir, ['config', 'gc.auto'])).toBe('0');
    },
  );
});

describe('a git process at work', () => {
  /** Holds the lock of the branch until the test is over. */
  async function transactionIn(gitDir: string, head: string): Promise<void> {
    const holder = spawn('git', ['update-ref', '--stdin'], { cwd: gitDir, env: gitEnv });
    onTestFinished(() => void holder.kill('SIGKILL'));
    holder.stdin.write(`start\nupdate refs/heads/main ${head} ${head}\nprepare\n`);
    await new Promise<void>((done) => {
      let said = '';
      holder.stdout.on('data', (chunk: Buffer) => {
        said += chunk;
        if (said.includes('prepare: ok')) done();
      });
    });
  }

  test('keeps its lock for any time', async () => {
    const repository = await openForTest({ lockTimeoutMs: 20 });
    const { gitDir } = repository;
    const [first = ''] = await publish(repository, commitOf({ a: '1' }));
    await transactionIn(gitDir, first);

    expect(await removeStaleLock(gitDir, join(gitDir, LOCK), 0)).toBe(false);
    await expect(publish(repository, commitOf({ a: '2' }))).rejects.toThrow(RefLockedError);
    expect(readFileSync(join(gitDir, 'refs/heads/main'), 'utf8').trim()).toBe(first);
  });

  test.runIf(isLinux)('a lock goes that is older than the process', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [first = ''] = await publish(repository, commitOf({ a: '1' }));
    await transactionIn(gitDir, first);
    expect(await removeStaleLock(gitDir, lockIn(gitDir, 'HEAD.lock', 60))).toBe(true);
    expect(existsSync(join(gitDir, LOCK))).toBe(true);
  });
});

test.runIf(isLinux)(
  'leaves leftovers of killed pushes and repacks, which a start removes once they are old',
  async () => {
    const { gitDir } = await openForTest();
    const left = ['objects/tmp_objdir-incoming-AbCdEf', 'objects/pack/.tmp-4194305-pack-0a1b.pack'];
    const young = 'objects/tmp_objdir-incoming-GhIjKl';
    for (const name of [...left, young]) mkdirSync(join(gitDir, name));
    const at = Date.now() / 1000 - 2 * 60 * 60;
    for (const name of left) utimesSync(join(gitDir, name), at, at);

    await openForTest({ gitDir });
    expect([...left, young].map((name) => existsSync(join(gitDir, name)))).toEqual([
      false,
      false,
      true,
    ]);
  },
);

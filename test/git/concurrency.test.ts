/** Several writers on one branch: ours, git's, and processes that are killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { thisOwner } from '../../src/files/owner.ts';
import { RefLockedError } from '../../src/git/git-error.ts';
import { HeadMovedError, type Repository } from '../../src/git/repository.ts';
import {
  bareRepository,
  cloneForTest,
  commitOf,
  expectSound,
  git,
  gitEnv,
  openForTest,
  packFiles,
  publish,
} from '../support/git.ts';
import { killWithChildren } from '../support/processes.ts';

/** Publishes one commit; starts over when another process was first. */
async function insist(repository: Repository, files: Record<string, string>): Promise<string> {
  for (;;) {
    try {
      const [id = ''] = await publish(repository, commitOf(files));
      return id;
    } catch (error) {
      if (!(error instanceof HeadMovedError)) throw error;
    }
  }
}

function commitIds(gitDir: string): string[] {
  return git(gitDir, ['rev-list', 'main']).split('\n');
}

/**
 * Runs `others`, and commits of ours beside it until it is done; returns the ids of ours. Git is the
 * slower one: it gets the longer a pause the more often it lost in a row.
 */
async function writeBeside(
  repository: Repository,
  others: Promise<void>,
  pauseMs: () => number,
): Promise<string[]> {
  let over = false;
  void others.finally(() => {
    over = true;
  });
  const ids: string[] = [];
  while (!over) {
    ids.push(await insist(repository, { [`ours/${ids.length}`]: 'x' }));
    await new Promise((done) => setTimeout(done, pauseMs()));
  }
  await others;
  return ids;
}

test('concurrent pushes of git and commits of the daemon lose nothing', async () => {
  const repository = await openForTest();
  const first = await insist(repository, { start: '1' });
  const clone = cloneForTest(repository.gitDir);
  const pushed: string[] = [];
  let lost = 0;
  async function push(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      writeFileSync(join(clone, `pushed-${i}`), 'x');
      git(clone, ['add', '-A']);
      git(clone, ['commit', '-q', '-m', `push ${i}`]);
      for (let accepted = false; !accepted; ) {
        await run(clone, ['pull', '-q', '--rebase', 'origin', 'main']);
        accepted = (await run(clone, ['push', '-q', 'origin', 'main'])).code === 0;
        lost = accepted ? 0 : lost + 1;
      }
      pushed.push(git(clone, ['rev-parse', 'HEAD']));
    }
  }
  const ours = await writeBeside(repository, push(), () => 100 + 150 * lost);
  expect(new Set(commitIds(repository.gitDir))).toEqual(new Set([first, ...pushed, ...ours]));
  expectSound(repository.gitDir);
});

test('git and gitplane move the ref alternately as fast as they can: nothing is lost', async () => {
  const repository = await openForTest();
  const { gitDir } = repository;
  const first = await insist(repository, { start: '1' });
  const theirs: string[] = [];
  let lost = 0;
  async function moveByGit(): Promise<void> {
    while (theirs.length < 25) {
      const old = (await run(gitDir, ['rev-parse', 'main'])).output;
      const made = await run(gitDir, ['commit-tree', '-p', old, '-m', 'git', `${old}^{tree}`]);
      const moved = await run(gitDir, ['update-ref', 'refs/heads/main', made.output, old]);
      if (moved.code === 0) theirs.push(made.output);
      lost = moved.code === 0 ? 0 : lost + 1;
    }
  }
  const ours = await writeBeside(repository, moveByGit(), () => 2 + 10 * lost);
  expect(ours.length).toBeGreaterThan(5);
  expect(new Set(commitIds(gitDir))).toEqual(new Set([first, ...theirs, ...ours]));
  expectSound(gitDir);
});

test('two handles on one repository never overwrite each other', async () => {
  const one = await openForTest();
  const two = await openForTest({ gitDir: one.gitDir });
  const start = await insist(one, { start: '1' });
  const series = async (repository: Repository, name: string) => {
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push(await insist(repository, { [`${name}/${i}`]: 'x' }));
    return ids;
  };
  const ids = await Promise.all([series(one, 'a'), series(two, 'b')]);
  expect(new Set(commitIds(one.gitDir))).toEqual(new Set([start, ...ids.flat()]));
  expectSound(one.gitDir);
});

describe('the lock of the branch', () => {
  test('held by another process is waited for', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const first = await insist(repository, { a: '1' });
    const updates = spawn('git', ['update-ref', '--stdin'], { cwd: gitDir, env: gitEnv });
    onTestFinished(() => void updates.kill('SIGKILL'));
    updates.stdin.write(`start\nupdate refs/heads/main ${first} ${first}\nprepare\n`);
    await said(updates, 'prepare: ok');

    const writing = insist(repository, { a: '2' });
    const early = await Promise.race([
      writing,
      new Promise((done) => setTimeout(done, 100, 'waits')),
    ]);
    expect(early).toBe('waits');
    updates.stdin.end('abort\n');
    expect(await repository.isAncestor(first, await writing)).toBe(true);
  });

  test('a branch lock that is never released causes an error that names the file; the branch stays', async () => {
    const repository = await openForTest({ lockTimeoutMs: 50 });
    const first = await insist(repository, { a: '1' });
    const lock = join(repository.gitDir, 'refs/heads/main.lock');
    writeFileSync(lock, '');
    const before = packFiles(repository.gitDir);
    const writing = insist(repository, { a: '2' });
    await expect(writing).rejects.toThrow(RefLockedError);
    await expect(writing).rejects.toThrow(`${lock} exists`);
    expect(await repository.head()).toBe(first);
    expect(packFiles(repository.gitDir)).toEqual(before);
  });

  test.each([
    ['a dead process of this machine', thisOwner.replace(/-\d+-\d+$/, '-4194305-1'), true],
    ['a process with our pid before a restart', thisOwner.replace(/-\d+$/, '-1'), true],
    ['a live process', thisOwner.replace(/-\d+-\d+$/, `-${process.ppid}-0`), false],
    ['another container, just now', `000000000000-1-1`, false],
  ])('left by %s is removed at the start: %j → %j', async (_who, owner, removed) => {
    const gitDir = await bareRepository();
    mkdirSync(join(gitDir, 'gitplane'));
    const claim = join(gitDir, 'gitplane', `claim-${owner}-0123456789ab`);
    writeFileSync(claim, `${'1'.repeat(40)}\n`);
    linkSync(claim, join(gitDir, 'refs/heads/main.lock'));
    const repository = await openForTest({ gitDir, lockTimeoutMs: 20 });
    const writing = publish(repository, commitOf({ a: '1' }));
    if (removed) await expect(writing).resolves.toHaveLength(1);
    else await expect(writing).rejects.toThrow(RefLockedError);
  });

  test('a branch lock of another process is not removed with an abandoned lock file', async () => {
    const gitDir = await bareRepository();
    mkdirSync(join(gitDir, 'gitplane'));
    const owner = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');
    writeFileSync(join(gitDir, 'gitplane', `claim-${owner}-0123456789ab`), '');
    writeFileSync(join(gitDir, 'refs/heads/main.lock'), '');
    const repository = await openForTest({ gitDir, lockTimeoutMs: 20 });
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toThrow(RefLockedError);
  });
});

test('killed processes lose no acknowledged write and block no other process', async () => {
  const gitDir = await bareRepository();
  const acknowledged: string[] = [];
  for (let round = 0; round < 4; round++) {
    const writers = ['left', 'right'].map((name) => startWriter(gitDir, name));
    await Promise.all(writers.map((writer) => said(writer.child, 'done')));
    await new Promise((done) => setTimeout(done, 37 * round));
    for (const writer of writers) writer.kill();
    for (const writer of writers) {
      await writer.ended;
      acknowledged.push(...writer.done());
    }
    const there = new Set(commitIds(gitDir));
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
    expectSound(gitDir);
  }
  const repository = await openForTest({ gitDir });
  await insist(repository, { last: 'one' });
  expectSound(gitDir);
});

function startWriter(gitDir: string, name: string) {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const script = join(import.meta.dirname, '../support/writer-process.ts');
  const child = spawn(process.execPath, ['--import', tsx, script, gitDir, name], {
    env: gitEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  // With its children, as when a container or a machine goes down.
  const kill = () => {
    if (child.exitCode === null && child.signalCode === null) killWithChildren(Number(child.pid));
  };
  onTestFinished(kill);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = new Promise((done) => child.once('close', done));
  const done = () => [...output.matchAll(/^done ([0-9a-f]{40})\n/gm)].map(([, id = '']) => id);
  return { child, kill, ended, done };
}

/** Resolves when a process has printed a text. */
function said(child: ChildProcess, text: string): Promise<void> {
  return new Promise((done, fail) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(text)) done();
    });
    child.once('exit', () => fail(new Error(`The process ended before it said ${text}`)));
  });
}

/** Runs git beside us, and says how it ended. */
function run(
  cwd: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const child = spawn('git', args, { cwd, env: gitEnv, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.once('close', (code) => done({ code, output: output.trim() }));
  });
}

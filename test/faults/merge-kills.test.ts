/**
 * A push with an older base, and a daemon that is killed at each of its operations on files meanwhile: the
 * push is there as a whole or not at all, nothing acknowledged is lost, and a repeated push finds its place.
 */
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { commitFiles, gitIn, manifest } from '../e2e/clones.ts';
import { API, type Daemon, type RunResult, scratchDir } from '../support/daemon.ts';
import {
  FAULTY_ARGS,
  isAlive,
  killGroup,
  startFaultyDaemon,
} from '../support/faults/fault-daemon.ts';
import { expectSound } from '../support/git.ts';

/** A merge has fewer operations; more would not end. */
const MOST_KILLS = 60;
const CONTAINED = 'accepted: the branch has this commit already';

const dataDir = join(scratchDir(), 'data');
const gitDir = join(dataDir, 'repo.git');
const control = join(scratchDir(), 'control');
const trace = join(scratchDir(), 'trace');
/** Operations at the end of the checkpoint that follows a write. */
const CHECKPOINT_END = /^(rename \S+tmp_|unlink \S+pack-)gitplane\*/;
let daemon: Daemon;
let ended: Promise<unknown>;

afterAll(() => {
  if (isAlive(daemon)) killGroup(daemon);
});

async function start(listen: readonly string[]): Promise<void> {
  daemon = await startFaultyDaemon({ dataDir, control, trace, args: [...FAULTY_ARGS, ...listen] });
  ended = once(daemon.process, 'exit');
}

/** On the port that the clone knows. */
async function startAgain(): Promise<void> {
  killGroup(daemon);
  await ended;
  rmSync(control, { force: true });
  await start(['--listen', `127.0.0.1:${daemon.port}`]);
}

/** False: it was killed. */
function answers(): Promise<boolean> {
  return daemon.call('GET', '/livez').then(
    () => true,
    () => false,
  );
}

async function displayName(name: string): Promise<string | undefined> {
  const { code, json } = await daemon.call('GET', `${API}/teams/${name}`);
  return code === 404 ? undefined : json().spec.displayName;
}

/** Resolves after the checkpoint of the write: its operations are not those of the push. */
async function patchByApi(text: string): Promise<void> {
  const type = 'application/merge-patch+json';
  let tries = 0;
  const write = async (): Promise<void> => {
    tries += 1;
    const body = { spec: { displayName: text, description: `try ${tries}` } };
    const known = traced().length;
    const { code } = await daemon.call('PATCH', `${API}/teams/payments`, { body, type });
    expect(code).toBe(200);
    // On a busy machine others follow it, such as those that fill the pool of preallocated files.
    await vi.waitFor(() => {
      expect(traced().slice(known)).toContainEqual(expect.stringMatching(CHECKPOINT_END));
    }, 10_000);
  };
  // A write right after the start may come before the WAL is open: no checkpoint follows it.
  await vi.waitFor(write, 60_000);
}

/** Operations so far. */
function traced(): string[] {
  return readFileSync(trace, 'utf8').trimEnd().split('\n');
}

async function mergesOf(commit: string): Promise<number> {
  const lines = await gitIn(daemon, gitDir, 'log', '--merges', '--first-parent', '--format=%P');
  return lines.split('\n').filter((parents) => parents.split(' ')[1] === commit).length;
}

/** The state after a restart, and after the push is repeated. Returns true if the push had landed. */
async function expectWhole(clone: string, pushed: RunResult, text: string): Promise<boolean> {
  const commit = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  const merges = await mergesOf(commit);
  const found = await Promise.all(['one', 'two', 'payments'].map(displayName));
  const landed = merges === 1;
  expect(merges).toBeLessThan(2);
  expect(found[2]).toBe(text);
  expect(found.slice(0, 2).map((name) => name === text)).toEqual([landed, landed]);
  if (pushed.code === 0) expect(landed).toBe(true);
  // A repack in the background may remove a pack while fsck reads it; damage stays.
  await vi.waitFor(() => expectSound(gitDir), 30_000);

  const again = await daemon.git(['push'], clone);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr.includes(CONTAINED)).toBe(landed);
  expect(await mergesOf(commit)).toBe(1);
  expect(await Promise.all(['one', 'two', 'payments'].map(displayName))).toEqual([
    text,
    text,
    text,
  ]);
  return landed;
}

test('a merged push is whole or absent after a kill at each operation', {
  timeout: 900_000,
}, async () => {
  await start([]);
  const clone = await daemon.clone();
  const ends = new Set<string>();
  let killed = true;
  for (let nth = 1; killed; nth += 1) {
    expect(nth).toBeLessThan(MOST_KILLS);
    const text = `round ${nth}`;
    await commitFiles(daemon, clone, {
      'teams/one.yaml': manifest('Team', 'one', `\n  displayName: "${text}"`),
      'teams/two.yaml': manifest('Team', 'two', `\n  displayName: "${text}"`),
    });
    await patchByApi(text);
    // Every other time git and its hooks go down with the daemon.
    const kill = { nth, when: 'before', group: nth % 2 === 0 };
    writeFileSync(control, JSON.stringify({ kill }));
    const pushed = await daemon.git(['push'], clone);
    killed = !(await answers());
    await startAgain();
    const landed = await expectWhole(clone, pushed, text);
    ends.add(landed ? 'landed' : 'absent');
  }
  expect([...ends].sort()).toEqual(['absent', 'landed']);
});

/**
 * From the move of the branch until a watch delivers the change: a ref that moves to a commit that
 * is there already, and a push by path, which passes the hook first.
 */
import { renameSync, watch } from 'node:fs';
import { link, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGit } from '../../../src/git/process/git-process.ts';
import type { Corpus } from '../corpus.ts';
import type { Fixture } from '../fixture.ts';
import { BRANCH, copyRepository, fastImport, git, importStream } from '../git.ts';
import type { Goal, Line } from '../report.ts';
import { type Summary, summarize, timed } from '../statistics.ts';
import { type Watcher, watchSecrets } from '../watcher.ts';

export const BARE_MOVES = 110;
const PUSHES = 30;
export const WARM_UP = 5;
/** Between two moves, so that they meet every phase of the daemon's timers. */
export const LONGEST_PAUSE_MS = 120;
const PREPARED = 'refs/bench/prepared';

export interface Step {
  readonly from: string;
  readonly to: string;
  readonly mark: string;
}

export async function measurePush(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const client = await copyRepository(gitDir, fixture.workspace.path('client.git'));
  const plain = await copyRepository(gitDir, fixture.workspace.path('plain.git'));
  const steps = await prepareCommits(gitDir, fixture.corpus, { first: 1, count: BARE_MOVES });
  const daemon = await fixture.start(dataDir);
  const watcher = await watchSecrets(daemon);
  try {
    const moved = await bareMoves(gitDir, steps, watcher);
    await runGit({ gitDir: client }, ['fetch', '-q', gitDir, `+${BRANCH}:${BRANCH}`]);
    await runGit({ gitDir: plain }, ['fetch', '-q', gitDir, `+${BRANCH}:${BRANCH}`]);
    const pushed = await pushes({ client, gitDir, plain, watcher }, fixture.corpus);
    return [...moved, ...pushed];
  } finally {
    watcher.close();
    await daemon.stop();
  }
}

/** A chain of commits behind the branch, one changed manifest each. */
export async function prepareCommits(
  gitDir: string,
  corpus: Corpus,
  { first, count }: { first: number; count: number },
): Promise<Step[]> {
  const head = await git(gitDir, 'rev-parse', BRANCH);
  const marks = Array.from({ length: count }, (_, i) => `change-${first + i}`);
  const commits = marks.map((mark, i) => ({
    files: [corpus.secretFile(((first + i) * 131) % corpus.secrets, mark)],
    message: mark,
  }));
  await fastImport(gitDir, importStream(PREPARED, head, commits));
  const range = `${head}..${PREPARED}`;
  const ids = (await git(gitDir, 'rev-list', '--reverse', range)).split('\n');
  return marks.map((mark, i) => ({ from: ids[i - 1] ?? head, to: ids[i] ?? head, mark }));
}

async function bareMoves(
  gitDir: string,
  steps: readonly Step[],
  watcher: Watcher,
): Promise<Line[]> {
  const latencies: number[] = [];
  const compared: number[] = [];
  for (const { from, to, mark } of steps) {
    const movedAt = await moveRef(gitDir, to);
    latencies.push((await watcher.arrival(mark)) - movedAt);
    compared.push((await timed(() => compareWithGit(gitDir, from, to))).ms);
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
  const measured = summarize(latencies.slice(WARM_UP));
  const reference = {
    name: 'git diff-tree, git cat-file (processes)',
    measured: summarize(compared.slice(WARM_UP)),
  };
  return [
    { name: 'bare ref move to watch event', unit: 'ms', measured, reference, goal: goal(measured) },
  ];
}

/** By git's lock protocol, in this process, so that the moment is known. */
export async function moveRef(gitDir: string, to: string): Promise<number> {
  const ref = join(gitDir, 'refs', 'heads', BRANCH);
  const value = `${ref}.bench`;
  await writeFile(value, `${to}\n`);
  await link(value, `${ref}.lock`);
  await unlink(value);
  renameSync(`${ref}.lock`, ref);
  return performance.now();
}

/** What a script would do to learn what changed. */
async function compareWithGit(gitDir: string, from: string, to: string): Promise<void> {
  const records = await git(gitDir, 'diff-tree', '-r', from, to);
  for (const line of records.split('\n')) {
    const [, , , blob = ''] = line.split(/\s/);
    await runGit({ gitDir }, ['cat-file', 'blob', blob]);
  }
}

interface PushSetting {
  /** Where the pushes come from. */
  readonly client: string;
  /** The daemon's repository. */
  readonly gitDir: string;
  /** The same without a daemon and without its hook. */
  readonly plain: string;
  readonly watcher: Watcher;
}

async function pushes(setting: PushSetting, corpus: Corpus): Promise<Line[]> {
  const { client, gitDir, plain, watcher } = setting;
  const range = { first: BARE_MOVES + 1, count: PUSHES };
  const visible: number[] = [];
  const whole: number[] = [];
  const compared: number[] = [];
  const without: number[] = [];
  for (const { from, to, mark } of await prepareCommits(client, corpus, range)) {
    without.push((await timed(() => push(client, plain, to))).ms);
    const moved = nextMove(gitDir);
    const started = performance.now();
    const [movedAt, delivered] = await Promise.all([
      moved,
      watcher.arrival(mark),
      push(client, gitDir, to),
    ]);
    whole.push(performance.now() - started);
    visible.push(Math.max(delivered - movedAt, 0));
    compared.push((await timed(() => compareWithGit(gitDir, from, to))).ms);
  }
  const measured = steady(visible);
  return [
    {
      name: 'push by path: ref moved to watch event',
      unit: 'ms',
      measured,
      reference: { name: 'git diff-tree, git cat-file (processes)', measured: steady(compared) },
      goal: goal(measured),
    },
    {
      name: 'push by path: all of git push',
      unit: 'ms',
      measured: steady(whole),
      reference: { name: 'git push, no hook, no daemon', measured: steady(without) },
    },
  ];
}

function steady(samples: readonly number[]): Summary {
  return summarize(samples.slice(WARM_UP));
}

async function push(from: string, to: string, commit: string): Promise<void> {
  await runGit({ gitDir: from }, ['push', '-q', to, `${commit}:refs/heads/${BRANCH}`]);
}

/** Time (performance.now) of the next move of the branch, from file system events. */
function nextMove(gitDir: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const watcher = watch(join(gitDir, 'refs', 'heads'), (_event, name) => {
      if (name !== BRANCH) return;
      watcher.close();
      resolve(performance.now());
    });
    watcher.once('error', reject);
  });
}

function goal({ median, p99 }: Summary): Goal {
  return { text: '≤ 100 / 300 ms', met: median <= 100 && p99 <= 300 };
}

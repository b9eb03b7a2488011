/**
 * Hostile repositories by all roads: refused with a place, or harmless; soon; within the memory
 * limits; while everybody else is served. `GITPLANE_STRICT=1`, for a quiet machine, wants 5 s per push
 * and 100 ms for /livez (p99), and lets the longest ones be followed as well.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { git } from '../support/git.ts';
import { type Bomb, type HostilePush, type Target, TREE_BOMBS } from './bombs.ts';
import { PACK_BOMBS } from './pack-bombs.ts';
import { mend, type Outcome, plant, pushByPath, pushOverHttp, restore, targetIn } from './roads.ts';

const BOMBS = [...TREE_BOMBS, ...PACK_BOMBS];
const IS_STRICT = process.env['GITPLANE_STRICT'] === '1';
const MOST_MS = IS_STRICT ? 5_000 : 120_000;
const MOST_LIVEZ_MS = IS_STRICT ? 100 : 2_000;
const MOST_GROWN_MIB = 200;
/** See `DEFAULT_MEMORY_MIB`. */
const GIT_MEMORY_MIB = 512;
/** A failure must not eat the machine. */
const VIA = ['prlimit', '--data=4294967296'];

const hasPrlimit = process.platform === 'linux';

interface Watched {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly grownMib: number;
  readonly childMib: number;
  readonly child: string;
}

function watch(daemon: Daemon): ChildProcess {
  const ca = join(daemon.dataDir, 'tls/ca.crt');
  const script = join(import.meta.dirname, 'watcher.mjs');
  const args = [script, String(daemon.process.pid), daemon.url, ca];
  return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
}

function figures(watcher: ChildProcess): Promise<Watched> {
  return new Promise((resolve) => {
    let text = '';
    watcher.stdout?.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    watcher.on('close', () => resolve(JSON.parse(text)));
    watcher.stdin?.end();
  });
}

async function expectUnharmed(road: string, watcher: ChildProcess): Promise<void> {
  const seen = await figures(watcher);
  process.stderr.write(`hostile repositories ${road}: ${JSON.stringify(seen)}\n`);
  expect(seen.childMib, seen.child).toBeLessThanOrEqual(GIT_MEMORY_MIB);
  expect(seen.grownMib).toBeLessThan(MOST_GROWN_MIB);
  expect(seen.p99).toBeLessThan(MOST_LIVEZ_MS);
}

function expectRefused({ place }: Bomb, { isTaken, said, milliseconds }: Outcome): void {
  if (place !== undefined) {
    expect(isTaken, said).toBe(false);
    expect(said).toMatch(place);
  }
  expect(milliseconds, said).toBeLessThan(MOST_MS);
}

async function expectServing(daemon: Daemon): Promise<void> {
  const answer = await daemon.call('GET', `${API}/teams/payments`);
  expect(answer.code, answer.text).toBe(200);
}

const ROADS: Readonly<
  Record<string, (daemon: Daemon, push: HostilePush, target: Target) => Promise<Outcome>>
> = {
  'over HTTP': pushOverHttp,
  'by path': ({ dataDir }, push, target) => pushByPath(join(dataDir, 'repo.git'), push, target),
};

const OTHERS = BOMBS.filter(({ isSound }) => isSound !== true);
const SMALL_COMMITS = BOMBS.filter(({ isSound }) => isSound === true);

// Small commits have a daemon for each road: V8 leaves the garbage of four pushes in a row until later.
describe.runIf(hasPrlimit).each([
  ['a hosted repository', OTHERS, ['over HTTP', 'by path']],
  ['a hosted repository and small commits', SMALL_COMMITS, ['over HTTP']],
  ['a hosted repository and small commits', SMALL_COMMITS, ['by path']],
])('%s', (_title, pushed, roads) => {
  let daemon: Daemon;
  let gitDir: string;
  let watcher: ChildProcess;

  beforeAll(async () => {
    daemon = await startDaemon({ via: VIA, seed: EXAMPLE_PLATFORM });
    gitDir = join(daemon.dataDir, 'repo.git');
    // What the first push takes once is no growth.
    const sound = targetIn(gitDir);
    await pushOverHttp(daemon, { pack: Buffer.alloc(0), tip: sound.head }, sound);
    watcher = watch(daemon);
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  for (const road of roads) {
    describe(`pushed ${road}`, () => {
      const bombs = pushed.filter(({ isLong }) => road !== 'by path' || isLong !== true);
      test.each(bombs)('$name: refused with its place, or harmless', async (bomb) => {
        const target = targetIn(gitDir);
        const send = ROADS[road] ?? pushOverHttp;
        const outcome = await send(daemon, bomb.make(target), target);
        expectRefused(bomb, outcome);
        await expectServing(daemon);
        restore(gitDir, target);
      });
    });
  }

  test('serves all others meanwhile, within its memory', async () => {
    await expectUnharmed('pushed', watcher);
  });
});

describe.runIf(hasPrlimit)('a repository that is followed', () => {
  const elsewhere = join(scratchDir(), 'elsewhere.git');
  let daemon: Daemon;
  let watcher: ChildProcess;
  let sound: string;

  const start = (dataDir?: string): Promise<Daemon> =>
    startDaemon({
      via: VIA,
      seed: undefined,
      args: ['--repo', elsewhere, '--fetch-interval', '1h'],
      ...(dataDir === undefined ? {} : { dataDir }),
    });

  const synced = (): Promise<Answer> => {
    const head = git(elsewhere, ['rev-parse', 'main']);
    return daemon.call('POST', `/sync?wait=${head}&timeout=20s`, { body: {} });
  };

  beforeAll(async () => {
    git('/', ['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere]);
    const work = { GIT_WORK_TREE: EXAMPLE_PLATFORM };
    git(elsewhere, ['add', '--all'], { env: work });
    const tree = git(elsewhere, ['write-tree']);
    const first = git(elsewhere, ['commit-tree', tree, '-m', 'The platform']);
    git(elsewhere, ['update-ref', 'refs/heads/main', first]);
    daemon = await start();
    // With the key of the first administrator, which the daemon added.
    sound = git(elsewhere, ['rev-parse', 'main^{tree}']);
    watcher = watch(daemon);
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const bombs = BOMBS.filter(({ isBroken, isLong, isElsewhere, isSound }) => {
    if (isBroken === true || isElsewhere === true || isSound === true) return false;
    return IS_STRICT || isLong !== true;
  });

  test.each(bombs)('$name: held or harmless, until it is taken out', async (bomb) => {
    const target = targetIn(elsewhere);
    if (!plant(elsewhere, bomb.make(target))) return;
    const started = performance.now();
    await daemon.call('POST', '/sync', { body: {} });
    expect(performance.now() - started).toBeLessThan(MOST_MS);
    await expectServing(daemon);
    mend(elsewhere, sound);
    const mended = await synced();
    if (mended.code !== 200) {
      // Objects that git itself refuses stay in the history of whatever comes on top of them.
      expect(mended.text).toContain('The remote repository cannot be used');
      git(elsewhere, ['update-ref', 'refs/heads/main', target.head]);
      const { code, text } = await synced();
      expect(code, text).toBe(200);
    }
    await expectServing(daemon);
  });

  test('serves all others meanwhile, within its memory', async () => {
    await expectUnharmed('followed', watcher);
  });

  test('starts with all of them in its history, with its state and without', async () => {
    await daemon.stop();
    daemon = await start(daemon.dataDir);
    await expectServing(daemon);
    await daemon.stop();
    rmSync(join(daemon.dataDir, 'state'), { recursive: true });
    daemon = await start(daemon.dataDir);
    await expectServing(daemon);
  });
});

/**
 * A history whose commits have more bytes than a git process may have memory, from before the limits of a push or from a
 * remote repository that has none: served, and read by a start without state.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, EXAMPLE_PLATFORM, scratchDir, startDaemon } from '../support/daemon.ts';
import { git } from '../support/git.ts';
import { BRANCH } from './bombs.ts';
import { commitOf, Pack } from './objects.ts';
import { targetIn } from './roads.ts';

const COMMITS = 200;
const LONG = 'm'.repeat(1_000_000);
const ARGS = ['--git-memory', '128'];
const MIB = 1024 * 1024;

/** A line of commits with long subjects, messages and names on top of the branch. */
function plantMessages(gitDir: string): void {
  const pack = new Pack();
  const { head, root } = targetIn(gitDir);
  const tree = pack.tree(root);
  let tip = head;
  for (let i = 0; i < COMMITS; i++) {
    const more = i % 2 === 0 ? { message: `${i} ${LONG}` } : { message: `${i}\n\n${LONG}` };
    const author = `author ${LONG} <m@example.com> 1700000000 +0000\n`;
    const isNamed = i % 50 === 0;
    tip = pack.add('commit', commitOf(tree, [tip], isNamed ? { ...more, author } : more));
  }
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  git(gitDir, ['update-ref', BRANCH, tip]);
}

/** Bytes of memory that the daemon has. */
function resident(daemon: Daemon): number {
  const status = readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

async function expectServing(daemon: Daemon): Promise<void> {
  const { code, text } = await daemon.call('GET', `${API}/teams/payments`);
  expect(code, text).toBe(200);
}

async function expectHistory(daemon: Daemon): Promise<void> {
  await daemon.call('GET', '/commits?limit=1');
  const before = resident(daemon);
  const commits = await daemon.call('GET', '/commits?limit=500');
  expect(commits.code, commits.text.slice(0, 500)).toBe(200);
  expect(commits.json().items.length).toBeGreaterThanOrEqual(COMMITS);
  // Cut: the longest text of a commit is its message.
  expect(commits.text.length).toBeLessThan(COMMITS * 8 * 1024);
  expect(resident(daemon) - before).toBeLessThan(150 * MIB);
  const history = await daemon.call('GET', `${API}/teams/payments/history`);
  expect(history.code, history.text).toBe(200);
}

describe.runIf(process.platform === 'linux')('a hosted repository', () => {
  let daemon: Daemon | undefined;
  let dataDir: string;

  beforeAll(async () => {
    daemon = await startDaemon({ args: ARGS });
    ({ dataDir } = daemon);
    await daemon.stop();
    plantMessages(join(dataDir, 'repo.git'));
  });
  afterAll(async () => void (await daemon?.stop()));

  test.each([
    ['with the state of before', () => undefined],
    ['without state', () => rmSync(join(dataDir, 'state'), { recursive: true })],
  ])('starts %s, shows its history and takes writes', async (_how, prepare) => {
    prepare();
    daemon = await startDaemon({ dataDir, seed: undefined, args: ARGS });
    await expectServing(daemon);
    await expectHistory(daemon);
    const patch = { metadata: { labels: { how: _how.replaceAll(' ', '-') } } };
    const type = 'application/merge-patch+json';
    const written = await daemon.call('PATCH', `${API}/teams/payments`, { body: patch, type });
    expect(written.code, written.text).toBe(200);
    const clone = await daemon.clone();
    git(clone, ['commit', '-q', '--allow-empty', '-m', 'On top']);
    const pushed = await daemon.git(['push', 'origin', 'HEAD:main'], clone);
    expect(pushed.code, pushed.stderr).toBe(0);
    await daemon.stop();
  });
});

describe.runIf(process.platform === 'linux')('a repository that is followed', () => {
  const elsewhere = join(scratchDir(), 'elsewhere.git');
  let daemon: Daemon | undefined;
  const start = (dataDir?: string): Promise<Daemon> =>
    startDaemon({
      seed: undefined,
      args: ['--repo', elsewhere, '--fetch-interval', '1h', ...ARGS],
      ...(dataDir === undefined ? {} : { dataDir }),
    });

  beforeAll(() => {
    git('/', ['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere]);
    git(elsewhere, ['add', '--all'], { env: { GIT_WORK_TREE: EXAMPLE_PLATFORM } });
    const tree = git(elsewhere, ['write-tree']);
    const first = git(elsewhere, ['commit-tree', tree, '-m', 'The platform']);
    git(elsewhere, ['update-ref', BRANCH, first]);
  });
  afterAll(async () => void (await daemon?.stop()));

  test('is read while the daemon runs, and by a start without state', async () => {
    daemon = await start();
    plantMessages(elsewhere);
    const head = git(elsewhere, ['rev-parse', 'main']);
    const synced = await daemon.call('POST', `/sync?wait=${head}&timeout=60s`, { body: {} });
    expect(synced.code, synced.text).toBe(200);
    await expectHistory(daemon);
    await daemon.stop();
    rmSync(join(daemon.dataDir, 'state'), { recursive: true });
    daemon = await start(daemon.dataDir);
    await expectServing(daemon);
    await expectHistory(daemon);
  });
});

/**
 * A history of commits that each change 900,000 files, which are a few trees: each is within the limits of a push. A
 * start without state reads it, and readers of the past do, with little memory.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { API, type Daemon, EXAMPLE_PLATFORM, scratchDir, startDaemon } from '../support/daemon.ts';
import { git } from '../support/git.ts';
import { BRANCH } from './bombs.ts';
import { commitOf, FILE, FOLDER, Pack } from './objects.ts';
import { targetIn } from './roads.ts';

const COMMITS = 5;
const WIDTHS = [30, 30, 1000];
/** A list of the changes of one commit takes 100 MB, and other starts take 40. */
const node = ['--max-old-space-size=110'];

/** Alternate commits add and remove a folder. */
function plantFolders(gitDir: string): void {
  const pack = new Pack();
  const { head, root } = targetIn(gitDir);
  let entry = { mode: FILE, id: pack.blob('x') };
  for (const width of WIDTHS) {
    const entries = Array.from({ length: width }, (_, i) => ({ ...entry, name: `${i}` }));
    entry = { mode: FOLDER, id: pack.tree(entries) };
  }
  const trees = [pack.tree([...root, { ...entry, name: 'wide' }]), pack.tree(root)];
  let tip = head;
  for (let i = 0; i < COMMITS; i++) {
    tip = pack.add('commit', commitOf(trees[i % 2] ?? '', [tip], { message: `${i}` }));
  }
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  git(gitDir, ['update-ref', BRANCH, tip]);
}

async function expectReads(daemon: Daemon): Promise<void> {
  const paths = ['', '/history', '/blame', '?atTime=2100-01-01T00:00:00Z'];
  for (const path of paths.map((end) => `${API}/teams/payments${end}`)) {
    const { code, text } = await daemon.call('GET', path);
    expect(code, text.slice(0, 500)).toBe(200);
  }
  const { code, text } = await daemon.call('GET', '/commits?limit=500');
  expect(code, text.slice(0, 500)).toBe(200);
}

test('a history of wide commits is read by a start without state, and by a follower, in a small heap', async () => {
  const dataDir = join(scratchDir(), 'data');
  await (await startDaemon({ dataDir, seed: EXAMPLE_PLATFORM })).stop();
  const gitDir = join(dataDir, 'repo.git');
  plantFolders(gitDir);
  rmSync(join(dataDir, 'state'), { recursive: true });
  const host = await startDaemon({ dataDir, node });
  await expectReads(host);
  await host.stop();
  const { token } = host;
  const followed = await startDaemon({ node, seed: undefined, args: ['--repo', gitDir], token });
  await expectReads(followed);
  await followed.stop();
}, 180_000);

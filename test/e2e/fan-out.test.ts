/** `gitplane repo fan-out` in a clone, and what a daemon makes of the pushed commit. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, type RunResult, run, startDaemon } from '../support/daemon.ts';
import { gitEnv } from '../support/git.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const COUNT = 300;
const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';
const MAIN = join(import.meta.dirname, '../../dist/main.js');

let daemon: Daemon;
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon();
  clone = await daemon.clone();
  const names = Array.from({ length: COUNT }, (_, i) => `team-${String(i).padStart(5, '0')}`);
  const files = names.map((name) => [`teams/${name}.yaml`, manifest('Team', name)]);
  const ignored = { 'teams/README.md': 'about', 'few/one.yaml': manifest('Team', 'one') };
  await commitFiles(daemon, clone, { ...Object.fromEntries(files), ...ignored });
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'main');
  await daemon.call('PATCH', `${TEAMS}/team-00007`, {
    body: { spec: { displayName: 'Seven' } },
    type: MERGE_PATCH,
  });
  await daemon.call('POST', TEAMS, { body: { metadata: { name: 'by-api' }, spec: {} } });
  await gitIn(daemon, clone, 'pull', '-q', '--rebase');
});
afterAll(() => daemon.stop());

/** Entries of the widest folder, as the metric has them. */
async function widest(): Promise<number> {
  const { text } = await daemon.call('GET', '/metrics');
  expect(text).toMatch(/^gitplane_repository_widest_folder_bytes \d{4,}$/m);
  return Number(/^gitplane_repository_widest_folder_entries (\d+)$/m.exec(text)?.[1]);
}

function fanOut(...args: string[]): Promise<RunResult> {
  return run(process.execPath, [MAIN, 'repo', 'fan-out', ...args], { cwd: clone, env: gitEnv });
}

/** Metadata that only the server writes, by name. */
async function identities(): Promise<unknown> {
  const { items } = (await daemon.call('GET', TEAMS)).json();
  return items.map(({ metadata, spec }: { metadata: Record<string, unknown>; spec: unknown }) => [
    metadata['name'],
    metadata['uid'],
    metadata['creationTimestamp'],
    metadata['generation'],
    spec,
  ]);
}

async function files(revision = 'HEAD'): Promise<string[]> {
  return (await gitIn(daemon, clone, 'ls-tree', '-r', '--name-only', revision)).split('\n');
}

test('a dry run and staged changes change nothing', async () => {
  const before = await files();
  const head = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  expect(await fanOut('--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /teams\/team-00000\.yaml → teams\/\w\w\/team-00000\.yaml[\s\S]*would move 303 files/,
    ),
  });
  await gitIn(daemon, clone, 'rm', '-q', 'few/one.yaml');
  expect(await fanOut()).toMatchObject({ code: 2, stderr: expect.stringContaining('staged') });
  await gitIn(daemon, clone, 'reset', '-q', '--hard');
  expect(await files()).toEqual(before);
  expect(await gitIn(daemon, clone, 'rev-parse', 'HEAD')).toBe(head);
  expect(await gitIn(daemon, clone, 'status', '--porcelain')).toBe('');
});

test('a commit on a revision needs no checkout, and moves no ref', async () => {
  const head = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  const answer = await fanOut('--rev', 'HEAD~1', '-o', 'json');
  const { commit, moves } = JSON.parse(answer.stdout);
  expect(moves.length).toBeGreaterThanOrEqual(COUNT);
  expect(await gitIn(daemon, clone, 'rev-parse', `${commit}~1`)).toBe(
    await gitIn(daemon, clone, 'rev-parse', 'HEAD~1'),
  );
  expect(await gitIn(daemon, clone, 'rev-parse', 'HEAD')).toBe(head);
  expect(await gitIn(daemon, clone, 'status', '--porcelain')).toBe('');
});

test('the objects of moved manifests stay what they are, also after a rebuild', async () => {
  const before = await identities();
  const width = await widest();
  expect(width).toBeGreaterThan(COUNT);
  expect(await fanOut('teams')).toMatchObject({ code: 0, stderr: '' });

  const moved = await files();
  expect(moved.filter((path) => /^teams\/[^/]*$/.test(path))).toEqual(['teams/README.md']);
  expect(moved).toContain('few/one.yaml');
  expect(await gitIn(daemon, clone, 'status', '--porcelain')).toBe('');
  expect((await fanOut()).stdout).toMatch(/nothing to move/);
  const path = moved.find((one) => one.endsWith('team-00007.yaml')) ?? '';
  const subjects = await gitIn(daemon, clone, 'log', '--follow', '--format=%s', '--', path);
  expect(subjects.split('\n')).toEqual([
    'Fan out teams',
    'patch Team "team-00007"',
    expect.stringMatching(/^Change teams/),
  ]);

  const pushed = await daemon.git(['push', 'origin', 'main'], clone);
  expect(pushed.code, pushed.stderr).toBe(0);
  expect(hookSaid(pushed).filter((line) => /removes/.test(line))).toEqual([]);
  expect(await identities()).toEqual(before);
  expect(await widest()).toBeLessThan(width);

  // An edit finds the manifest, and a new object joins the fan-out.
  await daemon.call('PATCH', `${TEAMS}/team-00008`, {
    body: { spec: { displayName: 'Eight' } },
    type: MERGE_PATCH,
  });
  await daemon.call('POST', TEAMS, { body: { metadata: { name: 'later' }, spec: {} } });
  await gitIn(daemon, clone, 'pull', '-q');
  expect(await files()).toContainEqual(expect.stringMatching(/^teams\/\w\w\/later\.yaml$/));
  const after = await identities();
  await daemon.stop();
  await rm(join(daemon.dataDir, 'state'), { recursive: true });
  daemon = await startDaemon({ dataDir: daemon.dataDir });
  expect(await identities()).toEqual(after);
});

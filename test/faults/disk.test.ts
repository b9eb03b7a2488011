/**
 * A disk that is full, read-only or broken: writes say so and change nothing, reads go on, and
 * everything works again by itself when the disk does.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { commitFiles, manifest } from '../e2e/clones.ts';
import { watching } from '../e2e/watching.ts';
import { type Answer, API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { FAULTY_ARGS, startFaultyDaemon } from '../support/faults/fault-daemon.ts';
import { repositoryOf } from './history.ts';
import { rebuildDifferences } from './rebuild.ts';

const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';
const CHANGES =
  '^(open|write|writev|writeFile|fsync|fdatasync|ftruncate|truncate|rename|link|mkdir|unlink|rm) ';

const control = join(scratchDir(), 'control');
let daemon: Daemon;

beforeAll(async () => {
  daemon = await startFaultyDaemon({ dataDir: join(scratchDir(), 'data'), control });
});
afterAll(async () => {
  await daemon.stop();
});

function breakDisk(code: string, sites = CHANGES): void {
  writeFileSync(control, JSON.stringify({ code, sites }));
}

afterEach(repairDisk);

function repairDisk(): void {
  rmSync(control, { force: true });
}

function create(on: Daemon, name: string, finalizers: readonly string[] = []): Promise<Answer> {
  const body = { metadata: { name, finalizers }, spec: { displayName: name } };
  return on.call('POST', TEAMS, { body });
}

/** Every way of reading, which no fault of the disk may touch. */
async function expectReads(): Promise<void> {
  const list = await daemon.call('GET', TEAMS);
  expect(list.code).toBe(200);
  const { resourceVersion } = list.json().metadata;
  const watch = await watching(daemon, `${TEAMS}?watch=true&resourceVersion=${resourceVersion}`);
  watch.close();
  expect((await daemon.call('GET', '/readyz')).code).toBe(200);
}

describe.each([
  ['ENOSPC', 507, 'The disk is full'],
  ['EDQUOT', 507, 'The disk quota is used up'],
  ['EROFS', 503, 'The disk is read-only'],
  ['EIO', 503, 'The disk fails'],
])('every change of a file ends with %s', (code, status, problem) => {
  const name = `on-${code.toLowerCase()}`;

  test(`writes are answered ${status} and change nothing; reads go on; then all is well`, async () => {
    const git = repositoryOf(daemon.dataDir);
    const head = await git.head();
    breakDisk(code);
    const refused = await create(daemon, name);
    expect(refused.code, refused.text).toBe(status);
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.json().message).toBe(`${problem}: nothing was written; reads go on`);
    expect((await daemon.call('DELETE', `${TEAMS}/platform`)).code).toBe(status);
    await expectReads();
    repairDisk();

    expect(await git.head()).toBe(head);
    expect((await daemon.call('GET', `${TEAMS}/platform`)).code).toBe(200);
    expect((await create(daemon, name)).code).toBe(201);
    expect(await git.damage()).toBeUndefined();
    expect(await git.leftovers()).toEqual([]);
  });
});

test('an audit log on a full disk is reported in the status of the Config, and loses nothing', async () => {
  const config = `${API}/config/platform`;
  const spec = { raw: 'audit: {enabled: true, path: audit.log, level: 4}' };
  const set = await daemon.call('PATCH', config, { body: { spec }, type: MERGE_PATCH });
  expect(set.code, set.text).toBe(200);
  const conditions = async (): Promise<string> =>
    JSON.stringify((await daemon.call('GET', config)).json().status.conditions ?? []);
  const limit = { timeout: 30_000 };
  breakDisk('ENOSPC', ' audit\\.log');
  const during = await daemon.call('GET', TEAMS);
  expect(during.code).toBe(200);
  const words = 'The audit log cannot be written (ENOSPC): events wait, then drop.';
  await vi.waitFor(async () => expect(await conditions()).toContain(words), limit);
  const metrics = async (): Promise<string> => (await daemon.call('GET', '/metrics')).text;
  expect(await metrics()).toContain('gitplane_audit_in_trouble{sink="file"} 1');
  repairDisk();

  await vi.waitFor(async () => expect(await conditions()).not.toContain('AuditWritten'), limit);
  const text = readFileSync(join(daemon.dataDir, 'audit.log'), 'utf8');
  expect(text).toContain(String(during.headers['audit-id']));
  for (const line of text.trim().split('\n')) expect(JSON.parse(line).kind).toBe('Event');
  expect(await metrics()).toContain('gitplane_audit_dropped_events_total{sink="file"} 0');
  const off = { spec: { raw: '' } };
  expect((await daemon.call('PATCH', config, { body: off, type: MERGE_PATCH })).code).toBe(200);
});

test('an answer does not say that nothing was written when the log may have it', async () => {
  // It is made a moment after the start; from then on git sees packs of single groups.
  const packs = join(daemon.dataDir, 'repo.git/objects/pack');
  let made = 0;
  await vi.waitFor(async () => {
    expect((await create(daemon, `logged-${made++}`)).code).toBe(201);
    expect(readdirSync(packs).join()).toContain('pack-gitplane-');
  });
  breakDisk('EIO', '^fdatasync repo.git/gitplane/log');
  const answer = await create(daemon, 'doubtful');
  repairDisk();

  expect(answer.code).toBe(503);
  expect(answer.json().message).toContain('may still take effect');
  // It did not, and it can be done.
  expect((await daemon.call('GET', `${TEAMS}/doubtful`)).code).toBe(404);
  expect((await create(daemon, 'doubtful')).code).toBe(201);
});

test('state that cannot be kept delays nothing that is in git, and is kept when there is room', async () => {
  await create(daemon, 'held', ['example.com/hold']);
  // No operation matches: only the question for free bytes is answered with none.
  breakDisk('ENOSPC', '^nothing');
  expect((await create(daemon, 'in-git')).code).toBe(201);
  await vi.waitFor(() => expect(daemon.output()).toContain('cannot be written: 0 bytes are free'));
  // The release of an object that is being deleted is in no commit.
  const deleted = await daemon.call('DELETE', `${TEAMS}/held`);
  expect(deleted.code).toBe(507);
  expect((await daemon.call('GET', `${TEAMS}/held`)).json().metadata).not.toHaveProperty(
    'deletionTimestamp',
  );
  repairDisk();

  expect((await daemon.call('DELETE', `${TEAMS}/held`)).code).toBe(200);
  const body = { metadata: { finalizers: null } };
  const release = await daemon.call('PATCH', `${TEAMS}/held`, { body, type: MERGE_PATCH });
  expect(release.code).toBe(200);
  await expect.poll(() => daemon.output()).toContain('The state can be persisted again');
});

test('nothing of all that outlives a crash, or a rebuild from git', async () => {
  const names = async (): Promise<string[]> => {
    const { items } = (await daemon.call('GET', TEAMS)).json();
    return items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  };
  const before = await names();
  expect(before).toContain('in-git');
  expect(before).not.toContain('held');
  await daemon.stop('SIGKILL');
  daemon = await startFaultyDaemon({ dataDir: daemon.dataDir, control });

  expect(await names()).toEqual(before);
  expect(await rebuildDifferences(daemon, FAULTY_ARGS)).toEqual([]);
});

test('a daemon on a full disk can be stopped', async () => {
  breakDisk('ENOSPC', '^nothing');
  expect((await create(daemon, 'last')).code).toBe(201);
  await daemon.stop();
  repairDisk();
  daemon = await startFaultyDaemon({ dataDir: daemon.dataDir, control });
  expect((await daemon.call('GET', `${TEAMS}/last`)).code).toBe(200);
});

const canMount =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
if (!canMount) {
  process.stderr.write('Skipped: a real full disk (user namespaces with mounts are not allowed)\n');
}

describe.runIf(canMount)('a real file system of 16 MiB that fills up', () => {
  let space: SmallDisk;
  let full: Daemon;

  beforeAll(async () => {
    space = await mountSmall(16);
    full = await startDaemon({ dataDir: join(space.root, 'data'), via: space.via });
  });
  afterAll(async () => {
    await full?.stop('SIGKILL');
    space.end();
  });

  test('refuses writes and pushes, keeps serving, and takes both when there is room', async () => {
    expect((await create(full, 'before')).code).toBe(201);
    const clone = await full.clone();
    await commitFiles(full, clone, { 'teams/pushed.yaml': manifest('Team', 'pushed') });
    await space.run('cat /dev/zero > fill');
    const refused = await create(full, 'refused');
    expect([refused.code, refused.json().reason]).toEqual([507, 'InsufficientStorage']);
    const push = await full.git(['push'], clone);
    expect(push.code).not.toBe(0);
    expect(push.stderr).toContain('No space left on device');
    expect((await full.call('GET', `${TEAMS}/before`)).code).toBe(200);
    expect((await full.call('GET', `${TEAMS}/pushed`)).code).toBe(404);
    await space.run('rm fill');

    expect((await create(full, 'after')).code).toBe(201);
    expect((await full.git(['pull', '-q', '--rebase'], clone)).code).toBe(0);
    expect((await full.git(['push'], clone)).stderr).toContain('accepted: 1 created');
    expect((await full.call('GET', `${TEAMS}/pushed`)).code).toBe(200);
    expect((await full.call('GET', `${TEAMS}/refused`)).code).toBe(404);
    expect(await repositoryOf(join(space.root, 'data')).damage()).toBeUndefined();
  });
});

interface SmallDisk {
  /** The folder where it is mounted, for processes inside and, as far as `data` goes, outside. */
  readonly root: string;
  /** What runs a program inside. */
  readonly via: readonly string[];
  run(command: string): Promise<void>;
  end(): void;
}

/** A file system in a mount namespace of its own, and a shell in there. */
async function mountSmall(mebibytes: number): Promise<SmallDisk> {
  const root = scratchDir('gitplane-small-');
  const shell = spawn('unshare', ['-rm', 'sh'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const run = (command: string): Promise<void> => {
    const said = heard(shell, 'done\n');
    shell.stdin.write(`( ${command} ) 2> /dev/null; echo done\n`);
    return said;
  };
  shell.stdin.write(`mount -t tmpfs -o size=${mebibytes}m tmpfs ${root}; cd ${root}\n`);
  await run('true');
  // Where the file system is not mounted, the way leads through the process that has it.
  symlinkSync(`/proc/${shell.pid}/root${root}/data`, join(root, 'data'));
  const via = ['nsenter', '-t', String(shell.pid), '-U', '-m', '--preserve-credentials'];
  return { root, via, run, end: () => void shell.kill('SIGKILL') };
}

function heard(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve) => {
    const listen = (chunk: Buffer): void => {
      if (!chunk.toString().includes(text)) return;
      child.stdout?.off('data', listen);
      resolve();
    };
    child.stdout?.on('data', listen);
  });
}

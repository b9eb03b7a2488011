/** Writes that wait on a branch of their own until somebody merges it. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import {
  openPendingWrites,
  type PendingWritesParts,
} from '../../../src/daemon/repository/pending-writes.ts';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import type { PendingWrites } from '../../../src/registry/pending-writes.ts';
import { Registry } from '../../../src/registry/registry.ts';
import { isSignedBy, openCommitSigner } from '../../../src/signatures/index.ts';
import { signingWith, sshKey } from '../../signatures/keys.ts';
import { expectSound, git, temporaryFolder, tryGit } from '../../support/git.ts';
import { kindOf, kinds, openTestPlatform, team, writeOptions } from '../../support/platform.ts';
import { elsewhere, follow } from '../../support/remote.ts';

const BRANCH = 'gitplane/writes';

async function open(
  files: Readonly<Record<string, string>>,
  signing: Pick<PendingWritesParts, 'sign' | 'mayCopy'> = { mayCopy: () => true },
) {
  const there = elsewhere(files);
  const mirror = await follow({ url: there.gitDir });
  const { following, repository, gitDir } = mirror;
  const platform = await openTestPlatform({ repository });
  const { store, branch } = platform;
  const shared = { kinds, store, clock: Date, under: '', guards: [] };
  const pending = await openPendingWrites({
    ...shared,
    ...signing,
    source: { address: parseRemoteAddress(there.gitDir), access: {} },
    writeBranch: BRANCH,
    gitDir,
    maxPaths: 1000,
    reader: fileReader(kinds, ''),
    rules: 'rules',
    registry: new Registry({ ...shared, branch, issuers: {} }),
    branch,
    guardsOn: () => [],
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => pending.close());
  /** What the daemon does when the remote was fetched. */
  const fetch = async (): Promise<void> => {
    await following.refresh();
    await branch.sync();
    await pending.sync();
  };
  const log = (): string[] => {
    const { status, stdout } = tryGit(there.gitDir, ['log', '--format=%s', `main..${BRANCH}`]);
    return status === 0 ? stdout.trim().split('\n').filter(Boolean) : [];
  };
  /** Merges the branch as a forge does. */
  const merge = (how: 'fast-forward' | 'merge' | 'squash'): void => {
    const work = temporaryFolder();
    git('/', ['clone', '-q', there.gitDir, work]);
    const args = { 'fast-forward': ['--ff-only'], merge: ['--no-ff'], squash: ['--squash'] }[how];
    git(work, ['merge', '-q', ...args, `origin/${BRANCH}`]);
    if (how === 'squash') git(work, ['commit', '-q', '-m', 'Squashed']);
    git(work, ['push', '-q', 'origin', 'main']);
  };
  /** Commits on the branch as a reviewer does, and returns the id. */
  const review = (prepare: (work: string) => void, config: readonly string[] = []): string => {
    const work = temporaryFolder();
    git('/', ['clone', '-q', '-b', BRANCH, there.gitDir, work]);
    prepare(work);
    const sign = config.length > 0 ? ['-S'] : [];
    git(work, [...config, 'commit', '-q', ...sign, '-m', 'Review']);
    git(work, ['push', '-q', 'origin', BRANCH]);
    return git(work, ['rev-parse', 'HEAD']);
  };
  return { there, platform, pending, gitDir, fetch, log, merge, review };
}

const change = (work: string): void => {
  writeFileSync(join(work, 'README.md'), 'reviewed');
  git(work, ['add', '-A']);
};

const create = (pending: PendingWrites, name: string) =>
  pending.create({
    kind: kindOf('teams'),
    namespace: '',
    body: { metadata: { name } },
    duplicates: [],
    options: writeOptions,
  });

const rename = (pending: PendingWrites, name: string, displayName: string, version?: string) =>
  pending.update({
    verb: version === undefined ? 'patch' : 'update',
    kind: kindOf('teams'),
    namespace: '',
    name,
    duplicates: [],
    options: writeOptions,
    // biome-ignore lint/suspicious/noExplicitAny: teams have this field
    change: (current: any) => ({
      ...current,
      metadata: { ...current.metadata, ...(version && { resourceVersion: version }) },
      spec: { ...current.spec, displayName },
    }),
  });

test('a write is answered as it will be, waits on the branch, and reads know nothing of it', async () => {
  const { there, platform, pending, log } = await open({ 'teams/a.yaml': team('a') });
  const before = there.head();
  const made = await create(pending, 'b');
  expect(made.object.metadata.name).toBe('b');
  expect(made.warnings).toEqual([
    'pending on branch gitplane/writes until it is merged; reads show what is merged',
  ]);
  await rename(pending, 'a', 'Alpha');
  expect(log()).toEqual(['patch Team "a"', 'create Team "b"']);
  expect(there.head()).toBe(before);
  expect(platform.names('teams')).toEqual(['a']);
  // What is pending counts for the next write.
  await expect(create(pending, 'b')).rejects.toMatchObject({ reason: 'AlreadyExists' });
  expect((await rename(pending, 'b', 'Beta')).object.spec).toMatchObject({ displayName: 'Beta' });
});

test.each(['fast-forward', 'merge', 'squash'] as const)(
  'the next write after a %s begins at the new head, and nothing is pending',
  async (how) => {
    const { there, platform, pending, fetch, log, merge } = await open({
      'teams/a.yaml': team('a'),
    });
    await create(pending, 'b');
    await rename(pending, 'b', 'Beta');
    merge(how);
    await fetch();
    expect(platform.names('teams')).toEqual(['a', 'b']);
    await create(pending, 'c');
    expect(log()).toEqual(['create Team "c"']);
    const base = git(there.gitDir, ['merge-base', 'main', BRANCH]);
    expect(base).toBe(there.head());
  },
);

test('pending writes are carried over when the followed branch moves', async () => {
  const { there, pending, fetch, log, gitDir } = await open({
    'teams/a.yaml': team('a'),
    'teams/b.yaml': team('b'),
  });
  await rename(pending, 'a', 'Alpha');
  await create(pending, 'c');
  there.commit({ 'teams/b.yaml': team('b', { displayName: 'Theirs' }) });
  await fetch();
  expect(git(there.gitDir, ['merge-base', 'main', BRANCH])).toBe(there.head());
  expect(log()).toEqual(['create Team "c"', 'patch Team "a"']);
  const author = git(there.gitDir, ['log', '-1', '--format=%an|%cn', BRANCH]);
  expect(author).toBe('ann|gitplane');
  await create(pending, 'd');
  expect(log()).toHaveLength(3);
  expectSound(gitDir);
});

test('a file that both changed loses nothing, and people are notified', async () => {
  const { there, pending, fetch, log } = await open({ 'teams/a.yaml': team('a') });
  await rename(pending, 'a', 'Ours');
  there.commit({ 'teams/a.yaml': team('a', { displayName: 'Theirs' }) });
  await fetch();
  expect(log()).toEqual(['patch Team "a"']);
  const { warnings } = await create(pending, 'b');
  expect(warnings[0]).toContain('the branch conflicts with the followed one');
  expect(log()).toHaveLength(2);
});

test('a commit of others is never signed by the platform, and keeps its own signature', async () => {
  const folder = temporaryFolder();
  const signer = await openCommitSigner(sshKey(folder, 'platform').file);
  const mayCopy = (commit: Buffer): boolean => isSignedBy(signer.publicKey, commit);
  for (const config of [[], signingWith(sshKey(folder, `ann-${Math.random()}`))]) {
    const { there, pending, fetch, log, review } = await open(
      { 'teams/a.yaml': team('a') },
      { sign: signer.sign, mayCopy },
    );
    await create(pending, 'b');
    there.commit({ 'teams/c.yaml': team('c') });
    await fetch();
    expect(git(there.gitDir, ['merge-base', 'main', BRANCH])).toBe(there.head());

    const theirs = review(change, config);
    there.commit({ 'teams/d.yaml': team('d') });
    await fetch();
    expect(git(there.gitDir, ['rev-parse', BRANCH])).toBe(theirs);
    const { warnings } = await create(pending, 'e');
    expect(warnings[0]).toContain('the branch conflicts with the followed one');
    expect(log()).toEqual(['create Team "e"', 'Review', 'create Team "b"']);
  }
});

test('a signature of others is not lost where the platform signs nothing', async () => {
  const mayCopy = (commit: Buffer): boolean => isSignedBy(undefined, commit);
  const { there, pending, fetch, review } = await open({ 'teams/a.yaml': team('a') }, { mayCopy });
  await create(pending, 'b');
  const theirs = review(change, signingWith(sshKey(temporaryFolder(), 'ann')));
  there.commit({ 'teams/c.yaml': team('c') });
  await fetch();
  expect(git(there.gitDir, ['rev-parse', BRANCH])).toBe(theirs);
});

test('links, submodules, programs and large files of a reviewer are carried over as they are', async () => {
  const { there, pending, fetch, review } = await open({ 'teams/a.yaml': team('a') });
  await create(pending, 'b');
  const theirs = review((work) => {
    symlinkSync('a.yaml', join(work, 'teams/link.yaml'));
    writeFileSync(join(work, 'run.sh'), 'true', { mode: 0o755 });
    writeFileSync(join(work, 'large'), Buffer.alloc(40 * 2 ** 20));
    git(work, ['add', '-A']);
    git(work, ['update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},module`]);
  });
  const before = git(there.gitDir, ['diff-tree', '-r', `${theirs}^`, theirs]);
  there.commit({ 'teams/c.yaml': team('c') });
  await fetch();
  expect(git(there.gitDir, ['merge-base', 'main', BRANCH])).toBe(there.head());
  expect(git(there.gitDir, ['diff-tree', '-r', `${BRANCH}^`, BRANCH])).toBe(before);
  await create(pending, 'd');
});

test('a folder of a reviewer in the place of a new file is a conflict', async () => {
  const { there, pending, fetch, review } = await open({ 'teams/a.yaml': team('a') });
  await create(pending, 'b');
  review((work) => {
    mkdirSync(join(work, 'teams/c.yaml'));
    writeFileSync(join(work, 'teams/c.yaml/d'), '');
    git(work, ['add', '-A']);
  });
  there.commit({ 'teams/c.yaml': team('c') });
  await fetch();
  const { warnings } = await create(pending, 'e');
  expect(warnings[0]).toContain('the branch conflicts with the followed one');
});

test('requests go on while thousands of pending commits are carried over', async () => {
  const { there, pending, fetch, log } = await open({ 'teams/a.yaml': team('a') });
  await create(pending, 'b');
  pushMany(there.gitDir, 10_000);
  there.commit({ 'teams/c.yaml': team('c') });
  const turns = watchTurns();
  await fetch();
  await create(pending, 'd');
  expect(turns.longest()).toBeLessThan(400);
  expect(log()).toHaveLength(10_002);
});

test('a deleted branch loses its pending writes, and the mirror keeps them', async () => {
  const { there, pending, fetch, log, gitDir } = await open({ 'teams/a.yaml': team('a') });
  const { commit } = await create(pending, 'b');
  git(there.gitDir, ['update-ref', '-d', `refs/heads/${BRANCH}`]);
  // Found out by the next write.
  await create(pending, 'c');
  expect(log()).toEqual(['create Team "c"']);
  expect(git(gitDir, ['rev-parse', `refs/gitplane/kept/${commit}`])).toBe(commit);
  await fetch();
});

test('a discarded write blocks no other write', async () => {
  const { there, pending, log } = await open({ 'teams/a.yaml': team('a') });
  await create(pending, 'b');
  await rename(pending, 'a', 'Alpha');
  const discard = (): string => git(there.gitDir, ['update-ref', '-d', `refs/heads/${BRANCH}`]);
  discard();
  await create(pending, 'b');
  expect(log()).toEqual(['create Team "b"']);
  await rename(pending, 'a', 'Alpha');
  discard();
  await rename(pending, 'a', 'Alpha');
  expect(log()).toEqual(['patch Team "a"']);
  await expect(rename(pending, 'b', 'Beta')).rejects.toMatchObject({ reason: 'NotFound' });
});

test('commits that a reviewer adds count for the next write, which goes on top of them', async () => {
  const { there, pending, log } = await open({ 'teams/a.yaml': team('a') });
  await create(pending, 'b');
  const work = temporaryFolder();
  git('/', ['clone', '-q', '-b', BRANCH, there.gitDir, work]);
  git(work, ['mv', 'teams/a.yaml', 'teams/z.yaml']);
  git(work, ['commit', '-q', '-m', 'Sort']);
  git(work, ['push', '-q', 'origin', BRANCH]);
  await rename(pending, 'a', 'Alpha');
  expect(log()).toEqual(['patch Team "a"', 'Sort', 'create Team "b"']);
  expect(git(there.gitDir, ['show', `${BRANCH}:teams/z.yaml`])).toContain('Alpha');
});

test('versions that readers saw are good for pending writes, until something is pending', async () => {
  const { platform, pending } = await open({ 'teams/a.yaml': team('a') });
  const seen = platform.find('teams', 'a')?.object.metadata.resourceVersion ?? '';
  const first = await rename(pending, 'a', 'Alpha', seen);
  await expect(rename(pending, 'a', 'Again', seen)).rejects.toMatchObject({ code: 409 });
  const version = first.object.metadata.resourceVersion;
  await rename(pending, 'a', 'Again', version);
  const stale = pending.delete({
    kind: kindOf('teams'),
    namespace: '',
    name: 'a',
    delete: { resourceVersion: seen },
    options: writeOptions,
  });
  await expect(stale).rejects.toMatchObject({ code: 409 });
});

test('a deletion is pending too', async () => {
  const { platform, pending, fetch, merge } = await open({
    'teams/a.yaml': team('a'),
    'teams/b.yaml': team('b'),
  });
  const resourceVersion = platform.find('teams', 'a')?.object.metadata.resourceVersion;
  const kind = kindOf('teams');
  const request = { kind, namespace: '', name: 'a', options: writeOptions };
  const { warnings } = await pending.delete({ ...request, delete: { resourceVersion } });
  expect(warnings[0]).toContain('pending on branch');
  expect(platform.names('teams')).toEqual(['a', 'b']);
  merge('squash');
  await fetch();
  expect(platform.names('teams')).toEqual(['b']);
});

test('many writes at once, while the followed branch moves', async () => {
  const { there, pending, fetch, log } = await open({ 'teams/a.yaml': team('a') });
  const writes = Array.from({ length: 10 }, (_, i) => create(pending, `one-${i}`));
  there.commit({ 'teams/x.yaml': team('x') });
  await Promise.all([...writes, fetch()]);
  await Promise.all(Array.from({ length: 10 }, (_, i) => create(pending, `two-${i}`)));
  expect(log()).toHaveLength(20);
  expect(git(there.gitDir, ['merge-base', 'main', BRANCH])).toBe(there.head());
});

test('a right on the object that readers see changes no other one that is pending under its name', async () => {
  const { platform, pending } = await open({ 'teams/a.yaml': team('a') });
  const rightOn = platform.find('teams', 'a')?.object.metadata.uid;
  const target = { kind: kindOf('teams'), namespace: '', name: 'a', rightOn };
  const change = {
    ...target,
    verb: 'patch' as const,
    duplicates: [],
    options: writeOptions,
    change: () => expect.unreachable('the pending object is shown to the patch'),
  };
  await pending.delete({ ...target, delete: {}, options: writeOptions });
  await create(pending, 'a');
  const refused = { code: 409, message: expect.stringContaining('another one has its name') };
  await expect(pending.update(change)).rejects.toMatchObject(refused);
  const deletion = pending.delete({ ...target, delete: {}, options: writeOptions });
  await expect(deletion).rejects.toMatchObject(refused);
});

test('no write is pending while the repository is damaged', async () => {
  const { platform, pending, log } = await open({ 'teams/a.yaml': team('a') });
  platform.branch.refuseWrites('The newest objects cannot be read; writes are refused');

  const refused = { code: 503, message: expect.stringContaining('cannot be read') };
  await expect(create(pending, 'b')).rejects.toMatchObject(refused);
  await expect(rename(pending, 'a', 'Alpha')).rejects.toMatchObject(refused);
  expect(log()).toEqual([]);

  platform.branch.refuseWrites(undefined);
  await create(pending, 'b');
  expect(log()).toHaveLength(1);
});

/** Commits on the branch, each with a file, in one pack. */
function pushMany(gitDir: string, count: number): void {
  const commits = Array.from({ length: count }, (_, i) =>
    [
      `commit refs/heads/${BRANCH}`,
      'committer Eve <eve@example.com> 1700000000 +0000',
      'data 4\nmany',
      ...(i === 0 ? [`from refs/heads/${BRANCH}^0`] : []),
      `M 100644 inline many/${i % 64}\ndata ${String(i).length}\n${i}`,
    ].join('\n'),
  );
  git(gitDir, ['fast-import', '--quiet'], { input: `${commits.join('\n')}\n` });
}

/** Processor time of the longest turn of the event loop, in milliseconds. */
function watchTurns(): { longest(): number } {
  let longest = 0;
  let before = process.cpuUsage();
  const turn = (): void => {
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.cpuUsage();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  onTestFinished(() => clearImmediate(next));
  return { longest: () => longest };
}

/** Everything that is wrong with a repository is said when it is opened, with the remedy. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FOREIGN_GRACE_MS, thisOwner } from '../../src/files/owner.ts';
import { GitError } from '../../src/git/git-error.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import {
  bareRepository,
  cloneForTest,
  commitOf,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
  tryGit,
} from '../support/git.ts';

describe('initRepository', () => {
  test('makes a bare repository whose HEAD is the branch, without samples', async () => {
    const gitDir = join(temporaryFolder(), 'deep', 'er.git');
    await initRepository({ gitDir, branch: 'platform/prod' });
    expect(git(gitDir, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/platform/prod');
    expect(git(gitDir, ['rev-parse', '--is-bare-repository'])).toBe('true');
    expect(existsSync(join(gitDir, 'hooks'))).toBe(false);
  });

  test('is idempotent and keeps existing content', async () => {
    const repository = await openForTest();
    const [id] = await publish(repository, commitOf({ a: '1' }));
    await initRepository({ gitDir: repository.gitDir, branch: 'main' });
    expect(await repository.head()).toBe(id);
  });

  test('resets a changed setting', async () => {
    const { gitDir } = await openForTest();
    git(gitDir, ['config', 'receive.denyDeletes', 'false']);
    await initRepository({ gitDir, branch: 'main' });
    expect(git(gitDir, ['config', '--get-all', 'receive.denyDeletes'])).toBe('true');
  });

  test('adds missing settings and keeps foreign ones', async () => {
    const { gitDir } = await openForTest();
    const before = git(gitDir, ['config', '--local', '--list']).split('\n');
    expect(new Set(before).size).toBe(before.length);
    git(gitDir, ['config', '--unset', 'core.fsync']);
    git(gitDir, ['config', '--remove-section', 'transfer']);
    git(gitDir, ['config', 'remote.mirror.url', '/a b']);
    await initRepository({ gitDir, branch: 'main' });
    const after = git(gitDir, ['config', '--local', '--list']).split('\n');
    expect(after.toSorted()).toEqual([...before, 'remote.mirror.url=/a b'].toSorted());
    expect(existsSync(join(gitDir, 'config.lock'))).toBe(false);
  });

  test('makes and opens a repository by few processes', async () => {
    const folder = temporaryFolder();
    const calls = join(folder, 'calls');
    const real = join(git('/', ['--exec-path']), 'git');
    const counting = `#!/bin/sh\necho "$1" >> '${calls}'\nexec '${real}' "$@"\n`;
    writeFileSync(join(folder, 'git'), counting, { mode: 0o755 });
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const gitDir = join(folder, 'repo.git');
    await initRepository({ gitDir, branch: 'trunk' });
    await openForTest({ gitDir, branch: 'trunk' });
    await openForTest({ gitDir, branch: 'trunk' });
    const made = ['check-ref-format', 'init', 'symbolic-ref', 'config'];
    const opened = ['version', 'config', 'config'];
    expect(readFileSync(calls, 'utf8').trim().split('\n')).toEqual([...made, ...opened]);
  });

  test('refuses pushes that rewrite or remove the branch', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }), commitOf({ a: '2' }));
    const clone = cloneForTest(repository.gitDir);
    git(clone, ['reset', '-q', '--hard', 'HEAD~']);
    git(clone, ['commit', '-q', '--allow-empty', '-m', 'another']);
    expect(tryGit(clone, ['push', '--force', 'origin', 'main']).status).toBe(1);
    expect(tryGit(clone, ['push', 'origin', ':main']).status).toBe(1);
  });

  test('refuses pushes of broken objects', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }));
    const clone = cloneForTest(repository.gitDir);
    const blob = git(clone, ['rev-parse', 'HEAD:a']);
    const input = `100644 blob ${blob}\t.GIT\n`;
    const tree = git(clone, ['mktree'], { input });
    const bad = git(clone, ['commit-tree', '-p', 'HEAD', '-m', 'bad', tree]);
    const { status, stderr } = tryGit(clone, ['push', 'origin', `${bad}:refs/heads/main`]);
    expect(status).toBe(1);
    expect(stderr).toContain('hasDotgit');
  });

  test('reports an invalid branch name', async () => {
    const gitDir = temporaryFolder();
    for (const branch of ['', '..', 'a b', '-x', 'a..b', 'x.lock', '@{-1}', 'a~1', '/a']) {
      await expect(initRepository({ gitDir, branch })).rejects.toThrow('is not a branch name');
    }
  });

  test('reports the path that it cannot write', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    const gitDir = join(folder, 'file', 'repo.git');
    await expect(initRepository({ gitDir, branch: 'main' })).rejects.toThrow(`${gitDir} (ENOTDIR)`);
  });
});

/** One repository that is wrong, and what must be said of it. */
const wrong: [string, () => Promise<string> | string, RegExp][] = [
  ['nothing at the path', () => join(temporaryFolder(), 'none'), /none is not a git repository/],
  ['an empty folder', () => temporaryFolder(), /is not a git repository/],
  [
    'a file',
    () => {
      const path = join(temporaryFolder(), 'file');
      writeFileSync(path, '');
      return path;
    },
    /file is not a git repository/,
  ],
  [
    'a work tree',
    () => {
      const folder = temporaryFolder();
      git(folder, ['init', '-q']);
      return join(folder, '.git');
    },
    /is not bare.*git clone --bare/,
  ],
  [
    'SHA-256 object ids',
    () => {
      const folder = temporaryFolder();
      git(folder, ['init', '-q', '--bare', '--object-format=sha256']);
      return folder;
    },
    /uses sha256 object ids; only SHA-1/,
  ],
  [
    'refs in tables',
    async () => {
      const gitDir = await bareRepository();
      git(gitDir, ['config', 'core.repositoryformatversion', '1']);
      writeFileSync(
        join(gitDir, 'config'),
        '[core]\n\trepositoryformatversion = 0\n\tbare = true\n[extensions]\n\trefStorage = reftable\n',
      );
      return gitDir;
    },
    /keeps its refs in reftable/,
  ],
  [
    'a shallow history',
    async () => {
      const repository = await openForTest();
      await publish(repository, commitOf({ a: '1' }), commitOf({ a: '2' }));
      const shallow = join(temporaryFolder(), 'shallow.git');
      git('/', ['clone', '-q', '--bare', '--depth=1', `file://${repository.gitDir}`, shallow]);
      return shallow;
    },
    /is shallow.*unshallow/,
  ],
  [
    'no HEAD',
    async () => {
      const gitDir = await bareRepository();
      rmSync(join(gitDir, 'HEAD'));
      return gitDir;
    },
    /is not a git repository/,
  ],
  [
    'an unreadable configuration',
    async () => {
      const gitDir = await bareRepository();
      writeFileSync(join(gitDir, 'config'), '[core\nbare');
      return gitDir;
    },
    /bad config line 1/,
  ],
  [
    'a ref to an object that is gone',
    async () => {
      const gitDir = await bareRepository();
      writeFileSync(join(gitDir, 'refs/heads/main'), `${'1'.repeat(40)}\n`);
      return gitDir;
    },
    /is damaged: refs\/heads\/main points to 1{40}/,
  ],
  [
    'a ref to something that is no commit',
    async () => {
      const gitDir = await bareRepository();
      const blob = git(gitDir, ['hash-object', '-w', '--stdin'], { input: 'x' });
      writeFileSync(join(gitDir, 'refs/heads/main'), `${blob}\n`);
      return gitDir;
    },
    /is damaged.*is a blob, not a commit/,
  ],
  [
    'a commit whose pack was cut off',
    async () => {
      const repository = await openForTest();
      await publish(repository, commitOf({ a: '1' }));
      const [pack = ''] = packFiles(repository.gitDir).filter((name) => name.endsWith('.pack'));
      const path = join(repository.gitDir, 'objects/pack', pack);
      rmSync(path);
      writeFileSync(path, 'PACK');
      return repository.gitDir;
    },
    /is damaged/,
  ],
  [
    'a zeroed ref, as a crash of the machine may leave it',
    async () => {
      const gitDir = await bareRepository();
      writeFileSync(join(gitDir, 'refs/heads/main'), Buffer.alloc(41));
      return gitDir;
    },
    /refs\/heads\/main is corrupt/,
  ],
];

test.each(wrong)('%s: one clear error', async (_title, make, message) => {
  const gitDir = await make();
  const opening = openRepository({ gitDir, branch: 'main' });
  await expect(opening).rejects.toThrow(GitError);
  const error: unknown = await opening.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ remedy: expect.stringMatching(/^[A-Z]/) as unknown });
  expect((error as GitError).message).toMatch(message);
  expect((error as GitError).message).not.toContain('\n');
});

test('a repository of another user is opened, since its path was configured', async () => {
  const gitDir = await bareRepository();
  chmodSync(gitDir, 0o755);
  if (process.getuid?.() === 0) {
    const { chownSync } = await import('node:fs');
    chownSync(gitDir, 12_345, 12_345);
  }
  const repository = await openForTest({ gitDir });
  expect(await publish(repository, commitOf({ a: '1' }))).toHaveLength(1);
});

test('nothing of the user’s configuration or environment changes an answer', async () => {
  const repository = await openForTest();
  const [one = '', two = ''] = await publish(
    repository,
    commitOf({ ä: '1' }),
    commitOf({ b: '2' }),
  );
  const home = temporaryFolder();
  writeFileSync(
    join(home, '.gitconfig'),
    '[diff]\n\trenames = copies\n\torderFile = /nowhere\n\tnoprefix = true\n[core]\n\tquotePath = true\n\tabbrev = 5\n[log]\n\tshowRoot = false\n',
  );
  const saved = { ...process.env };
  Object.assign(process.env, {
    HOME: home,
    GIT_DIR: '/nowhere',
    GIT_INDEX_FILE: '/nowhere',
    GIT_EXTERNAL_DIFF: 'false',
  });
  delete process.env['GIT_CONFIG_GLOBAL'];
  try {
    const other = await openForTest({ gitDir: repository.gitDir });
    expect((await other.listFiles(two)).map((f) => f.path)).toEqual(['b', 'ä']);
    expect(await other.diff(one, two)).toHaveLength(1);
    const sizes: (number | undefined)[] = [];
    for await (const commit of other.history(undefined, two)) sizes.push(commit.changes[0]?.length);
    expect(sizes).toEqual([1, 1]);
  } finally {
    process.env = saved;
  }
});

describe('leftovers of a crash', () => {
  const dead = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');
  const alive = thisOwner.replace(/-\d+-\d+$/, `-${process.ppid}-0`);
  const foreign = '0123456789ab-1-1';
  const checksum = 'c'.repeat(40);

  test.each([
    ['of a dead process', dead, 0, false],
    ['of a live process', alive, 0, true],
    ['of this process', thisOwner, 0, true],
    ['of another container, young', foreign, 0, true],
    ['of another container, old', foreign, 2 * FOREIGN_GRACE_MS, false],
  ])('unfinished packs %s stay or go: %s, %d ms → %j', async (_who, owner, ageMs, stays) => {
    const gitDir = await bareRepository();
    const name = `tmp_gitplane-${checksum}-${owner}-0_pack`;
    const path = join(gitDir, 'objects/pack', name);
    writeFileSync(path, 'part');
    const then = (Date.now() - ageMs) / 1000;
    utimesSync(path, then, then);
    await openForTest({ gitDir });
    expect(packFiles(gitDir)).toEqual(stays ? [name] : []);
  });

  test('foreign files stay, such as packs without an index', async () => {
    const gitDir = await bareRepository();
    const names = [
      `pack-${checksum}.pack`,
      'tmp_pack_Ab12Cd',
      '.tmp-1-pack-x.pack',
      'tmp_gitplane-odd',
    ];
    for (const name of names) writeFileSync(join(gitDir, 'objects/pack', name), 'x');
    mkdirSync(join(gitDir, 'gitplane'), { recursive: true });
    writeFileSync(join(gitDir, 'gitplane', 'notes'), 'x');
    await openForTest({ gitDir });
    expect(packFiles(gitDir)).toEqual(names.toSorted());
    expect(readdirSync(join(gitDir, 'gitplane'))).toEqual(['notes']);
  });
});

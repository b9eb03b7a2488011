/** Which ranges of commits may become part of the branch; commits are made and signed by git. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { openCommitSigner } from '../../src/signatures/commit-signer.ts';
import type { SignatureJudge } from '../../src/signatures/signature-judge.ts';
import { commitOf, git, openForTest, publish } from '../support/git.ts';
import {
  allowedSigners,
  type Commit,
  gitSaysGood,
  makeChain,
  makeCommit,
  openJudge,
  rewritten,
  type SshKey,
  signatureOf,
  sshKey,
} from './keys.ts';

let folder: string;
let ann: SshKey;
let ops: SshKey;
let stranger: SshKey;
/** Ann and ops, for everything. */
let signers: string;
/** One for all tests: they add commits beside the branch, which stays where it is. */
let repository: BareRepository;
let base: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-judge-'));
  ann = sshKey(folder, 'ann');
  ops = sshKey(folder, 'ops', 'ecdsa');
  stranger = sshKey(folder, 'stranger');
  signers = allowedSigners(
    folder,
    `ann@example.com ${ann.publicLine}`,
    `ops@example.com namespaces="git" ${ops.publicLine}`,
  );
  const place = { gitDir: join(folder, 'repo.git'), branch: 'main' };
  await initRepository(place);
  repository = await openRepository({ ...place, packThreshold: Number.POSITIVE_INFINITY });
  [base = ''] = await publish(repository, commitOf({ 'a.txt': '1', 'config/c.txt': '1' }));
});
afterAll(async () => {
  await repository.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Messages for pushes to a branch with one unsigned commit. */
async function stage(judge?: SignatureJudge) {
  const { gitDir } = repository;
  const used = judge ?? (await openJudge({ allowedSigners: signers }));
  return {
    repository,
    gitDir,
    base,
    commit: (commit: Partial<Commit>) =>
      makeCommit(gitDir, { parents: [base], files: { 'a.txt': '2' }, ...commit }),
    judge: (to: string, from: string | undefined = base) => used.judge(repository, { from, to }),
    rewrite: (id: string, change: (text: string) => string) => rewritten(gitDir, id, change),
  };
}

function shown(id: string): string {
  return `commit ${id.slice(0, 12)} by Grace Hopper <grace@example.com>: `;
}

describe('a branch with allowed signers', () => {
  test('commits that they signed are accepted, on top of the branch', async () => {
    const { commit, judge, base } = await stage();
    const first = commit({ key: ann });
    const second = commit({ parents: [first], files: { 'config/c.txt': '2' }, key: ops });

    expect(await judge(second)).toEqual([]);
    expect(await judge(base, base)).toEqual([]);
  });

  test('a commit that is not signed is refused by name, with its paths', async () => {
    const { commit, judge } = await stage();
    const files = { 'a.txt': '2', 'b.txt': '', 'c.txt': '', 'd.txt': '', 'e.txt': '' };
    const id = commit({ files });

    expect(await judge(id)).toEqual([
      `${shown(id)}it is not signed (it changes a.txt, b.txt, c.txt and 2 more)`,
    ]);
  });

  test('an unknown key is refused, and named', async () => {
    const { commit, judge } = await stage();
    const id = commit({ key: stranger });

    expect(await judge(id)).toEqual([
      expect.stringMatching(
        /: its signature is not valid: its key SHA256:\S{43} is not an allowed signer \(it changes a\.txt\)$/,
      ),
    ]);
  });

  test('is held for one unsigned commit in the middle', async () => {
    const { commit, judge } = await stage();
    const first = commit({ key: ann });
    const second = commit({ parents: [first], files: { 'b.txt': 'x' } });
    const third = commit({ parents: [second], files: { 'b.txt': null }, key: ann });

    expect(await judge(third)).toEqual([`${shown(second)}it is not signed (it changes b.txt)`]);
  });

  test('a signed merge does not cover the commits that it merges', async () => {
    const { commit, judge } = await stage();
    const side = commit({ files: { 'b.txt': 'x' } });
    const merge = commit({
      parents: [commit({ key: ann }), side],
      files: { 'b.txt': 'x' },
      key: ann,
    });

    expect(await judge(merge)).toEqual([`${shown(side)}it is not signed (it changes b.txt)`]);
  });

  test('a merge has to be signed itself', async () => {
    const { commit, judge } = await stage();
    const [one, other] = [commit({ key: ann }), commit({ files: { 'b.txt': 'x' }, key: ann })];
    const merge = commit({ parents: [one, other], files: { 'b.txt': 'x' } });

    expect(await judge(merge)).toEqual([
      `${shown(merge)}it is not signed (it changes a.txt, b.txt)`,
    ]);
  });

  test('a commit that changes nothing has to be signed too', async () => {
    const { commit, judge } = await stage();
    const id = commit({ files: {} });

    expect(await judge(id)).toEqual([`${shown(id)}it is not signed (it changes nothing)`]);
  });

  test('the first push of all has to be signed from its root on', async () => {
    const { repository, base } = await stage();
    const judge = await openJudge({ allowedSigners: signers });

    expect(await judge.judge(repository, { from: undefined, to: base })).toEqual([
      expect.stringContaining('it is not signed (it changes a.txt, config/c.txt)'),
    ]);
  });

  test('the first push may begin with a commit that the operator vouches for', async () => {
    const { commit } = await stage();
    const rules = join(folder, 'trusted.yaml');
    writeFileSync(rules, `trusted: '${base}'\n`);
    const judge = await openJudge({ allowedSigners: signers, rules });
    const [signed, unsigned] = [commit({ key: ann }), commit({})];
    const judged = (to: string) => judge.judge(repository, { from: undefined, to });

    expect(await judged(signed)).toEqual([]);
    expect(await judged(unsigned)).toEqual([expect.stringContaining('it is not signed')]);
    // A history that does not have it is judged from its root on.
    expect(await judged(commit({ parents: [], files: {} }))).toHaveLength(1);
  });

  test('a long list of objections is cut, with a note', async () => {
    const { gitDir, base, judge } = await stage();
    const lines = await judge(makeChain(gitDir, base, 130));
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe('… and more: the rest was not checked');
  });
});

describe('a signature that git would take for something else is refused:', () => {
  test('a signature of another commit', async () => {
    const { commit, judge, rewrite, gitDir } = await stage();
    const signed = commit({ key: ann });
    const signature = signatureOf(gitDir, signed);
    const forged = rewrite(commit({ files: { 'a.txt': 'evil' } }), (text) =>
      text.replace('\n\n', `\n${signature}\n`),
    );

    expect(gitSaysGood(gitDir, forged, signers)).toBe(false);
    expect(await judge(forged)).toEqual([
      expect.stringContaining('it was not made for this commit'),
    ]);
  });

  test.each([
    ['another author', (text: string) => text.replace('Grace', 'Ann Author')],
    ['another message', (text: string) => `${text}more`],
    ['another time', (text: string) => text.replaceAll('1700000000', '1700000001')],
    ['another header', (text: string) => text.replace('\ngpgsig', '\nencoding latin1\ngpgsig')],
  ])('a signature whose commit got %s', async (_what, change) => {
    const { commit, judge, rewrite, gitDir } = await stage();
    const changed = rewrite(commit({ key: ann }), change);

    expect(gitSaysGood(gitDir, changed, signers)).toBe(false);
    expect(await judge(changed)).toEqual([expect.stringContaining('not made for this commit')]);
  });

  test('a signature whose commit lost its parents: the signature hides them, and git stops there', async () => {
    const { commit, judge, rewrite, gitDir } = await stage();
    const signed = commit({ key: ann });
    const signature = signatureOf(gitDir, signed);
    const orphan = rewrite(signed, (text) =>
      text.replace(signature, '').replace('\nparent', `\n${signature}parent`),
    );

    // Reason: git accepts the signature and sees a commit without parents.
    expect(gitSaysGood(gitDir, orphan, signers)).toBe(true);
    expect(git(gitDir, ['rev-list', '--count', orphan])).toBe('1');
    expect((await judge(orphan)).join()).toContain('its header is not in the format of git');
  });

  test.each([
    [
      'two headers, the second one good',
      (text: string, good: string) =>
        text.replace(good, `${good.replace(/[A-Z]{8}/, 'AAAAAAAA')}${good}`),
      'it has two signatures',
    ],
    [
      'two good headers',
      (text: string, good: string) => text.replace(good, good + good),
      'it has two signatures',
    ],
    [
      'a header for another hash beside it',
      (text: string, good: string) => text.replace(good, `${good}gpgsig-sha256 x\n y\n`),
      'a signature of another kind',
    ],
    [
      'a header that git skips beside it',
      (text: string, good: string) => text.replace(good, `${good}gpgsigned-by me\n`),
      'a signature of another kind',
    ],
    [
      'text behind its end',
      (text: string, good: string) => text.replace(good, `${good} evil\n`),
      'surrounded by other data',
    ],
    [
      'text before its begin',
      (text: string) => text.replace('gpgsig ', 'gpgsig evil\n '),
      'neither an SSH nor an OpenPGP signature',
    ],
    [
      'a second tree',
      (text: string, good: string) => text.replace(good, `tree ${'0'.repeat(40)}\n${good}`),
      'repeats a field',
    ],
    [
      'a parent behind its author',
      (text: string, good: string) => text.replace(good, `parent ${'0'.repeat(40)}\n${good}`),
      'repeats a field',
    ],
    ['a NUL in its message', (text: string) => `${text}\0evil`, 'it contains a NUL byte'],
    [
      'a NUL in its header',
      (text: string) => text.replace('Hopper', 'Hop\0er'),
      'it contains a NUL byte',
    ],
    [
      'no end of its header',
      (text: string) => text.replace('\n\n', '\n'),
      'its header does not end',
    ],
  ])('%s', async (_what, change, why) => {
    const { commit, judge, rewrite, gitDir } = await stage();
    const signed = commit({ key: ann });
    const changed = rewrite(signed, (text) => change(text, signatureOf(gitDir, signed)));

    expect(changed).not.toBe(signed);
    // If git cannot read the commit at all, nothing is accepted either.
    const lines = await judge(changed).catch((error: Error) => [error.message]);
    expect(lines.join()).toMatch(new RegExp(`${why}|git rev-list failed`));
  });

  test('a signature that was made for files', async () => {
    const { commit, judge, rewrite, gitDir } = await stage();
    const unsigned = commit({});
    const input = execFileSync('git', ['cat-file', 'commit', unsigned], { cwd: gitDir });
    const args = ['-Y', 'sign', '-q', '-n', 'file', '-f', ann.file];
    const signature = execFileSync('ssh-keygen', args, { input, stdio: 'pipe' }).toString();
    const header = `gpgsig ${signature.trimEnd().replaceAll('\n', '\n ')}\n`;
    const forged = rewrite(unsigned, (text) => text.replace('\n\n', `\n${header}\n`));

    expect(await judge(forged)).toEqual([
      expect.stringContaining('it was made for "file", not for "git"'),
    ]);
  });

  test('an X.509 signature', async () => {
    const { commit, judge, rewrite } = await stage();
    const id = rewrite(commit({}), (text) =>
      text.replace(
        '\n\n',
        '\ngpgsig -----BEGIN SIGNED MESSAGE-----\n -----END SIGNED MESSAGE-----\n\n',
      ),
    );

    expect((await judge(id)).join()).toContain('it is neither an SSH nor an OpenPGP signature');
  });

  test('an OpenPGP signature, when only SSH keys are trusted', async () => {
    const { commit, judge, rewrite } = await stage();
    const id = rewrite(commit({}), (text) =>
      text.replace(
        '\n\n',
        '\ngpgsig -----BEGIN PGP SIGNATURE-----\n -----END PGP SIGNATURE-----\n\n',
      ),
    );

    expect((await judge(id)).join()).toContain('no OpenPGP key is trusted here');
  });
});

describe('a line of allowed signers counts', () => {
  const at = (iso: string): number => Date.parse(iso);
  const listed = (options: string): string => {
    const path = join(folder, 'limited_signers');
    writeFileSync(path, `ann@example.com ${options} ${ann.publicLine}\n`);
    return path;
  };

  test.each([
    ['namespaces="file"', '2025-01-01', 'that of ann@example.com, which is for file only'],
    ['valid-before="20240101Z"', '2025-01-01', 'which expired on 2024-01-01T00:00:00.000Z'],
    ['valid-after="20260101Z"', '2025-01-01', 'which is not valid before 2026-01-01'],
  ])('is ignored with %s', async (options, now, why) => {
    const file = listed(options);
    const { commit, judge } = await stage(
      await openJudge({ allowedSigners: file }, { now: () => at(now) }),
    );

    expect(await judge(commit({ key: ann, time: at(now) / 1000 }))).toEqual([
      expect.stringContaining(why),
    ]);
  });

  test('is ignored for a commit that claims to be older than the end of its key, when it comes later', async () => {
    const file = listed('valid-before="20240101Z"');
    const before = at('2023-06-01') / 1000;
    const { commit, gitDir, repository, base } = await stage();
    const id = commit({ key: ann, time: before });
    const judged = async (now: string) =>
      (await openJudge({ allowedSigners: file }, { now: () => at(now) })).judge(repository, {
        from: base,
        to: id,
      });

    // Git accepts the commit; the holder of the old key could write any time into it.
    expect(gitSaysGood(gitDir, id, file)).toBe(true);
    expect(await judged('2025-01-01')).toEqual([expect.stringContaining('which expired on')]);
    expect(await judged('2023-07-01')).toEqual([]);
  });

  test('counts until it is removed from the file: then the next push is refused', async () => {
    const file = listed('namespaces="git"');
    const { commit, judge } = await stage(await openJudge({ allowedSigners: file }));
    const id = commit({ key: ann });
    expect(await judge(id)).toEqual([]);

    writeFileSync(file, `ann@example.com ${stranger.publicLine}\n`);
    expect(await judge(id)).toEqual([expect.stringContaining('is not an allowed signer')]);

    writeFileSync(file, 'nonsense\n');
    expect(await judge(id)).toEqual([
      expect.stringMatching(
        /^signatures cannot be verified until the operator fixes this: .*limited_signers:1: /,
      ),
    ]);

    rmSync(file);
    expect(await judge(id)).toEqual([
      expect.stringMatching(/^signatures cannot be verified .*ENOENT/),
    ]);

    writeFileSync(file, `ann@example.com ${ann.publicLine}\n`);
    expect(await judge(id)).toEqual([]);
  });
});

describe('commits of the daemon', () => {
  test('are trusted by its key, not by their name', async () => {
    const daemon = sshKey(folder, 'daemon');
    const { publicKey, sign } = await openCommitSigner(daemon.file);
    const signing = await openForTest({ sign });
    const [first = '', second = ''] = await publish(
      signing,
      commitOf({ a: '1' }),
      commitOf({ a: '2' }),
    );
    const range = { from: first, to: second };

    const knowing = await openJudge({ allowedSigners: signers }, { own: publicKey });
    expect(await knowing.judge(signing, range)).toEqual([]);
    const ignorant = await openJudge({ allowedSigners: signers });
    expect(await ignorant.judge(signing, range)).toHaveLength(1);

    const env = {
      GIT_COMMITTER_NAME: 'gitplane',
      GIT_COMMITTER_EMAIL: 'gitplane@noreply.gitplane.dev',
    };
    const posed = git(
      signing.gitDir,
      ['commit-tree', '-p', second, '-m', 'x', `${second}^{tree}`],
      { env },
    );
    expect(await knowing.judge(signing, { from: second, to: posed })).toHaveLength(1);
  });
});

describe('a policy of paths', () => {
  const policy = (text: string): string => {
    const path = join(folder, 'policy.yaml');
    writeFileSync(path, text);
    return path;
  };
  const CONFIG = `rules:
  - paths: [config/]
    signers: [ops@example.com]
`;
  const open = async (text: string) => {
    const files = { allowedSigners: signers, rules: policy(text) };
    return await stage(await openJudge(files));
  };

  test('names the path and whose signature it takes', async () => {
    const { commit, judge } = await open(CONFIG);
    const id = commit({ files: { 'config/c.txt': '2', 'a.txt': '2' }, key: ann });

    expect(await judge(id)).toEqual([
      `${shown(id)}config/c.txt requires a signature of ops@example.com, and it is signed by ann@example.com`,
    ]);
    expect(await judge(commit({ files: { 'config/c.txt': '2' }, key: ops }))).toEqual([]);
    expect(await judge(commit({ files: { 'configs.txt': '2' }, key: ann }))).toEqual([]);
  });

  test.each([
    ['adding a file', { 'config/new.txt': 'x' }],
    ['removing a file', { 'config/c.txt': null }],
    ['putting a file in the place of the folder', { 'config/c.txt': null, config: 'x' }],
  ])('covers %s', async (_what, files) => {
    const { commit, judge } = await open(CONFIG);

    expect(await judge(commit({ files, key: ann }))).toHaveLength(1);
  });

  test('is not evaded by changing a file and changing it back', async () => {
    const { commit, judge } = await open(CONFIG);
    const first = commit({ files: { 'config/c.txt': '2' }, key: ann });
    const second = commit({ parents: [first], files: { 'config/c.txt': '1' }, key: ann });

    expect(await judge(second)).toHaveLength(2);
  });

  test('allows unsigned commits elsewhere if configured', async () => {
    const { commit, judge } = await open(`require: false\n${CONFIG}`);

    expect(await judge(commit({}))).toEqual([]);
    expect(await judge(commit({ key: stranger }))).toEqual([]);
    const id = commit({ files: { 'config/c.txt': '2' } });
    expect(await judge(id)).toEqual([
      `${shown(id)}config/c.txt requires a signature of ops@example.com, and it is not signed`,
    ]);
  });

  test('a policy without signers accepts any listed signer', async () => {
    const { commit, judge } = await open('require: false\nrules: [{ paths: ["config/**"] }]\n');
    const files = { 'config/c.txt': '2' };

    expect(await judge(commit({ files, key: ann }))).toEqual([]);
    expect(await judge(commit({ files, key: stranger }))).toEqual([
      expect.stringContaining(
        'config/c.txt requires a trusted signature, and its signature is not',
      ),
    ]);
  });

  test('the first rule of a path decides', async () => {
    const { commit, judge } = await open(
      `rules:\n  - paths: [config/dev/**]\n    signers: [ann@example.com]\n${CONFIG.replace('rules:\n', '')}`,
    );

    expect(await judge(commit({ files: { 'config/dev/x': '' }, key: ann }))).toEqual([]);
    expect(await judge(commit({ files: { 'config/dev/x': '' }, key: ops }))).toHaveLength(1);
    expect(await judge(commit({ files: { 'config/x': '' }, key: ann }))).toHaveLength(1);
  });

  test('the key of a signer may be named by its fingerprint', async () => {
    const { publicKey } = await openCommitSigner(ops.file);
    const { commit, judge } = await open(CONFIG.replace('ops@example.com', publicKey.fingerprint));
    const files = { 'config/c.txt': '2' };

    expect(await judge(commit({ files, key: ops }))).toEqual([]);
    expect(await judge(commit({ files, key: ann }))).toHaveLength(1);
  });

  describe('a merge', () => {
    test('does not count changes that came from the other side', async () => {
      const { commit, judge } = await open(CONFIG);
      const side = commit({ files: { 'config/c.txt': '2' }, key: ops });
      const main = commit({ key: ann });
      const forth = commit({ parents: [main, side], files: { 'config/c.txt': '2' }, key: ann });
      const back = commit({ parents: [side, main], files: { 'a.txt': '2' }, key: ann });

      expect(await judge(forth)).toEqual([]);
      expect(await judge(back)).toEqual([]);
    });

    test('counts changes that neither side has', async () => {
      const { commit, judge } = await open(CONFIG);
      const side = commit({ files: { 'config/c.txt': '2' }, key: ops });
      const main = commit({ key: ann });
      const evil = commit({ parents: [main, side], files: { 'config/c.txt': '3' }, key: ann });

      expect(await judge(evil)).toEqual([expect.stringContaining('config/c.txt requires')]);
    });

    test('counts a reverted change', async () => {
      const { commit, judge } = await open(CONFIG);
      const changed = commit({ files: { 'config/c.txt': '2' }, key: ops });
      const main = commit({ key: ann });
      // The tree of a side that never saw the change: "ours".
      const [one, other] = [
        [main, changed],
        [changed, main],
      ].map((parents) =>
        commit({ parents, files: { 'a.txt': '2', 'config/c.txt': '1' }, key: ann }),
      );

      for (const merge of [one, other]) {
        expect(await judge(merge ?? '')).toEqual([
          expect.stringContaining('config/c.txt requires'),
        ]);
      }
      // Also when the change is in the branch already, and so is not looked at itself.
      expect(await judge(one ?? '', changed)).toEqual([
        expect.stringContaining('config/c.txt requires'),
      ]);
    });

    test('counts a choice between two changes', async () => {
      const { commit, judge } = await open(CONFIG);
      const two = commit({ files: { 'config/c.txt': '2' }, key: ops });
      const three = commit({ files: { 'config/c.txt': '3' }, key: ops });
      const files = { 'config/c.txt': '3' };

      expect(await judge(commit({ parents: [two, three], files, key: ann }))).toHaveLength(1);
      expect(await judge(commit({ parents: [two, three], files, key: ops }))).toEqual([]);
    });

    test('a merge of unrelated histories does not count paths of a single side', async () => {
      const { commit, judge, base } = await open(CONFIG);
      const alien = commit({ parents: [], files: { 'config/new.txt': 'x' }, key: ops });
      const files = { 'config/new.txt': 'x' };

      expect(await judge(commit({ parents: [base, alien], files, key: ann }))).toEqual([]);
      const dropped = { 'config/c.txt': null, 'config/new.txt': 'x' };
      expect(
        await judge(commit({ parents: [base, alien], files: dropped, key: ann })),
      ).toHaveLength(1);
    });

    test('a merge of three parents checks each of them', async () => {
      const { commit, judge } = await open(CONFIG);
      const sides = [
        commit({ key: ann }),
        commit({ files: { 'config/c.txt': '2' }, key: ops }),
        commit({ files: { 'b.txt': 'x' }, key: ann }),
      ];
      const merged = { 'a.txt': '2', 'config/c.txt': '2', 'b.txt': 'x' };

      expect(await judge(commit({ parents: sides, files: merged, key: ann }))).toEqual([]);
      const reverted = { ...merged, 'config/c.txt': '1' };
      expect(await judge(commit({ parents: sides, files: reverted, key: ann }))).toHaveLength(1);
    });
  });

  test('a merge with an unknown signer does not open the branch', async () => {
    await expect(open(CONFIG.replace('ops@', 'opps@'))).rejects.toThrow(
      /policy\.yaml: no key belongs to "opps@example\.com"; name a principal/,
    );
  });
});

/**
 * What repositories hold that looks harmless: each is told in one line with a place, a push of it is
 * refused, and where it is on the branch already it harms nothing else.
 */
import { describe, expect, test } from 'vitest';
import { encodePath } from '../../src/git/objects/path-text.ts';
import { mintAccessKey } from '../../src/kinds/credentials/access-key.ts';
import { formatProblem } from '../../src/manifests/manifest.ts';
import { git } from '../support/git.ts';
import { openTestPlatform, type TestPlatform, team } from '../support/platform.ts';

interface Entry {
  readonly path: string;
  readonly text?: string | Buffer;
  readonly mode?: string;
  /** Of a submodule: the commit. */
  readonly id?: string;
}

const GOOD = { path: 'good.yaml', text: team('good') };

/** A commit that holds exactly these files, below the branch; made without git's own checks. */
function commit(platform: TestPlatform, entries: readonly Entry[], from = 'main'): string {
  const { gitDir } = platform.repository;
  const blob = (text: string | Buffer): string =>
    git(gitDir, ['hash-object', '-w', '--stdin'], { input: text });
  const tree = (below: readonly Entry[]): string => {
    const lines: string[] = [];
    const folders = new Map<string, Entry[]>();
    for (const { path, text = '', mode = '100644', id = blob(text) } of below) {
      const slash = path.indexOf('/');
      const [name, rest] = slash < 0 ? [path, ''] : [path.slice(0, slash), path.slice(slash + 1)];
      if (slash < 0) lines.push(`${mode} ${mode === '160000' ? 'commit' : 'blob'} ${id}\t${name}`);
      else folders.set(name, [...(folders.get(name) ?? []), { path: rest, text, mode, id }]);
    }
    for (const [name, inside] of folders) lines.push(`040000 tree ${tree(inside)}\t${name}`);
    return git(gitDir, ['mktree', '-z', '--missing'], {
      input: encodePath(`${lines.join('\0')}\0`),
    });
  };
  return git(gitDir, ['commit-tree', tree(entries), '-p', from, '-m', 'm']);
}

const head = 'apiVersion: management.gitplane.dev/v1\n';
const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
for (let i = 1; i < 8; i++) bomb.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(10)}]`);

const traps: readonly (readonly [string, readonly Entry[], RegExp])[] = [
  [
    'the same object in two files',
    [{ path: 'x.yaml', text: team('good') }],
    /^x\.yaml:1:1: Team "good" is also at good\.yaml:1; keep one of them$/,
  ],
  [
    'a foreign kind',
    [{ path: 'x.yaml', text: 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n' }],
    /^x\.yaml:1:13: apiVersion: Unknown API version "apps\/v1".*\.gitplaneignore/,
  ],
  [
    'a symbolic link in the place of a manifest',
    [{ path: 'x.yaml', text: '/etc/passwd', mode: '120000' }],
    /^x\.yaml:1:1: A symbolic link is never followed; commit the file itself$/,
  ],
  [
    'a submodule in the place of a manifest',
    [{ path: 'x.yaml', mode: '160000', id: 'a'.repeat(40) }],
    /^x\.yaml:1:1: A submodule is never followed; commit the file itself$/,
  ],
  [
    'a path that leads out of the tree',
    [{ path: '../x.yaml', text: team('x') }],
    /^\.\.(?:\/x\.yaml)?:1:1: The path leads out of its tree and is never followed$/,
  ],
  [
    'a path that leads out of the tree further down',
    [{ path: 'a/../../x.yaml', text: team('x') }],
    /^a\/\.\.(?:\/\.\.\/x\.yaml)?:1:1: The path leads out of its tree/,
  ],
  [
    'a name of two lines',
    [{ path: 'x\nremote: accepted.yaml', text: team('x') }],
    /^"x\\u000aremote: accepted\.yaml":1:1: The path cannot be used: it has a control character; rename the file$/,
  ],
  [
    'a name that is not UTF-8',
    [{ path: 'x\udcff.yaml', text: team('x') }],
    /^"x\\udcff\.yaml":1:1: The path cannot be used: it is not valid Unicode; rename the file$/,
  ],
  [
    'names that are no UTF-8 and look alike as text',
    [
      { path: 'x\udcfe.yaml', text: team('x') },
      { path: 'x\udcff.yaml', text: team('y') },
    ],
    /^"x\\udcff\.yaml":1:1: The path cannot be used/,
  ],
  [
    'a name too long for any file system',
    [{ path: `${'x'.repeat(251)}.yaml`, text: team('x') }],
    /^x+\.yaml:1:1: The path cannot be used: a segment is longer than 255 bytes; rename the file$/,
  ],
  [
    'a huge file',
    [{ path: 'x.yaml', text: Buffer.alloc(9 * 1024 * 1024, '#') }],
    /^x\.yaml:1:1: The file has 9437184 bytes; the limit is 8388608$/,
  ],
  [
    'an alias bomb',
    [{ path: 'x.yaml', text: bomb.join('\n') }],
    /^x\.yaml:\d+:\d+: aliases add more than 20000 values/,
  ],
  [
    'bytes that are no UTF-8',
    [{ path: 'x.yaml', text: Buffer.from(`${team('x')}# caf\xe9\n`, 'latin1') }],
    /^x\.yaml:6:6: invalid UTF-8 at byte \d+; save the file as UTF-8$/,
  ],
  [
    'UTF-16, as some editors save it',
    [{ path: 'x.yaml', text: Buffer.from(`\uFEFF${team('x')}`, 'utf16le') }],
    /^x\.yaml:1:1: the file is UTF-16; save it as UTF-8$/,
  ],
  [
    'tabs',
    [{ path: 'x.yaml', text: `${head}kind: Team\nmetadata:\n\tname: x\n` }],
    /^x\.yaml:4:1: Tabs are not allowed as indentation$/,
  ],
  [
    'a byte order mark in the middle',
    [{ path: 'x.yaml', text: `${team('x')}---\n\uFEFF${team('y')}` }],
    /^x\.yaml:7:1: a byte order mark inside the file; remove it$/,
  ],
  [
    'a file of old Macs, with carriage returns alone',
    [{ path: 'x.yaml', text: team('x').replaceAll('\n', '\r') }],
    /^x\.yaml:1:\d+: a carriage return without a line feed/,
  ],
  [
    'a path that differs by case alone',
    [{ path: 'Good.yaml', text: team('x') }],
    /^Good\.yaml:1:1: The path differs by case alone from good\.yaml; .*rename one$/,
  ],
  [
    'a folder that differs by case alone',
    [
      { path: 'teams/x.yaml', text: team('x') },
      { path: 'Teams/x.yaml', text: team('y') },
    ],
    /^teams\/x\.yaml:1:1: The path differs by case alone from Teams\/x\.yaml/,
  ],
  [
    'accents that are composed in two ways',
    [
      { path: 'é.yaml'.normalize('NFC'), text: team('x') },
      { path: 'é.yaml'.normalize('NFD'), text: team('y') },
    ],
    /^é\.yaml:1:1: The path differs by case alone/,
  ],
  [
    'a long s in the place of an s',
    [
      { path: 'sales.yaml', text: team('x') },
      { path: 'ſales.yaml', text: team('y') },
    ],
    /^sales\.yaml:1:1: The path differs by case alone from ſales\.yaml/,
  ],
  [
    'a capital sharp s in the place of two letters',
    [
      { path: 'gross.yaml', text: team('x') },
      { path: 'groẞ.yaml', text: team('y') },
    ],
    /^gross\.yaml:1:1: The path differs by case alone from groẞ\.yaml/,
  ],
  [
    'a character that no font shows',
    [{ path: 'go\u00adod.yaml', text: '' }],
    /^good\.yaml:1:1: The path differs by case alone from "go\\u00adod\.yaml"/,
  ],
  [
    'a pointer of Git LFS',
    [
      {
        path: 'x.yaml',
        text: `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`,
      },
    ],
    /^x\.yaml:1:1: The file is a pointer of Git LFS .*commit the file itself$/,
  ],
  [
    'a misspelt key',
    [{ path: 'x.yaml', text: team('x', { displayNam: 'X' }) }],
    /^x\.yaml:5:\d+: spec\.displayNam: Forbidden: unknown field, did you mean "displayName"\?$/,
  ],
  [
    'a misspelt key at the top',
    [{ path: 'x.yaml', text: `${team('x')}sepc: {}\n` }],
    /^x\.yaml:6:1: sepc: Forbidden: unknown field, did you mean "spec"\?$/,
  ],
  // covers: metadata.namespace
  [
    'a namespace that is not a label',
    [
      {
        path: 'x.yaml',
        text: `${head}kind: SharedSecret\nmetadata:\n  name: x\n  namespace: a.b\nspec: {}\n`,
      },
    ],
    /^x\.yaml:5:\d+: metadata\.namespace: .*RFC 1123 label/,
  ],
  [
    'generateName',
    [{ path: 'x.yaml', text: `${head}kind: Team\nmetadata:\n  generateName: x-\n` }],
    /^x\.yaml:4:\d+: metadata\.name: Required value: a manifest in git always has its name/,
  ],
  [
    'a conflict that was not solved',
    [{ path: 'x.yaml', text: `${team('x')}<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n` }],
    /^x\.yaml:6:\d+: /,
  ],
];

describe('a trap', () => {
  test.each(traps)(
    '%s is told with its place, and harms nothing else',
    async (_t, entries, line) => {
      const platform = await openTestPlatform();
      await platform.commit({ 'good.yaml': team('good') });
      const uid = platform.find('teams', 'good')?.object.metadata.uid;
      const { gitDir, ref } = platform.repository;
      const told = (one: TestPlatform): string[] =>
        one.branch.state.catalog.problems().map(formatProblem);
      const other = { path: 'other.yaml', text: team('other') };
      const pushed = commit(platform, [GOOD, other, ...entries]);

      // In a push it is refused.
      const { ok, lines } = await platform.push(pushed);
      expect(ok).toBe(false);
      expect(lines).toContainEqual(expect.stringMatching(line));
      expect(lines.join('')).not.toMatch(/\n/);

      // On the branch it is reported.
      git(gitDir, ['update-ref', ref, pushed]);
      await platform.branch.sync();
      expect(told(platform)).toContainEqual(expect.stringMatching(line));
      expect(platform.find('teams', 'good')?.object.metadata.uid).toBe(uid);
      expect(platform.find('teams', 'other')).toBeDefined();
      await platform.create('teams', { metadata: { name: 'z' } });
      const warm = await platform.restart();
      expect(told(warm)).toEqual(told(platform));

      // And forgotten when it is gone.
      git(gitDir, ['update-ref', ref, commit(warm, [GOOD, other])]);
      await warm.branch.sync();
      expect(told(warm)).toEqual([]);
    },
  );
});

describe('no trap', () => {
  test.each<[string, Entry[], string[]]>([
    ['CRLF', [{ path: 'x.yaml', text: team('x').replaceAll('\n', '\r\n') }], ['good', 'x']],
    ['a byte order mark', [{ path: 'x.yaml', text: `\uFEFF${team('x')}` }], ['good', 'x']],
    ['no final newline', [{ path: 'x.yaml', text: team('x').trimEnd() }], ['good', 'x']],
    [
      'foreign files that .gitplaneignore covers',
      [
        { path: '.gitplaneignore', text: 'charts/\n' },
        { path: 'charts/x.yaml', text: 'apiVersion: apps/v1\nkind: Deployment\n' },
      ],
      ['good'],
    ],
    ['dot-directories', [{ path: '.github/x.yaml', text: 'on: push\n' }], ['good']],
    ['files of other names', [{ path: 'README.md', text: '# A' }], ['good']],
    [
      'names of other files that differ by case',
      [
        { path: 'readme.md', text: '# A' },
        { path: 'README.md', text: '# B' },
      ],
      ['good'],
    ],
  ])('%s: a push of it is accepted', async (_title, entries, names) => {
    const platform = await openTestPlatform();
    await platform.commit({ 'good.yaml': team('good') });

    const verdict = await platform.push(commit(platform, [GOOD, ...entries]));

    expect(verdict, verdict.lines.join('\n')).toMatchObject({ ok: true });
    expect(platform.names('teams')).toEqual(names);
  });

  test('a symbolic link of another name is left alone, with a warning', async () => {
    const entry = { path: 'teams', text: '../elsewhere', mode: '120000' };
    const platform = await openTestPlatform();
    await platform.commit({ 'good.yaml': team('good') });
    const one = commit(platform, [GOOD, entry]);
    const two = commit(platform, [GOOD, entry, { path: 'x.yaml', text: team('x') }], one);

    for (const pushed of [one, two]) {
      const user = undefined;
      const updates = [
        { ref: 'refs/heads/main', oldId: await platform.repository.head(), newId: pushed },
      ];
      const { repository } = platform;
      const { ok, lines } = await platform.judge.judge({ updates, user, source: repository });
      expect([ok, lines[0]]).toEqual([
        true,
        'warning: teams:1:1: A symbolic link is never followed: its target is not part of the platform',
      ]);
    }
  });

  test.each<[string, string]>([
    ['an ending in upper case', 'teams/x.YAML'],
    ['an ending in mixed case, of an object that may come', 'teams/y.Yml'],
    ['a character behind the ending that no font shows', 'teams/x.yaml\u200b'],
    ['a tag character, which has two units', 'teams/x.ya\u{e0001}ml'],
    ['a stream of the file', 'teams/x.yaml::$DATA'],
  ])('a file that clones have in the place of a manifest is refused: %s', async (_title, path) => {
    const platform = await openTestPlatform();
    await platform.commit({ 'teams/x.yaml': team('x') });
    const good = { path: 'teams/x.yaml', text: team('x') };

    const { ok, lines } = await platform.push(commit(platform, [good, { path, text: '# other' }]));

    expect(ok).toBe(false);
    expect(lines.join()).toMatch(
      /^"?teams\/[xy].*:1:1: The daemon does not read this file, .* in the place of teams\/[xy]\.ya?ml; rename it/,
    );
  });

  test.each(['charts/Chart.YAML', '.github/x.YAML', 'x.YAMLS'])(
    'a file in the place of no manifest is left alone: %s',
    async (path) => {
      const platform = await openTestPlatform();
      await platform.commit({ 'good.yaml': team('good') });
      const ignore = { path: '.gitplaneignore', text: 'charts/\n' };

      const pushed = commit(platform, [GOOD, ignore, { path, text: 'x' }]);

      expect(await platform.push(pushed)).toMatchObject({ ok: true });
    },
  );

  test.each<[string, Entry]>([
    ['submodule', { path: 'vendor', mode: '160000', id: 'a'.repeat(40) }],
    ['Windows device', { path: 'docs/aux.txt', text: 'x' }],
    ['name that Windows cuts', { path: 'docs/x./y', text: 'x' }],
  ])(
    'a %s that is here already is left alone; a push of a new one is refused',
    async (_what, entry) => {
      const platform = await openTestPlatform();
      await platform.commit({ 'good.yaml': team('good') });
      const { gitDir, ref } = platform.repository;
      const one = commit(platform, [GOOD, entry]);

      expect(await platform.push(one)).toMatchObject({ ok: false });

      git(gitDir, ['update-ref', ref, one]);
      await platform.branch.sync();
      const two = commit(platform, [GOOD, entry, { path: 'x.yaml', text: team('x') }], one);
      expect(await platform.push(two)).toMatchObject({ ok: true });
      const again = { ...entry, path: `more/${entry.path}` };
      const three = commit(platform, [GOOD, entry, again], two);
      expect(await platform.push(three)).toMatchObject({ ok: false });
    },
  );
});

test('an object that the API makes never takes a path that differs by case alone', async () => {
  const platform = await openTestPlatform();
  for (const name of ['admin', 'Admin', 'ADMIN']) {
    await platform.create('clusterroles', { metadata: { name }, rules: [] });
  }

  expect(platform.branch.state.catalog.problems()).toEqual([]);
  expect(platform.names('clusterroles')).toHaveLength(3);
});

describe('a key in plaintext that a later commit of the push takes away', () => {
  const key = mintAccessKey('gpu');
  const manifest = `${head}kind: OwnedAccessKey\nmetadata:\n  name: k\nspec:\n  user: ada\n  key: ${key}\n`;
  const leak = { path: 'keys/k.yaml', text: manifest };
  const broken = { path: 'x.yaml', text: `kind: [\n  key: ${key}\n` };

  test.each<[string, Entry, string]>([
    ['in a manifest', leak, 'keys/k.yaml:7:8'],
    ['in a file that does not even parse', broken, 'x.yaml:2:8'],
  ])('%s refuses the push, with commit and place', async (_title, entry, place) => {
    const platform = await openTestPlatform();
    await platform.commit({ 'good.yaml': team('good') });
    const leaking = commit(platform, [GOOD, entry]);
    const clean = commit(platform, [GOOD], leaking);

    const { ok, lines } = await platform.push(clean);

    expect(ok).toBe(false);
    expect(lines[0]).toMatch(new RegExp(`^${place}: in commit ${leaking.slice(0, 12)}: .*rebase`));
    expect(lines.join()).not.toContain(key);
  });

  test('a merged plaintext key refuses its merge, and not the later ones', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'good.yaml': team('good') });
    const main = git(platform.repository.gitDir, ['rev-parse', 'main']);
    const side = commit(platform, [GOOD], commit(platform, [GOOD, leak]));
    const { gitDir, ref } = platform.repository;
    const tree = git(gitDir, ['rev-parse', `${main}^{tree}`]);
    const merge = git(gitDir, ['commit-tree', tree, '-p', main, '-p', side, '-m', 'merge']);

    expect(await platform.push(merge)).toMatchObject({ ok: false });

    // Once it is there, by whatever way, a push of something else is not to blame.
    git(gitDir, ['update-ref', ref, merge]);
    await platform.branch.sync();
    const x = commit(platform, [GOOD, { path: 'x.yaml', text: team('x') }], merge);
    const y = git(gitDir, ['commit-tree', `${x}^{tree}`, '-p', merge, '-p', x, '-m', 'merge']);
    expect(await platform.push(y)).toMatchObject({ ok: true });
  });
});

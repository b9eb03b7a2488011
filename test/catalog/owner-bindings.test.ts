/** Which life of its owner an access key belongs to. */
import { describe, expect, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { replay } from '../../src/catalog/replay.ts';
import { objectId } from '../../src/git/objects/object-id.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { openForTest } from '../support/git.ts';
import { writeCommits } from './random-history.ts';

const group = 'management.gitplane.dev';
const reader = fileReader(buildKindTable(group), '');

function manifest(kind: string, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
}

const hash = (digit: string): string => `sha256:${digit.repeat(64)}`;

/** Files by what stands for them in the rows below. */
const FILES: Readonly<Record<string, readonly [path: string, text: string]>> = {
  ada: ['ada.yaml', manifest('User', 'ada', {})],
  'ada, renamed': ['ada.yaml', manifest('User', 'ada', { displayName: 'Ada' })],
  'ada, moved': ['moved.yaml', manifest('User', 'ada', {})],
  'ada, broken': ['ada.yaml', manifest('User', 'ada', { disabled: 'perhaps' })],
  bob: ['bob.yaml', manifest('User', 'bob', {})],
  key: ['key.yaml', manifest('OwnedAccessKey', 'k', { user: 'ada', key: hash('1') })],
  'key, labelled': [
    'key.yaml',
    JSON.stringify({
      apiVersion: `${group}/v1`,
      kind: 'OwnedAccessKey',
      metadata: { name: 'k', labels: { a: 'b' } },
      spec: { user: 'ada', key: hash('1'), description: 'another one', ttl: 5 },
    }),
  ],
  'key, moved': ['other.yaml', manifest('OwnedAccessKey', 'k', { user: 'ada', key: hash('1') })],
  'key, broken': ['key.yaml', manifest('OwnedAccessKey', 'k', { user: 'ada', ttl: 'long' })],
  'key, new text': ['key.yaml', manifest('OwnedAccessKey', 'k', { user: 'ada', key: hash('2') })],
  'key of bob': ['key.yaml', manifest('OwnedAccessKey', 'k', { user: 'bob', key: hash('1') })],
  'key of a subject': [
    'key.yaml',
    manifest('OwnedAccessKey', 'k', { subject: 'ada', key: hash('1') }),
  ],
  'key of a team': ['key.yaml', manifest('OwnedAccessKey', 'k', { team: 'ada', key: hash('1') })],
  team: ['team.yaml', manifest('Team', 'ada', {})],
};

/** A commit: its parents by number, from 1, and what the tree holds. */
type Commit = readonly [parents: readonly number[], ...files: string[]];

/** Commits one after the other. */
function line(...trees: readonly (readonly string[])[]): Commit[] {
  return trees.map((files, i) => [i === 0 ? [] : [i], ...files]);
}

/** `works`, `dead`, `waits` for an owner, or `free` of one, at the newest commit. */
function stateOf(catalog: Catalog): string {
  const key = catalog.object({ group, kind: 'OwnedAccessKey', namespace: '', name: 'k' });
  if (key === undefined) return 'gone';
  if (key.ownerBinding === undefined) return 'free';
  if (key.ownerBinding.incarnation === undefined) return 'waits';
  const owner = catalog.object(key.ownerBinding.owner);
  return owner !== undefined && owner.identity.uid === key.ownerUid ? 'works' : 'dead';
}

async function outcome(commits: readonly Commit[]): Promise<string> {
  const repository = await openForTest();
  const ids = writeCommits(
    repository.gitDir,
    commits.map(([parents, ...files], i) => ({
      mark: i + 1,
      parents,
      files: new Map(files.map((name) => FILES[name] ?? ['none', name])),
    })),
  );
  const { catalog } = await replay({ repository, reader, under: '' }, ids.at(-1) ?? '');
  return stateOf(catalog);
}

describe('bindings in one line of history', () => {
  test.each<[string, string, Commit[]]>([
    ['made together with its user', 'works', line(['ada', 'key'])],
    ['made after its user', 'works', line(['ada'], ['ada', 'key'])],
    ['made before its user', 'works', line(['key'], ['ada', 'key'])],
    ['whose user is not there yet', 'waits', line(['bob'], ['key'])],
    [
      'whose user was changed and moved',
      'works',
      line(['ada', 'key'], ['ada, renamed', 'key'], ['ada, moved', 'key']),
    ],
    ['made in the commit that ends its user', 'dead', line(['ada'], ['key'])],
    ['made in the commit that ends its user', 'dead', line(['ada'], ['key'], ['ada', 'key'])],
    ['whose user has a broken manifest', 'works', line(['ada', 'key'], ['ada, broken', 'key'])],
    ['whose user is gone', 'dead', line(['ada', 'key'], ['key'])],
    ['whose user is another one', 'dead', line(['ada', 'key'], ['key'], ['ada', 'key'])],
    [
      'that waited, and whose user is another one',
      'dead',
      line(['key'], ['ada', 'key'], ['key'], ['ada', 'key']),
    ],
    [
      'made between two users of the name',
      'works',
      line(['ada'], ['bob'], ['key'], ['ada', 'key']),
    ],
    [
      'made for the second user of the name',
      'works',
      line(['ada'], ['bob'], ['ada'], ['ada', 'key']),
    ],
    [
      'that gets a label when its user is another one',
      'dead',
      line(['ada', 'key'], ['key'], ['ada', 'key'], ['ada', 'key, labelled']),
    ],
    [
      'whose file moves when its user is another one',
      'dead',
      line(['ada', 'key'], ['key'], ['ada', 'key'], ['ada', 'key, moved']),
    ],
    [
      'that is broken and healed when its user is another one',
      'dead',
      line(['ada', 'key'], ['key'], ['ada', 'key, broken'], ['ada', 'key']),
    ],
    [
      'that gets another text when its user is another one',
      'works',
      line(['ada', 'key'], ['key'], ['ada', 'key'], ['ada', 'key, new text']),
    ],
    [
      'that gets another text while there is no user',
      'works',
      line(['ada', 'key'], ['key'], ['key, new text'], ['ada', 'key, new text']),
    ],
    [
      'made anew when its user is another one',
      'works',
      line(['ada', 'key'], ['bob'], ['ada'], ['ada', 'key']),
    ],
    [
      'that was given to another user',
      'works',
      line(['ada', 'bob', 'key'], ['ada', 'bob', 'key of bob']),
    ],
    [
      'that was given to another user and back to a third one',
      'works',
      line(['ada', 'bob', 'key'], ['bob', 'key of bob'], ['ada', 'bob', 'key']),
    ],
    ['of a subject', 'free', line(['ada', 'key of a subject'])],
    ['of a team', 'works', line(['team', 'key of a team'])],
    [
      'of a team that is another one',
      'dead',
      line(['team', 'key of a team'], ['key of a team'], ['team', 'key of a team']),
    ],
    ['of a team, where only a user has the name', 'waits', line(['ada', 'key of a team'])],
  ])('a key %s: %s', async (_which, wanted, commits) => {
    expect(await outcome(commits)).toBe(wanted);
  });
});

describe.each([
  ['the line that is served comes first', (a: number, b: number) => [a, b]],
  ['the line that is served comes second', (a: number, b: number) => [b, a]],
])('bindings of a merge whose %s', (_which, order) => {
  test.each<[string, string, Commit[]]>([
    [
      'of a user that another line replaced',
      'dead',
      [
        [[], 'ada', 'key'],
        [[1], 'key'],
        [[2], 'ada, renamed', 'key'],
        [[1], 'ada', 'key', 'bob'],
        [order(3, 4), 'ada, renamed', 'key', 'bob'],
      ],
    ],
    [
      'whose user began on both lines',
      'works',
      [
        [[], 'bob'],
        [[1], 'ada', 'bob', 'key'],
        [[1], 'ada', 'bob'],
        [order(2, 3), 'ada', 'bob', 'key'],
      ],
    ],
    [
      'that waited on both lines, and whose user began on one',
      'works',
      [
        [[], 'key'],
        [[1], 'ada', 'key'],
        [[1], 'bob', 'key'],
        [order(2, 3), 'ada', 'bob', 'key'],
      ],
    ],
    [
      'whose user came and went on one line, and then another one',
      'dead',
      [
        [[], 'key'],
        [[1], 'ada', 'key'],
        [[2], 'key'],
        [[1], 'bob', 'key'],
        [order(3, 4), 'bob', 'key'],
        [[5], 'ada', 'bob', 'key'],
      ],
    ],
    [
      'that one line gave another text for the new user',
      'works',
      [
        [[], 'ada', 'key'],
        [[1], 'key'],
        [[2], 'ada, renamed', 'key'],
        [[3], 'ada, renamed', 'key, new text'],
        [[1], 'ada', 'key', 'bob'],
        [order(4, 5), 'ada, renamed', 'key, new text', 'bob'],
      ],
    ],
  ])('a key %s: %s', async (_which, wanted, commits) => {
    expect(await outcome(commits)).toBe(wanted);
  });
});

describe('steps one at a time', () => {
  const setUp = () => {
    const catalog = new Catalog('f'.repeat(40));
    const add = (id: string, name: string) => {
      const [path, text] = FILES[name] ?? ['none', name];
      const content = Buffer.from(text);
      const files = new Map([[path, reader.read(path, objectId('blob', content), content)]]);
      return catalog.advance({ commit: { id, committerTime: 1_700_000_000 }, files });
    };
    return { catalog, add };
  };

  test('an undone step takes the binding of a key that waited', () => {
    const { catalog, add } = setUp();
    add('c1', 'key');
    const { undo } = add('c2', 'ada');
    expect(stateOf(catalog)).toBe('works');

    undo();
    expect(stateOf(catalog)).toBe('waits');
    add('c3', 'ada');
    expect(stateOf(catalog)).toBe('works');
  });

  test('every changed object is reported once, and a key with its binding', () => {
    const { add } = setUp();
    const changed = (id: string, name: string): string[] =>
      add(id, name).changes.map(({ key }) => `${key.kind} ${key.name}`);
    expect(changed('c1', 'key')).toEqual(['OwnedAccessKey k']);
    expect(changed('c2', 'ada')).toEqual(['User ada', 'OwnedAccessKey k']);
    expect(changed('c3', 'ada, renamed')).toEqual(['User ada']);
    expect(changed('c4', 'key, labelled')).toEqual(['OwnedAccessKey k']);
  });
});

/** Pushes that give an object the encrypted values of another one, for the daemon to open. */
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { User } from '../../src/apimachinery/request.ts';
import type { Readers } from '../../src/catalog/file-reader.ts';
import { ReaderPool } from '../../src/catalog/reader-pool/reader-pool.ts';
import { MOST_VERSIONS } from '../../src/registry/pushes/former-values.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf } from '../../src/sealing/open.ts';
import { documentsOf, sealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig, ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { commitOf, foreignCommit, git, publish } from '../support/git.ts';
import { openTestPlatform, type TestPlatform } from '../support/platform.ts';

const RULE = ruleOfKeys(['data']);

let keyring: Keyring;
let recipient: string;
let platform: TestPlatform;

/** Everything but `get` on every secret. */
const writer: User = { name: 'writer', groups: [] };
const reader: User = { name: 'reader', groups: [] };
/** Reads every secret of the namespace "web". */
const member: User = { name: 'member', groups: [] };
/** Reads and creates every object, and changes none: the secrets of a configuration are shown to its writers alone. */
const viewer: User = { name: 'viewer', groups: [] };
/** Readers of every object of some kinds, by their names. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  projects: ['projectsecrets'],
  secrets: ['projectsecrets', 'sharedsecrets'],
  teams: ['teams'],
};

beforeAll(async () => {
  const made = await makeIdentity();
  recipient = made.recipient;
  keyring = await Keyring.open([made.identity], { marks: true });
});

beforeEach(async () => {
  platform = await openTestPlatform({
    keyring,
    authorizer: {
      authorize: ({ name }, of) => ({
        allowed:
          name === 'reader' ||
          (name === 'viewer' && of.verb === 'get') ||
          (of.verb !== 'get' && (name !== 'viewer' || of.verb === 'create')) ||
          (name === 'member' && 'namespace' in of && of.namespace === 'web') ||
          ('resource' in of && READERS[name]?.includes(of.resource) === true),
        reason: '',
      }),
    },
  });
  const config = formatSopsConfig([{ folder: 'sharedsecrets', keys: ['data'] }], [recipient]);
  await platform.commit({ '.sops.yaml': config });
});

function secret(name: string, value: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: ${name}\n  namespace: web\nspec:\n  data:\n    key: ${value}\n`;
}

async function encrypted(...texts: string[]): Promise<string> {
  const key = await keyring.make([recipient]);
  return sealText(texts.join('---\n'), { key, rule: RULE, now: 0 });
}

/** As a person encrypts a file. */
async function own(...texts: string[]): Promise<string> {
  const key = await new Keyring([]).make([recipient]);
  return sealText(texts.join('---\n'), { key, rule: RULE, now: 0 });
}

const copyOf = (file: string, name = 'b'): string => file.replace('name: a', `name: ${name}`);

/** The lines of the refusal; empty where the push was taken. */
async function push(user: User, files: Readonly<Record<string, string | null>>): Promise<string> {
  const { ok, lines } = await platform.push(
    foreignCommit(platform.repository.gitDir, { files, time: 1_800_000_000 }),
    user,
  );
  return ok ? '' : lines.join('\n');
}

const refused = (path: string, name: string): string =>
  `${path}: SharedSecret "web/${name}": Forbidden: its values were encrypted for another object`;

/** Each object under the name of the other. */
function renamed(file: string): string {
  return file.replace(/name: ([ab])$/gm, (_, name) => `name: ${name === 'a' ? 'b' : 'a'}`);
}

test('a push of a large file with many objects reads its encryption once a version, in the thread', async () => {
  const pool = new ReaderPool({ apiGroup: 'management.gitplane.dev', under: '' });
  onTestFinished(() => pool.close());
  const sizes: number[] = [];
  const counting: Readers = {
    read: (...of) => pool.read(...of),
    readLarge: (files) => pool.readLarge(files),
    edits: pool.edits,
    encryptionIn: (content) => {
      sizes.push(content.length);
      return pool.encryptionIn(content);
    },
  };
  Object.assign(platform.branch.reader, { pool: counting });
  const teams = Array.from(
    { length: 400 },
    (_, i) =>
      `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: t${i}\nspec: {}\n`,
  );
  const file = teams.join('---\n');
  await platform.commit({ 'teams.yaml': file });

  const edited = `${file}# sops\n`;
  expect(await push(writer, { 'teams.yaml': edited })).toBe('');
  expect(sizes).toEqual([Buffer.byteLength(edited)]);
});

describe('values that were encrypted for another object', () => {
  test.each<[string, (file: string) => Record<string, string | null>]>([
    ['a copy', (file) => ({ 'b.yaml': file.replace('name: a', 'name: b') })],
    [
      'a copy with an escape in the key of its metadata',
      (file) => ({
        'b.yaml': file.replace('name: a', 'name: b').replace(/^sops:/m, '"\\x73ops":'),
      }),
    ],
    [
      'a copy without the mark',
      (file) => ({
        'b.yaml': file.replace('name: a', 'name: b').replace(/ {2}gitplane_mark: .*\n/, ''),
      }),
    ],
    ['a rename', (file) => ({ 'a.yaml': null, 'b.yaml': file.replace('name: a', 'name: b') })],
  ])('are refused in %s', async (_, change) => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });

    expect(await push(writer, change(file))).toContain(refused('b.yaml', 'b'));
    expect(await push(reader, change(file))).toBe('');
  });

  test('are refused in place of those that an object had', async () => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file, 'b.yaml': await encrypted(secret('b', 'b3du')) });

    const copy = { 'b.yaml': file.replace('name: a', 'name: b') };
    expect(await push(writer, copy)).toContain(refused('b.yaml', 'b'));
  });

  test('are refused where neighbours in a file change their names', async () => {
    const file = await encrypted(secret('a', 'c2VjcmV0'), secret('b', 'b3du'));
    await platform.commit({ 'all.yaml': file });

    expect(await push(writer, { 'all.yaml': renamed(file) })).toContain(refused('all.yaml', 'b'));
  });

  test('are refused where neighbours of a file that a person encrypted change their names', async () => {
    const key = await new Keyring([]).make([recipient]);
    const texts = [secret('a', 'c2VjcmV0'), secret('b', 'b3du')].join('---\n');
    const file = sealText(texts, { key, rule: RULE, now: 0 });
    await platform.commit({ 'all.yaml': file });

    expect(await push(writer, { 'all.yaml': renamed(file) })).toContain(refused('all.yaml', 'b'));
  });

  test.each<[string, (file: string) => string]>([
    ['as they are', (file) => file],
    ['of another type', (file) => file.replaceAll('type:str', 'type:bytes')],
    [
      'with escapes',
      (file) =>
        file.replace(/ENC\[([^\]]*)\]$/gm, '"\\x45NC[$1]"').replace(/^sops:/m, '"\\x73ops":'),
    ],
    ['without padding', (file) => file.replaceAll(/=+(?=,|\])/g, '')],
  ])('are refused in files that persons encrypted, %s', async (_, spelled) => {
    const file = await own(secret('a', 'c2VjcmV0'));
    const pair = await own(secret('c', 'b2xk'), secret('d', 'b3du'));
    await platform.commit({ 'a.yaml': file, 'pair.yaml': pair });

    const copy = { 'b.yaml': spelled(file.replace('name: a', 'name: b')) };
    expect(await push(writer, copy)).toContain(refused('b.yaml', 'b'));
    const swapped = pair.replace(
      /name: ([cd])$/gm,
      (__, one) => `name: ${one === 'c' ? 'd' : 'c'}`,
    );
    expect(await push(writer, { 'pair.yaml': spelled(swapped) })).toContain(
      refused('pair.yaml', 'c'),
    );
    const moved = { 'a.yaml': null, 'moved/a.yaml': spelled(file) };
    expect(await push(writer, moved)).toBe('');
    const anew = { 'e.yaml': await own(secret('e', 'c2VjcmV0')) };
    expect(await push(writer, anew)).toBe('');
    expect(await push(reader, copy)).toBe('');
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ['a neighbour had', ['a b2xk', 'b b3du'], ['a bmV3', 'b b3R0']],
    ['the only object had before it was replaced', ['a b2xk'], ['b b3du']],
    ['an object had that is gone', ['a b2xk', 'b b3du'], ['b bmV3']],
  ])('are refused where history has them in the same file: %s', async (_, past, present) => {
    const key = await keyring.make([recipient]);
    const fileOf = (objects: readonly string[]): string => {
      const texts = objects.map((text) => secret(text.slice(0, 1), text.slice(2)));
      return sealText(texts.join('---\n'), { key, rule: RULE, now: 0 });
    };
    const old = fileOf(past);
    await platform.commit({ 'all.yaml': old });
    await platform.commit({ 'all.yaml': fileOf(present) });

    expect(await push(writer, { 'all.yaml': renamed(old) })).toContain(refused('all.yaml', 'b'));
    expect(await push(reader, { 'all.yaml': renamed(old) })).toBe('');
  });

  test('are refused from a version that only history has', async () => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });
    await platform.commit({ 'a.yaml': await encrypted(secret('a', 'bmV3')) });
    await platform.commit({ 'a.yaml': null });

    const copy = { 'b.yaml': file.replace('name: a', 'name: b') };
    expect(await push(writer, copy)).toContain(refused('b.yaml', 'b'));
  });

  describe('are refused from a version that a person encrypted and only history has, of', () => {
    test.each<[string, (file: string) => Promise<Record<string, string | null>[]>]>([
      ['an object that is gone', async () => [{ 'a.yaml': null }]],
      ['an object that has others now', async () => [{ 'a.yaml': await own(secret('a', 'bmV3')) }]],
      [
        'a file outside of the platform',
        async (file) => [
          { 'a.yaml': null },
          { 'charts/x.json': file, '.gitplaneignore': 'charts/' },
        ],
      ],
    ])('%s', async (_, later) => {
      const file = await own(secret('a', 'c2VjcmV0'));
      await platform.commit({ 'a.yaml': file });
      for (const files of await later(file)) await platform.commit(files);

      expect(await push(writer, { 'b.yaml': copyOf(file) })).toContain(refused('b.yaml', 'b'));
      // Values that came to the branch since are searched, too.
      const next = await own(secret('a', 'bmV4dA=='));
      await platform.commit({ 'c.yaml': copyOf(next, 'c') });
      await platform.commit({ 'c.yaml': null });
      expect(await push(writer, { 'b.yaml': copyOf(next) })).toContain(refused('b.yaml', 'b'));
      expect(await push(writer, { 'd.yaml': await own(secret('d', 'c2VjcmV0')) })).toBe('');
      expect(await push(reader, { 'b.yaml': copyOf(file) })).toBe('');
    });

    test.each(['a.yaml.bak', 'a.env', '.archive/a.yaml'])('the file %s', async (path) => {
      const file = await own(secret('a', 'c2VjcmV0'));
      await platform.commit({ [path]: file });

      expect(await push(writer, { 'b.yaml': copyOf(file) })).toContain(refused('b.yaml', 'b'));
      await platform.commit({ [path]: null });
      expect(await push(writer, { 'b.yaml': copyOf(file) })).toContain(refused('b.yaml', 'b'));
      expect(await push(member, { 'b.yaml': copyOf(file) })).toBe('');
    });

    test('a branch whose former head git has pruned', async () => {
      const { gitDir } = platform.repository;
      const start = git(gitDir, ['rev-parse', 'main']);
      const files = { 'a.yaml': await own(secret('a', 'Z29uZQ==')) };
      const gone = foreignCommit(gitDir, { files, time: 1_800_000_000 });
      git(gitDir, ['update-ref', 'refs/heads/main', gone]);
      const file = await own(secret('a', 'c2VjcmV0'));
      await platform.branch.sync();
      const other = { 'c.yaml': await own(secret('c', 'b3du')) };
      const to = foreignCommit(gitDir, { files: other, time: 1_800_000_000 });
      const source = platform.repository;
      expect((await platform.judge.dryRun({ to, source, user: writer })).objections).toEqual([]);
      git(gitDir, ['update-ref', 'refs/heads/main', start]);
      await platform.branch.sync();
      await platform.commit({ 'a.yaml': file });
      await platform.commit({ 'a.yaml': null });
      git(gitDir, ['reflog', 'expire', '--expire=now', '--all']);
      git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);
      git(gitDir, ['gc', '--quiet', '--prune=now']);
      expect(() => git(gitDir, ['cat-file', '-e', gone])).toThrow();

      expect(await push(writer, { 'b.yaml': copyOf(file) })).toContain(refused('b.yaml', 'b'));
      expect(await push(writer, { 'd.yaml': await own(secret('d', 'b3du')) })).toBe('');
    });

    test('more versions than are kept of one value, and not of as many', async () => {
      const [few, many] = [await own(secret('a', 'ZmV3')), await own(secret('c', 'bWFueQ=='))];
      const labelled = (file: string, at: number): string =>
        file.replace(/name: [ac]/, (name) => `${name}\n  labels:\n    at: "${at}"`);
      const versions = Array.from({ length: MOST_VERSIONS + 1 }, (_, at) =>
        commitOf({
          // The first version comes twice, and counts once.
          'a.yaml': labelled(few, at % MOST_VERSIONS),
          'c.yaml': labelled(many, at),
        }),
      );
      await publish(platform.repository, ...versions);
      await platform.commit({ 'a.yaml': null, 'c.yaml': null });

      expect(await push(member, { 'c.yaml': many })).toContain(refused('c.yaml', 'c'));
      expect(await push(member, { 'a.yaml': few })).toBe('');
      expect(await push(reader, { 'c.yaml': many })).toBe('');
    });

    test('a former object of the name', async () => {
      const file = await own(secret('a', 'c2VjcmV0'));
      await platform.commit({ 'a.yaml': file });
      await platform.commit({ 'a.yaml': null });
      expect(await push(writer, { 'a.yaml': file })).toContain(refused('a.yaml', 'a'));
      await platform.commit({ 'a.yaml': await own(secret('a', 'bmV3')) });
      expect(await push(writer, { 'a.yaml': file })).toContain(refused('a.yaml', 'a'));
    });

    test('a neighbour in the same file', async () => {
      const file = await own(secret('a', 'c2VjcmV0'), secret('b', 'b3du'));
      await platform.commit({ 'all.yaml': file });
      await platform.commit({
        'all.yaml': await own(secret('a', 'bmV3'), secret('b', 'bmV4dA==')),
      });
      expect(await push(writer, { 'all.yaml': renamed(file) })).toContain(refused('all.yaml', 'b'));
      expect(await push(member, { 'all.yaml': file })).toBe('');
    });
  });

  describe('are refused in an object of another kind, which the pusher may read,', () => {
    const inProject = (file: string): string =>
      copyOf(file).replace('kind: SharedSecret', 'kind: ProjectSecret');

    test.each<[string, typeof own, boolean]>([
      ['as the daemon encrypted them', encrypted, false],
      ['as a person encrypted them', own, false],
      ['from a version that only history has', own, true],
    ])('%s', async (_, sealed, isFormer) => {
      const file = await sealed(secret('a', 'c2VjcmV0'));
      await platform.commit({ 'a.yaml': file });
      if (isFormer) await platform.commit({ 'a.yaml': null });

      const projects: User = { name: 'projects', groups: [] };
      expect(await push(projects, { 'b.yaml': inProject(file) })).toContain(
        'b.yaml: ProjectSecret "web/b": Forbidden: its values were encrypted for another object',
      );
      const secrets: User = { name: 'secrets', groups: [] };
      expect(await push(secrets, { 'b.yaml': inProject(file) })).toBe('');
    });

    test('a configuration, which readers see without its secrets', async () => {
      const config = `apiVersion: management.gitplane.dev/v1\nkind: Config\nmetadata:\n  name: main\nspec:\n  raw: "auth: {}"\n`;
      const key = await keyring.make([recipient]);
      const file = sealText(config, { key, rule: ruleOfKeys(['raw']), now: 0 });
      await platform.commit({ 'config.yaml': file });

      const copy = { 'tenants/b/vcluster.yaml': file.slice(file.indexOf('spec:')) };
      expect(await push(viewer, copy)).toContain(
        'Tenant "b": Forbidden: its values were encrypted for another object',
      );
      expect(await push(reader, copy)).toBe('');
      expect(platform.find('tenants', 'b')?.object.spec).toEqual({ spec: { raw: 'auth: {}' } });
    });

    test('values beside the secret fields of the kind', async () => {
      const user = (name: string): string =>
        `apiVersion: management.gitplane.dev/v1\nkind: User\nmetadata:\n  name: ${name}\nspec:\n  displayName: Secret\n`;
      const key = await keyring.make([recipient]);
      const rule = ruleOfKeys(['displayName']);
      const file = sealText(user('a'), { key, rule, now: 0 });
      await platform.commit({ 'a.yaml': file });

      const teams: User = { name: 'teams', groups: [] };
      const copy = { 'b.yaml': copyOf(file).replace('kind: User', 'kind: Team') };
      expect(await push(teams, copy)).toContain('b.yaml: Team "b": Forbidden: its values were');
      expect(await push(reader, copy)).toBe('');
    });
  });

  test('are searched in history while writes go on', async () => {
    const file = await own(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });
    await platform.commit({ 'a.yaml': null });
    const { repository } = platform;
    let reach = (): void => undefined;
    let goOn = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const written = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const history: typeof repository.history = async function* (...range) {
      reach();
      await written;
      yield* repository.history(...range);
    };
    const paused = new Proxy(repository, {
      get(target, name) {
        if (name === 'history') return history;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const judge = platform.judgeOn(paused);
    const files = { 'b.yaml': copyOf(file) };
    const to = foreignCommit(repository.gitDir, { files, time: 1_800_000_000 });
    const report = judge.dryRun({ to, source: repository, user: writer });

    await reached;
    await platform.create('teams', { metadata: { name: 'meanwhile' } });
    goOn();

    expect((await report).objections).toContainEqual(
      expect.stringContaining(refused('b.yaml', 'b')),
    );
  });

  test('are refused where history has more values than are compared, and taken from a reader', async () => {
    await platform.commit({ 'a.yaml': await own(secret('a', 'c2VjcmV0')) });
    await platform.commit({ 'a.yaml': await own(secret('a', 'b3RoZXI=')) });
    const { repository } = platform;
    const judge = platform.judgeOn(repository, { mostFormerValues: 1 });
    const files = { 'b.yaml': await own(secret('b', 'b3du')) };
    const to = foreignCommit(repository.gitDir, { files, time: 1_800_000_000 });
    const objections = async (user: User) =>
      (await judge.dryRun({ to, source: repository, user })).objections;

    const refusedAsTooMany = [
      'b.yaml: SharedSecret "web/b": Forbidden: its values may be those of another object: the history has more than 1 encrypted values, which are not compared, and User "writer" cannot get every one of the sharedsecrets, projectsecrets; a user who can has to push it',
    ];
    expect(await objections(writer)).toEqual(refusedAsTooMany);
    expect(await objections(writer)).toEqual(refusedAsTooMany);
    expect(await objections(reader)).toEqual([]);
  });

  test('are not meant where the pusher may read each former object that had them', async () => {
    const file = await own(secret('a', 'c2VjcmV0'));
    const other = (await own(secret('a', 'b3BzLW9ubHk='))).replace('space: web', 'space: ops');
    await platform.commit({ 'a.yaml': file, 'ops.yaml': other });
    await platform.commit({ 'a.yaml': null, 'ops.yaml': null });
    const anew = other.replace('space: ops', 'space: web');

    expect(await push(writer, { 'a.yaml': file })).toContain(refused('a.yaml', 'a'));
    expect(await push(member, { 'a.yaml': file })).toBe('');
    // A file of the pusher with the value of another object does not make it the pusher's.
    await platform.commit({ '.gitplaneignore': 'drafts/' });
    expect(await push(member, { 'drafts/a.yaml': anew })).toBe('');
    expect(await push(member, { 'a.yaml': anew })).toContain(refused('a.yaml', 'a'));
  });

  test.each<[string, (file: string) => string]>([
    ['as it was', (file) => file],
    ['with another owner', (file) => file.replace('spec:', 'spec:\n  owner:\n    user: writer')],
  ])('are refused where one push ends the object and begins it again, %s', async (_, change) => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });
    const { gitDir } = platform.repository;
    const time = 1_800_000_000;
    const ended = foreignCommit(gitDir, { files: { 'a.yaml': null }, time });
    const anew = { 'a.yaml': change(file) };
    const begun = foreignCommit(gitDir, { files: anew, parents: [ended], time });

    const { ok, lines } = await platform.push(begun, writer);
    expect([ok, lines.join('\n')]).toEqual([
      false,
      expect.stringContaining(refused('a.yaml', 'a')),
    ]);
    expect((await platform.push(begun, reader)).ok).toBe(true);
  });

  test.each<[string, Readonly<Record<string, string | null>>]>([
    ['moves', { 'b.yaml': null, 'moved/b.yaml': 'the file' }],
    ['spoils', { 'b.yaml': 'spec: [' }],
  ])('are refused where a later commit of the push %s the copy', async (_, later) => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });
    const { gitDir } = platform.repository;
    let tip = git(gitDir, ['rev-parse', 'main']);
    const copy = copyOf(file);
    const filled = Object.entries(later).map(([path, text]) => [
      path,
      text === 'the file' ? copy : text,
    ]);
    const gone = { 'b.yaml': null, ...(filled.length > 1 && { 'moved/b.yaml': null }) };
    for (const files of [{ 'b.yaml': copy }, Object.fromEntries(filled), gone]) {
      tip = foreignCommit(gitDir, { files, parents: [tip], time: 1_800_000_000 });
    }

    const { ok, lines } = await platform.push(tip, writer);
    expect([ok, lines.join('\n')]).toEqual([
      false,
      expect.stringContaining(refused('b.yaml', 'b')),
    ]);
  });

  test('are not meant where the object was moved, relabelled or encrypted again', async () => {
    const file = await encrypted(secret('a', 'c2VjcmV0'));
    await platform.commit({ 'a.yaml': file });
    const labelled = file.replace('name: a', 'name: a\n  labels:\n    tier: web');

    expect(await push(writer, { 'a.yaml': null, 'moved/a.yaml': labelled })).toBe('');
    expect(await push(writer, { 'moved/a.yaml': await encrypted(secret('a', 'bmV3')) })).toContain(
      refused('moved/a.yaml', 'a'),
    );
    const anew = await own(secret('a', 'bmV3'));
    expect(metadataOf(documentsOf(anew))?.mark).toBeUndefined();
    expect(await push(writer, { 'moved/a.yaml': anew })).toBe('');
    expect(git(platform.repository.gitDir, ['show', 'main:moved/a.yaml'])).toBe(anew.trim());
  });

  test.each(['path', 'HTTP'])(
    'are not meant where a merge, pushed by %s, takes them from the branch',
    async (road) => {
      const { gitDir } = platform.repository;
      await platform.commit({ 'a.yaml': await encrypted(secret('a', 'b2xk')) });
      const base = git(gitDir, ['rev-parse', 'main']);
      const newer = await encrypted(secret('a', 'bmV3'));
      await platform.commit({ 'a.yaml': newer });
      const between = git(gitDir, ['rev-parse', 'main']);
      await platform.commit({ 'a.yaml': await encrypted(secret('a', 'bmV3ZXI=')) });
      const time = 1_800_000_000;
      const side = foreignCommit(gitDir, { files: { 'note.txt': 'x' }, parents: [base], time });
      const inner = foreignCommit(gitDir, {
        files: { 'a.yaml': newer },
        parents: [side, between],
        time,
      });
      const merge = foreignCommit(gitDir, {
        files: { 'note.txt': 'x' },
        parents: ['main', inner],
        time,
      });

      const verdict =
        road === 'path'
          ? await platform.push(merge, writer)
          : (await platform.pushOpenly(merge, { user: writer })).verdict;
      expect(verdict).toMatchObject({ ok: true });
    },
  );
});

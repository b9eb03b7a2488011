import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Condition } from '../../src/apimachinery/object.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { secretKeys } from '../../src/kinds/secrets/secret-places.ts';
import { conditionsOf } from '../../src/registry/projection/served-object.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf } from '../../src/sealing/open.ts';
import { documentsOf, sealText, unsealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig, ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { git } from '../support/git.ts';
import {
  kindOf,
  kinds,
  openTestPlatform,
  type TestPlatform,
  writeOptions,
} from '../support/platform.ts';

const API = 'management.gitplane.dev/v1';
const SECRETS = { group: 'management.gitplane.dev', kind: 'SharedSecret', namespace: 'web' };
const PATH = 'namespaces/web/sharedsecrets/cdn.yaml';
const CLEAR = 'aHVudGVyMg==';

let ours: { identity: string; recipient: string };
let theirs: typeof ours;
let keyring: Keyring;
let platform: TestPlatform;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([makeIdentity(), makeIdentity()]);
  keyring = await Keyring.open([ours.identity], { marks: true });
});

const config = (...recipients: string[]): string =>
  formatSopsConfig([{ folder: 'sharedsecrets', keys: ['data'] }], recipients);

function manifest(data: Record<string, string>, labels = ''): string {
  const values = Object.entries(data).map(([key, value]) => `    ${key}: ${value}\n`);
  return `apiVersion: ${API}\nkind: SharedSecret\nmetadata:\n  name: cdn\n${labels}spec:\n  displayName: CDN\n  data:\n${values.join('')}`;
}

async function sealed(text: string, ...recipients: string[]): Promise<string> {
  const key = await keyring.make(recipients);
  return sealText(text, { key, rule: ruleOfKeys(['data']), now: 0 });
}

const inGit = (path = PATH): string => git(platform.repository.gitDir, ['show', `main:${path}`]);
const everything = (): string =>
  git(platform.repository.gitDir, ['log', 'main', '-p', '--format=%B']);
const found = (name = 'cdn') => platform.store.get({ ...SECRETS, name })?.object;
const dataOf = (name = 'cdn'): unknown => (found(name)?.spec as { data?: unknown })?.data;
const conditions = (name = 'cdn'): readonly Condition[] => conditionsOf(found(name)?.status);

function create(data: Record<string, string>, more: object = {}): Promise<unknown> {
  const spec = { displayName: 'CDN', data };
  return platform.create('sharedsecrets', { metadata: { name: 'cdn', ...more }, spec }, 'web');
}

// biome-ignore lint/suspicious/noExplicitAny: tests reach into objects
function patch(change: (object: any) => void, name = 'cdn'): Promise<unknown> {
  return platform.registry.update({
    verb: 'patch',
    kind: kindOf('sharedsecrets'),
    namespace: 'web',
    name,
    duplicates: [],
    options: writeOptions,
    change: (current) => {
      const copy = structuredClone(current);
      change(copy);
      return copy;
    },
  });
}

function rename(name = 'x'): Promise<unknown> {
  return patch((object) => {
    object.spec.displayName = name;
  });
}

const MARK = /(?<=gitplane_mark: ).*/;

async function markOfAnother(): Promise<string> {
  const { mark = '' } = await keyring.make([ours.recipient]);
  return mark;
}

/** The file with its data key wrapped for one more recipient. */
async function withRecipient(text: string): Promise<string> {
  const key = await keyring.wrap(await keyOf(text), [ours.recipient, theirs.recipient]);
  const mark = MARK.exec(text)?.[0];
  return sealText(text, { key: { ...key, mark }, rule: ruleOfKeys(['data']), now: 0 });
}

function remove(name = 'cdn'): Promise<unknown> {
  const kind = kindOf('sharedsecrets');
  return platform.registry.delete({
    kind,
    namespace: 'web',
    name,
    delete: {},
    options: writeOptions,
  });
}

async function refusal(work: Promise<unknown>): Promise<StatusError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof StatusError) return error;
  throw new Error('it was not refused');
}

/** Lines that the last commit added, by what stands before the first colon. */
function addedKeys(): string[] {
  const diff = git(platform.repository.gitDir, ['show', '--format=', '-U0', 'main']);
  const lines = diff.split('\n').filter((line) => /^\+(?!\+\+)/.test(line));
  return lines.map((line) => line.slice(1).trim().split(':')[0] ?? '');
}

describe('a repository that seals', () => {
  beforeEach(async () => {
    platform = await openTestPlatform({ keyring });
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
  });

  test('a create is served in plaintext and is sealed in git', async () => {
    await create({ password: CLEAR });

    expect(dataOf()).toEqual({ password: CLEAR });
    expect(inGit()).toMatch(/\n {4}password: ENC\[AES256_GCM,/);
    expect(everything()).not.toContain(CLEAR);
  });

  test('a change of one value is a change of three lines', async () => {
    await create({ user: 'YW5u', password: CLEAR });
    await patch((object) => {
      object.spec.data.password = 'aHVudGVyMw==';
    });

    expect(dataOf()).toEqual({ user: 'YW5u', password: 'aHVudGVyMw==' });
    expect(addedKeys().filter((key) => key !== 'lastmodified')).toEqual(['password', 'mac']);
    expect(everything()).not.toMatch(/aHVudGVyM/);
  });

  test('a change outside of secrets changes one line', async () => {
    await create({ password: CLEAR });
    await patch((object) => {
      object.spec.displayName = 'Content';
    });

    expect(addedKeys()).toEqual(['displayName']);
  });

  test('a key can be added and taken away, and the secret be deleted', async () => {
    await create({ a: 'YQ==' });
    await patch((object) => {
      object.spec.data['7'] = 'Nw==';
    });
    await patch((object) => {
      delete object.spec.data.a;
    });

    expect(dataOf()).toEqual({ '7': 'Nw==' });
    expect(unsealText(inGit(), await keyOf(inGit()))).toContain('"7": Nw==');

    await remove();
    expect(found()).toBeUndefined();
  });

  describe('an object that comes back with its former bytes', () => {
    const LINES = [
      '# about the secret',
      `apiVersion: ${API}`,
      'kind:   SharedSecret',
      'metadata: {name: cdn}  # flow',
      'spec:',
      '    displayName: "CDN"',
      '    data:',
      '        # the old password was qwertz',
      `        password: ${CLEAR}  # hunter2`,
      '',
    ];
    const text = LINES.join('\n');
    const PLAIN =
      /about the secret[\s\S]*kind: {3}SharedSecret\n[\s\S]*name: cdn(?:, namespace: web)?\} {2}# flow[\s\S]*"CDN"/;
    const former = (): { path: string; blob: string } => ({
      path: PATH,
      blob: git(platform.repository.gitDir, ['rev-parse', `main:${PATH}`]),
    });
    const again = (file: ReturnType<typeof former>): Promise<unknown> =>
      platform.registry.create({
        kind: kindOf('sharedsecrets'),
        namespace: 'web',
        body: {
          metadata: { name: 'cdn' },
          spec: { displayName: 'CDN', data: { password: CLEAR } },
        },
        duplicates: [],
        options: writeOptions,
        path: PATH,
        former: file,
      });

    test('is encrypted again for those of .sops.yaml, its comments as well', async () => {
      await platform.commit({ [PATH]: await sealed(text, ours.recipient) });
      const before = inGit();
      const file = former();
      await remove();
      await platform.commit({ '.sops.yaml': config(ours.recipient, theirs.recipient) });

      await again(file);

      expect(dataOf()).toEqual({ password: CLEAR });
      expect(inGit()).toMatch(PLAIN);
      const stated = metadataOf(documentsOf(inGit()))?.age.map(({ recipient }) => recipient);
      expect(stated?.toSorted()).toEqual([ours.recipient, theirs.recipient].toSorted());
      const key = await keyOf(inGit());
      expect(key).not.toEqual(await keyOf(before));
      expect(unsealText(`${inGit()}\n`, key)).toBe(text);
      expect(everything()).not.toMatch(/qwertz|hunter2|aHVudGVyMg/);
    });

    test('joins others in an encrypted file with the key of that', async () => {
      await platform.commit({ [PATH]: await sealed(text, ours.recipient) });
      const file = former();
      await remove();
      await platform.create(
        'sharedsecrets',
        { metadata: { name: 'other' }, spec: { data: { a: 'b3RoZXI=' } } },
        'web',
      );
      const path = PATH.replace('cdn', 'other');
      git(platform.repository.gitDir, ['cat-file', '-e', `main:${path}`]);
      const other = await keyOf(inGit(path));

      await platform.registry.create({
        kind: kindOf('sharedsecrets'),
        namespace: 'web',
        body: {
          metadata: { name: 'cdn' },
          spec: { displayName: 'CDN', data: { password: CLEAR } },
        },
        duplicates: [],
        options: writeOptions,
        path,
        former: file,
      });

      expect(await keyOf(inGit(path))).toEqual(other);
      expect(inGit(path)).toMatch(PLAIN);
      expect(everything()).not.toMatch(/qwertz|hunter2|aHVudGVyMg/);
      expect([dataOf(), dataOf('other')]).toEqual([{ password: CLEAR }, { a: 'b3RoZXI=' }]);
    });

    test('an object from a time before .sops.yaml is encrypted with its comments', async () => {
      platform = await openTestPlatform({ keyring });
      await platform.commit({ [PATH]: text });
      const file = former();
      await remove();
      await platform.commit({ '.sops.yaml': config(ours.recipient) });

      await again(file);

      expect(inGit()).toMatch(PLAIN);
      expect(inGit()).not.toMatch(/qwertz|hunter2|aHVudGVyMg/);
      expect(dataOf()).toEqual({ password: CLEAR });
    });

    test('is written without them where they do not open, or were changed by hand', async () => {
      const whole = await sealed(text, ours.recipient);
      const broken = whole.replace(/password: ENC\[AES256_GCM,data:./, '$&A');
      expect(broken).not.toBe(whole);
      await platform.commit({ [PATH]: whole });
      const blob = git(platform.repository.gitDir, ['hash-object', '-w', '--stdin'], {
        input: broken,
      });
      await remove();

      await again({ path: PATH, blob });

      expect(dataOf()).toEqual({ password: CLEAR });
      expect(inGit()).not.toMatch(/about the secret/);
      expect(everything()).not.toMatch(/qwertz|hunter2|aHVudGVyMg/);
    });
  });

  test('an object without secrets is written as ever', async () => {
    await create({});

    expect(inGit()).not.toContain('sops');
  });

  test('the last-applied annotation of kubectl is sealed as well', async () => {
    const copy = { spec: { data: { password: CLEAR } } };
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    await create({ password: CLEAR }, { annotations: { [annotation]: JSON.stringify(copy) } });

    expect(everything()).not.toContain(CLEAR);
    expect(found()?.metadata.annotations?.[annotation]).toContain(CLEAR);
  });

  test('a rebuild reads the same', async () => {
    await create({ password: CLEAR });
    const before = found();
    const again = await platform.restart({ disk: new Map() });
    const after = again.store.get({ ...SECRETS, name: 'cdn' })?.object;

    // The one is a place in the journal, the other a record of who wrote through the API.
    const own = { resourceVersion: '', managedFields: [] };

    expect({ ...after, metadata: { ...after?.metadata, ...own } }).toEqual({
      ...before,
      metadata: { ...before?.metadata, ...own },
    });
  });

  test('a sealed push is taken, and the next write re-keys it for those of .sops.yaml', async () => {
    const text = await sealed(manifest({ password: CLEAR }), ours.recipient, theirs.recipient);
    await platform.commit({ [PATH]: text });
    await patch((object) => {
      object.spec.data.more = 'bW9yZQ==';
    });

    expect(dataOf()).toEqual({ password: CLEAR, more: 'bW9yZQ==' });
    const age = metadataOf(documentsOf(inGit()))?.age ?? [];
    expect(age.map(({ recipient }) => recipient)).toEqual([ours.recipient]);
    const other = await Keyring.open([theirs.identity]);
    expect(await other.dataKey(age)).toBeUndefined();
  });

  test.each<[string, (text: string) => Promise<string> | string]>([
    ['was taken out of the sops block', (text) => text.replace(/ {2}gitplane_mark: .*\n/, '')],
    ['is that of another file', async (text) => text.replace(MARK, await markOfAnother())],
    ['does not fit a recipient who was added', (text) => withRecipient(text)],
    [
      'does not cover a key for other software that was added',
      (text) => text.replace(/^sops:\n/m, 'sops:\n  pgp:\n    - fp: ABCD\n      enc: x\n'),
    ],
  ])('a file whose mark %s is re-keyed by the next write', async (_, change) => {
    await create({ user: 'YW5u', password: CLEAR });
    const before = inGit();
    await platform.commit({ [PATH]: await change(before) });
    expect(inGit()).not.toBe(before);
    await rename();

    expect(dataOf()).toEqual({ user: 'YW5u', password: CLEAR });
    expect(await keyOf(inGit())).not.toEqual(await keyOf(before));
    expect(addedKeys()).toEqual(expect.arrayContaining(['displayName', 'user', 'password']));
    await rename('y');
    expect(addedKeys()).toEqual(['displayName']);
  });

  test('a file is re-keyed when .sops.yaml names others than it is encrypted for', async () => {
    await create({ password: CLEAR });
    await platform.commit({ '.sops.yaml': config(ours.recipient, theirs.recipient) });
    await rename();
    const other = await Keyring.open([theirs.identity]);
    const dataKey = await other.dataKey(metadataOf(documentsOf(inGit()))?.age ?? []);
    expect(dataKey).toBeDefined();

    await platform.commit({ '.sops.yaml': config(ours.recipient) });
    await rename('y');
    expect(await keyOf(inGit())).not.toEqual(dataKey);
    expect(await other.dataKey(metadataOf(documentsOf(inGit()))?.age ?? [])).toBeUndefined();
  });

  test('a value that another user encrypted stays encrypted when the file is re-keyed', async () => {
    const key = await keyring.make([ours.recipient, theirs.recipient]);
    const rule = { name: 'encrypted_regex', text: '^(displayName|data)$' } as const;
    const text = sealText(manifest({ password: CLEAR }), { key, rule, now: 0 });
    await platform.commit({ [PATH]: text });
    await patch((object) => {
      object.metadata.labels = { a: 'b' };
    });

    expect(inGit()).toMatch(/displayName: ENC\[/);
    expect(await keyOf(inGit())).not.toEqual(key.dataKey);
    expect(found()?.spec).toEqual({ displayName: 'CDN', data: { password: CLEAR } });
  });

  test('removing a document re-keys the rest of a file of another user', async () => {
    const key = await keyring.wrap(Buffer.alloc(32, 7), [ours.recipient]);
    const other = manifest({ token: CLEAR }).replace('name: cdn', 'name: rest');
    const text = sealText(`${manifest({ password: CLEAR })}---\n${other}`, {
      key,
      rule: ruleOfKeys(['data']),
      now: 0,
    });
    await platform.commit({ [PATH]: text });
    await remove();

    expect(dataOf('rest')).toEqual({ token: CLEAR });
    expect(await keyOf(inGit())).not.toEqual(key.dataKey);
  });

  test.each<[string, string, string]>([
    ['a label', 'labels: {a: "hunter two"}', 'metadata.labels.a: Invalid value: ***: '],
    ['an item', 'finalizers: ["hunter two"]', 'metadata.finalizers[0]: Invalid value: ***: '],
  ])('a problem never repeats the encrypted value of %s', async (_, field, problem) => {
    const key = await keyring.make([ours.recipient]);
    const rule = ruleOfKeys(['labels', 'finalizers']);
    const text = manifest({ password: CLEAR }, `  ${field}\n`);
    await platform.commit({ [PATH]: sealText(text, { key, rule, now: 0 }) });

    const [found] = platform.branch.state.catalog.problems();
    expect(found?.message).toContain(problem);
    expect(found?.message).not.toContain('hunter');
  });

  test('several documents share a file', async () => {
    const team = `apiVersion: ${API}\nkind: Team\nmetadata:\n  name: ops\n`;
    const text = await sealed(`${team}---\n${manifest({ password: CLEAR })}`, ours.recipient);
    await platform.commit({ 'namespaces/web/all.yaml': text });
    await patch((object) => {
      object.spec.data.password = 'bW9yZQ==';
    });
    await platform.patch('teams', 'ops', (object) => {
      object.spec = { displayName: 'Ops' };
    });

    expect(dataOf()).toEqual({ password: 'bW9yZQ==' });
    await remove();
    expect(platform.names('teams')).toEqual(['ops']);
    expect((await platform.restart({ disk: new Map() })).names('teams')).toEqual(['ops']);
  });

  describe('a secret in plaintext', () => {
    async function pushed(files: Record<string, string>): Promise<string[]> {
      const { gitDir } = platform.repository;
      const lines = ['commit refs/heads/pushed', 'committer E <e@example.com> 1800000000 +0000'];
      lines.push(`data 0\nfrom ${git(gitDir, ['rev-parse', 'main'])}`);
      for (const [path, text] of Object.entries(files)) {
        lines.push(`M 100644 inline ${path}`, `data ${Buffer.byteLength(text)}`, text);
      }
      git(gitDir, ['fast-import', '--quiet', '--force'], { input: `${lines.join('\n')}\n` });
      const verdict = await platform.push(git(gitDir, ['rev-parse', 'pushed']));
      return verdict.ok ? [] : [...verdict.lines];
    }

    test('is refused in a push, with its place and the command that seals it', async () => {
      const lines = await pushed({ [PATH]: manifest({ password: CLEAR }) });

      expect(lines[0]).toMatch(
        /^namespaces\/web\/sharedsecrets\/cdn\.yaml:8:15: spec\.data\.password: must not be in git as plaintext; seal it with "gitplane seal namespaces\/web\/sharedsecrets\/cdn\.yaml"/,
      );
      expect(lines.join('\n')).not.toContain(CLEAR);
      expect(found()).toBeUndefined();
    });

    test('is refused where only a commit on the way holds it', async () => {
      await platform.commit({ [PATH]: await sealed(manifest({ a: 'YQ==' }), ours.recipient) });
      const { gitDir } = platform.repository;
      const last = inGit();
      await pushed({ [PATH]: manifest({ password: CLEAR }) });
      const clear = git(gitDir, ['rev-parse', 'pushed']);
      const data = `data ${Buffer.byteLength(last)}\n${last}`;
      git(gitDir, ['fast-import', '--quiet', '--force'], {
        input: `commit refs/heads/pushed\ncommitter E <e@example.com> 1800000001 +0000\ndata 0\nfrom ${clear}\nM 100644 inline ${PATH}\n${data}\n`,
      });
      const verdict = await platform.push(git(gitDir, ['rev-parse', 'pushed']));

      expect(verdict.ok).toBe(false);
      expect(verdict.lines[0]).toMatch(/in commit [0-9a-f]{12}: spec\.data\.password: must not be/);
    });

    test('an unjudged plaintext secret is quarantined: the last good version is served', async () => {
      await create({ password: 'Z29vZA==' });
      await platform.commit({ [PATH]: manifest({ password: CLEAR }) });

      expect(dataOf()).toEqual({ password: 'Z29vZA==' });
      expect(conditions()).toMatchObject([{ type: 'Degraded', reason: 'ManifestInvalid' }]);
      expect(conditions()[0]?.message).toMatch(/must not be in git as plaintext/);
      expect(conditions()[0]?.message).not.toContain(CLEAR);
    });

    test('is refused after .sops.yaml is gone as well, and what is written is sealed for us', async () => {
      await platform.commit({ '.sops.yaml': null });

      expect(await pushed({ [PATH]: manifest({ password: CLEAR }) })).toHaveLength(2);
      await create({ password: CLEAR });
      expect(everything()).not.toContain(CLEAR);
    });

    test('a plaintext secret in an encrypted file is refused by every reader', async () => {
      const text = await sealed(manifest({ password: CLEAR }), ours.recipient);
      const lines = await pushed({ [PATH]: text.replace('  data:\n', '  data:\n    x: aGk=\n') });

      expect(lines[0]).toMatch(/spec\.data\.x: must be encrypted/);
    });
  });

  test('a write is refused where .sops.yaml leaves us out', async () => {
    await platform.commit({ '.sops.yaml': config(theirs.recipient) });
    const error = await refusal(create({ password: CLEAR }));

    expect(error.message).toMatch(
      /seals namespaces\/web\/sharedsecrets\/cdn\.yaml for others only/,
    );
    expect(error.message).toContain(ours.recipient);
  });

  test('a write is refused where .sops.yaml cannot be read', async () => {
    await platform.commit({ '.sops.yaml': 'creation_rules: [{kms: ABC}]\n' });
    const error = await refusal(create({ password: CLEAR }));

    expect(error.message).toMatch(/\.sops\.yaml cannot be used: 1:18: .* names keys of kms/);
  });

  test('a write does not vouch for values that another party put into the file', async () => {
    await create({ a: 'YQ==', b: 'Yg==' });
    await platform.commit({ [PATH]: inGit().replace(/\n {4}a: .*/, '') });
    expect(conditions()[0]?.message).toMatch(/the MAC does not fit/);

    const error = await refusal(rename());
    expect(error.message).toMatch(/must be repaired in git first/);
  });
});

describe('a sealed object without the key', () => {
  beforeEach(async () => {
    platform = await openTestPlatform({ keyring });
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
    await create({ password: CLEAR });
    platform = await platform.restart({
      keyring: await Keyring.open([theirs.identity]),
      disk: new Map(),
      rules: 'other keys',
    });
  });

  test('an object is listed without its values, and with the reason', () => {
    expect(found()?.spec).toEqual({ displayName: 'CDN', data: {} });
    expect(conditions()).toMatchObject([{ type: 'Degraded', reason: 'Unreadable' }]);
    expect(conditions()[0]?.message).toMatch(/sops: is sealed for age1\w+, and the key of none/);
  });

  test('nothing is overwritten', async () => {
    const before = inGit();
    const error = await refusal(rename());

    expect(error.code).toBe(409);
    expect(error.message).toMatch(/the file is sealed for/);
    expect(inGit()).toBe(before);
  });

  test('can be deleted', async () => {
    await remove();

    expect(found()).toBeUndefined();
  });

  test('is whole again when the key is back', async () => {
    platform = await platform.restart({ keyring, rules: 'rules' });

    expect(dataOf()).toEqual({ password: CLEAR });
    expect(conditions()).toEqual([]);
  });
});

test('the values served before the key was lost stay as long as the state', async () => {
  platform = await openTestPlatform({ keyring });
  await platform.commit({ '.sops.yaml': config(ours.recipient) });
  await create({ password: CLEAR });
  platform = await platform.restart({
    keyring: await Keyring.open([theirs.identity]),
    rules: 'other keys',
  });

  expect(dataOf()).toEqual({ password: CLEAR });
  expect(conditions()).toMatchObject([{ reason: 'Unreadable' }]);
});

describe('a repository from before', () => {
  beforeEach(async () => {
    platform = await openTestPlatform({ keyring });
    await platform.commit({ [PATH]: manifest({ password: CLEAR }) });
  });

  test('is served, and its objects say that they are not sealed', async () => {
    expect(dataOf()).toEqual({ password: CLEAR });
    expect(conditions()).toMatchObject([
      { type: 'Sealed', status: 'False', reason: 'SecretsInClear' },
    ]);
    platform = await platform.restart();
    await rename();
    expect(conditions()).toHaveLength(1);
  });

  test('begins to seal with .sops.yaml, and what was not touched is served on', async () => {
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
    expect(dataOf()).toEqual({ password: CLEAR });

    await rename();
    expect(inGit()).not.toContain(CLEAR);
    expect(dataOf()).toEqual({ password: CLEAR });
    expect(conditions()).toEqual([]);
  });

  test('remembers across a restart that it seals', async () => {
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
    platform = await platform.restart();
    await platform.commit({ [PATH]: manifest({ password: 'Z29vZA==' }) });

    expect(dataOf()).toEqual({ password: CLEAR });
  });
});

describe('a repository without .sops.yaml', () => {
  beforeEach(async () => {
    platform = await openTestPlatform({ keyring });
  });

  test('takes no write to a file that is encrypted for others too', async () => {
    const text = await sealed(manifest({ password: CLEAR }), ours.recipient, theirs.recipient);
    await platform.commit({ [PATH]: text });

    const error = await refusal(rename());
    expect(error.code).toBe(409);
    expect(error.message).toContain(`${PATH} is encrypted for ${theirs.recipient}`);
    expect(error.message).toContain(
      `gitplane seal --init --recipient ${ours.recipient} --recipient ${theirs.recipient}`,
    );
    expect(`${inGit()}\n`).toBe(text);
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
    await rename();
    expect(inGit()).not.toContain(theirs.recipient);
  });

  test('replaces a data key that another principal chose', async () => {
    const stranger = await Keyring.open([theirs.identity], { marks: true });
    const key = await stranger.make([ours.recipient]);
    const rule = ruleOfKeys(['data']);
    await platform.commit({
      [PATH]: sealText(manifest({ password: CLEAR }), { key, rule, now: 0 }),
    });

    await patch((object) => {
      object.spec.data.later = 'bmV3';
    });

    expect(await keyOf(inGit())).not.toEqual(key.dataKey);
    expect(dataOf()).toEqual({ password: CLEAR, later: 'bmV3' });
  });
});

describe('a configuration', () => {
  const raw = (text: string): string =>
    `apiVersion: ${API}\nkind: Config\nmetadata:\n  name: platform\nspec:\n  raw: |\n    ${text}\n`;

  beforeEach(async () => {
    platform = await openTestPlatform({ keyring });
    await platform.commit({ '.sops.yaml': config(ours.recipient) });
  });

  test.each([
    ['platformHost: a.example.com', true],
    ['auth: {providerA: {clientId: a, clientSecret: $CLIENT_SECRET}}', true],
    ['auth: {providerA: {clientId: a, clientSecret: hunter2}}', false],
    ['auth: {providerA: {clientSecret: hunter2', false],
  ])('%s in plaintext is taken: %s', async (text, taken) => {
    await platform.commit({ 'config/platform.yaml': raw(text) });

    expect(platform.names('config').length === 1).toBe(taken);
  });

  test('a configuration with a secret is encrypted by a write', async () => {
    const text = 'auth: {providerA: {clientId: a, clientSecret: hunter2}}\n';
    await platform.create('config', { metadata: { name: 'platform' }, spec: { raw: text } });

    expect(everything()).not.toContain('hunter2');
    expect(platform.find('config', 'platform')?.object.spec).toEqual({ raw: text });
  });
});

test('every kind says below which keys it holds secrets', () => {
  const keys = kinds.kinds.map((kind) => [kind.kind, secretKeys(kind)] as const);
  const holding = keys.filter(([, names]) => names.length > 0);
  const applied = 'kubectl.kubernetes.io/last-applied-configuration';

  expect(Object.fromEntries(holding)).toEqual({
    Config: ['raw', applied],
    User: ['passwordHash', applied],
    OwnedAccessKey: ['connectorData', 'idToken', 'accessToken', 'refreshToken', applied],
    SharedSecret: ['data', applied],
    ProjectSecret: ['data', applied],
  });
});

async function keyOf(text: string): Promise<Buffer> {
  const key = await keyring.dataKey(metadataOf(documentsOf(text))?.age ?? []);
  if (key === undefined) throw new Error('it does not open');
  return key;
}

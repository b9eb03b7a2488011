/** Rules of `.sops.yaml` for kinds without secret fields: what API writes encrypt by them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { encryptedFields } from '../../src/registry/projection/encrypted-fields.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf } from '../../src/sealing/open.ts';
import { documentsOf, sealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig, ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { findSops, Sops } from '../sealing/sops.ts';
import { git } from '../support/git.ts';
import {
  kindOf,
  openTestPlatform,
  type TestPlatform,
  team,
  writeOptions,
} from '../support/platform.ts';

const CANARY = 'canary-of-the-rule';
const PATH = 'teams/a.yaml';

let ours: Awaited<ReturnType<typeof makeIdentity>>;
let keyring: Keyring;
let platform: TestPlatform;

beforeAll(async () => {
  ours = await makeIdentity();
  keyring = await Keyring.open([ours.identity], { marks: true });
});
beforeEach(async () => {
  platform = await openTestPlatform({ keyring });
});

/** A `.sops.yaml` of these rules, each for this platform unless it names keys. */
function config(...rules: readonly string[]): string {
  const lines = rules.map((rule) =>
    rule.includes('kms') ? `  - { ${rule} }\n` : `  - { ${rule}, age: ${ours.recipient} }\n`,
  );
  return `creation_rules:\n${lines.join('')}`;
}

const inGit = (path = PATH): string => git(platform.repository.gitDir, ['show', `main:${path}`]);
const everything = (): string =>
  git(platform.repository.gitDir, ['log', 'main', '-p', '--format=%B']);
const specOf = (name = 'a'): unknown => platform.find('teams', name)?.object.spec;
const create = (name = 'a', spec: JsonObject = { displayName: CANARY }, metadata: object = {}) =>
  platform.create('teams', { metadata: { name, ...metadata }, spec });

function update(spec: JsonObject, name = 'a', plural = 'teams'): Promise<unknown> {
  return platform.registry.update({
    verb: 'patch',
    kind: kindOf(plural),
    namespace: '',
    name,
    duplicates: [],
    options: writeOptions,
    change: (current) => ({ ...structuredClone(current), spec }),
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

const DISPLAY_NAME = 'path_regex: ^teams/, encrypted_regex: ^displayName$';

describe('a rule for a kind without secret fields', () => {
  test('encrypts what a create writes, and the object is served in plaintext and masked elsewhere', async () => {
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME) });
    await create();

    expect(inGit()).toMatch(/displayName: ENC\[AES256_GCM,/);
    expect(inGit()).toContain('encrypted_regex: ^displayName$');
    expect(everything()).not.toContain(CANARY);
    expect(specOf()).toEqual({ displayName: CANARY });
    expect(encryptedFields(platform.find('teams', 'a'))).toEqual([['spec', 'displayName']]);
  });

  test('encrypts a plaintext file at its next write', async () => {
    await platform.commit({ [PATH]: team('a', { displayName: 'old' }) });
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME) });
    await update({ displayName: CANARY });

    expect(inGit()).toMatch(/displayName"?: ?"?ENC\[AES256_GCM,/);
    expect(everything()).not.toContain(CANARY);
    expect(specOf()).toEqual({ displayName: CANARY });
  });

  describe('keeps two objects of one file apart: it', () => {
    const values = (): readonly string[] => inGit().match(/ENC\[AES256_GCM,[^\]]*\]/g) ?? [];

    beforeEach(async () => {
      const objects = [team('a', { displayName: CANARY }), team('b', { displayName: 'own' })];
      const files = { '.sops.yaml': config(DISPLAY_NAME), [PATH]: objects.join('---\n') };
      await platform.commit(files);
      await update({ displayName: CANARY, description: 'encrypted' });
    });

    test('refuses the encrypted value of one in a write of the other', async () => {
      const [value = ''] = values();
      const { message } = await refusal(update({ displayName: value }, 'b'));
      expect(message).toContain('spec.displayName is an encrypted value; write it in plaintext');
      expect(specOf('b')).toEqual({ displayName: 'own' });
    });

    test('encrypts a value of both twice, so that a guess cannot be confirmed', async () => {
      await update({ displayName: CANARY }, 'b');
      const [one, , other] = values();
      expect([one, other]).toEqual([expect.any(String), expect.any(String)]);
      expect(other).not.toBe(one);
    });
  });

  test('encrypts every document of a file that a create is appended to', async () => {
    const other = team('b', { displayName: 'of another team' });
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME), [PATH]: other });
    await create();

    expect(inGit().match(/displayName"?: ?"?ENC\[AES256_GCM,/g)).toHaveLength(2);
    expect(inGit()).not.toContain(CANARY);
    expect([specOf('a'), specOf('b')]).toEqual([
      { displayName: CANARY },
      { displayName: 'of another team' },
    ]);
  });

  test('widens the rule of a file that encrypts less', async () => {
    const key = await keyring.make([ours.recipient]);
    const text = team('a', { displayName: 'x' });
    const sealed = sealText(text, { key, rule: ruleOfKeys(['nothing']), now: 0 });
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME), [PATH]: sealed });
    await update({ displayName: CANARY });

    expect(inGit()).toMatch(/encrypted_regex: .*\^displayName\$/);
    expect(everything()).not.toContain(CANARY);
    expect(specOf()).toEqual({ displayName: CANARY });
  });

  test.each<[string, string, JsonObject]>([
    ['a list', 'encrypted_regex: ^users$', { users: [CANARY, 'b'] }],
    ['a whole spec', 'unencrypted_regex: ^(apiVersion|kind|metadata)$', { displayName: CANARY }],
    ['names by their ends', 'encrypted_suffix: Name', { displayName: CANARY }],
  ])('encrypts %s', async (_, rule, spec) => {
    await platform.commit({ '.sops.yaml': config(rule) });
    await create('a', spec);

    expect(inGit()).toContain('ENC[AES256_GCM,');
    expect(everything()).not.toContain(CANARY);
    expect(specOf()).toEqual(spec);
  });

  test.each<[string, object]>([
    ['a label', { labels: { note: CANARY } }],
    ['an annotation', { annotations: { note: CANARY } }],
  ])('encrypts %s', async (_, metadata) => {
    await platform.commit({ '.sops.yaml': config('encrypted_regex: ^note$') });
    await create('a', { displayName: 'x' }, metadata);

    expect(everything()).not.toContain(CANARY);
    expect(platform.find('teams', 'a')?.object.metadata).toMatchObject(metadata);
  });

  test('encrypts the copy of the object that kubectl apply keeps', async () => {
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME) });
    const copy = JSON.stringify({ spec: { displayName: CANARY } });
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': copy };
    await create('a', { displayName: CANARY }, { annotations });

    expect(everything()).not.toContain(CANARY);
  });

  test('is kept by a rebuild, and by later writes', async () => {
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME) });
    await create('a', { displayName: CANARY, owner: { user: 'ann' } });
    const before = platform.find('teams', 'a')?.object.metadata.uid;
    platform = await platform.restart({ disk: new Map() });
    await update({ displayName: CANARY, owner: { user: 'bob' } });

    expect(everything()).not.toContain(CANARY);
    expect(platform.find('teams', 'a')?.object.metadata.uid).toBe(before);
    expect(specOf()).toEqual({ displayName: CANARY, owner: { user: 'bob' } });
  });
});

describe('plaintext', () => {
  test.each<[string, ...string[]]>([
    ['that matches another path', 'path_regex: ^users/, encrypted_regex: ^displayName$'],
    ['behind the first one that matches', 'encrypted_regex: ^purpose$', DISPLAY_NAME],
    ['that names no fields', 'path_regex: ^teams/'],
    ['of a cloud for another path', 'path_regex: ^charts/, kms: "arn:aws:kms:x"'],
  ])('is written beside a rule %s', async (_, ...rules) => {
    await platform.commit({ '.sops.yaml': config(...rules) });
    await create();

    expect(inGit()).not.toContain('sops');
    expect(specOf()).toEqual({ displayName: CANARY });
  });

  test('is written beside rules that gitplane made, also by kubectl apply', async () => {
    const files = [{ folder: 'sharedsecrets', keys: ['data', LAST_APPLIED] }];
    await platform.commit({ '.sops.yaml': formatSopsConfig(files, [ours.recipient]) });
    await create('a', { displayName: 'x' }, { annotations: { [LAST_APPLIED]: '{"spec":{}}' } });

    expect(inGit()).not.toContain('sops');
  });

  test('stays in a configuration without a secret: the kind decides about its own fields', async () => {
    await platform.commit({ '.sops.yaml': config('encrypted_regex: ^raw$') });
    const raw = 'platformHost: a.example.com\n';
    await platform.create('config', { metadata: { name: 'platform' }, spec: { raw } });

    expect(everything()).toContain('a.example.com');
  });
});

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

describe('a refusal', () => {
  test.each<[string, string, string]>([
    ['encrypts names', 'encrypted_regex: .*', 'encrypted_regex: ".*"'],
    ['encrypts kinds', 'unencrypted_regex: ^metadata$', 'unencrypted_regex: "^metadata$"'],
    ['needs the keys of a cloud', 'path_regex: ^teams/, kms: "arn:aws:kms:x"', 'keys of kms'],
    ['has a slow pattern', 'encrypted_regex: ^(a+)+$', 'repeats a group'],
  ])('names the rule that %s, and commits nothing', async (_, rule, named) => {
    await platform.commit({ '.sops.yaml': config(rule) });
    const before = git(platform.repository.gitDir, ['rev-parse', 'main']);
    const { code, message } = await refusal(create());

    expect(code).toBe(409);
    expect(message).toContain(named);
    expect(message).toContain('.sops.yaml');
    expect(message).not.toContain(CANARY);
    expect(git(platform.repository.gitDir, ['rev-parse', 'main'])).toBe(before);
  });

  test('spares secrets from a rule for names: their data alone is encrypted', async () => {
    await platform.commit({ '.sops.yaml': config('encrypted_regex: ^(data|name)$') });
    const spec = { data: { password: 'aHVudGVyMg==' } };
    await platform.create('sharedsecrets', { metadata: { name: 'cdn' }, spec }, 'web');

    const text = inGit('namespaces/web/sharedsecrets/cdn.yaml');
    expect(text).toMatch(/name: cdn[\s\S]*password: ENC\[/);
  });
});

const program = findSops();

describe.skipIf(program === undefined)('the real sops', () => {
  let sops: Sops;

  beforeEach(() => {
    sops = new Sops(program ?? '', mkdtempSync(join(tmpdir(), 'gitplane-sops-rules-')));
    onTestFinished(() => rmSync(sops.folder, { recursive: true, force: true }));
    sops.identities(ours.identity);
  });

  test.each([
    DISPLAY_NAME,
    'unencrypted_regex: ^(apiVersion|kind|metadata)$',
    'encrypted_suffix: Name',
  ])('encrypts the same fields by %s, and reads what the API wrote', async (rule) => {
    await platform.commit({ '.sops.yaml': config(rule) });
    await create('a', { displayName: CANARY, users: ['ann'] });
    const text = `${inGit()}\n`;
    writeFileSync(join(sops.folder, 'a.yaml'), text);

    const clear = sops.run('decrypt', 'a.yaml');
    expect(documentsOf(clear)[0]?.value).toMatchObject({
      metadata: { name: 'a' },
      spec: { displayName: CANARY, users: ['ann'] },
    });
    const yaml = config(rule);
    writeFileSync(join(sops.folder, '.sops.yaml'), yaml);
    writeFileSync(join(sops.folder, 'b.yaml'), clear);
    const named = sops.run('encrypt', '--filename-override', PATH, 'b.yaml');
    expect(encryptedKeys(named)).toEqual(encryptedKeys(text));
    expect(metadataOf(documentsOf(named))?.rule).toEqual(metadataOf(documentsOf(text))?.rule);
  });

  test('decrypts a file of several documents that the API appended to', async () => {
    const other = team('b', { displayName: 'of another team' });
    await platform.commit({ '.sops.yaml': config(DISPLAY_NAME), [PATH]: other });
    await create();
    writeFileSync(join(sops.folder, 'a.yaml'), `${inGit()}\n`);

    expect(sops.run('decrypt', 'a.yaml')).toContain(CANARY);
  });
});

function encryptedKeys(text: string): string[] {
  const body = text.slice(0, text.search(/^sops:/m));
  return [...body.matchAll(/^\s*(?:(\S+):|-) "?ENC\[/gm)].map(([, key = '-']) => key);
}

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { editDocument } from '../../src/manifests/edit.ts';
import { type FileKey, Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { openStream } from '../../src/sealing/open.ts';
import {
  documentsOf,
  Reuse,
  sealedComments,
  sealText,
  unsealText,
} from '../../src/sealing/seal.ts';
import { SealingError } from '../../src/sealing/sealing-error.ts';
import { runs } from '../support/properties.ts';
import { file, RULE } from './documents.ts';

const NOW = Date.parse('2026-01-02T03:04:05.678Z');
let ring: Keyring;
let key: FileKey;

beforeAll(async () => {
  const { identity, recipient } = await makeIdentity();
  ring = await Keyring.open([identity]);
  key = await ring.make([recipient]);
});

const SECRET = `# head
apiVersion: management.gitplane.dev/v1
kind: SharedSecret
metadata:
  name: registry # the name
spec:
  displayName: Registry
  # what is in it
  data: # three keys
    # the robot
    user: cm9ib3Q= # not ann
    password: "aHVudGVyMg=="
    # was: hunter1
    "123": 'MTIz'
    # last
  # who may read it
  access: []
`;

function seal(text: string, more: Partial<Parameters<typeof sealText>[1]> = {}): string {
  return sealText(text, { key, rule: RULE, now: NOW, ...more });
}

function open(text: string): ReturnType<typeof openStream> {
  return openStream({ text, documents: documentsOf(text) }, key.dataKey);
}

function problems(text: string): string[] {
  return open(text).documents.flatMap((document) =>
    document.problems.map(({ path, message }) => `${path.join('.')}: ${message}`),
  );
}

/** Lines of `after` that are not in `before`. */
function newLines(before: string, after: string): string[] {
  const old = new Set(before.split('\n'));
  return after.split('\n').filter((line) => !old.has(line));
}

describe('a sealed file', () => {
  test('holds no secret and no comment beside one', () => {
    const sealed = seal(SECRET);

    for (const word of [
      'cm9ib3Q=',
      'aHVudGVyMg',
      'MTIz',
      'hunter1',
      'robot',
      'not ann',
      '# last',
    ]) {
      expect(sealed).not.toContain(word);
    }
  });

  test('keeps every other line', () => {
    const sealed = seal(SECRET);

    for (const line of [
      '  name: registry # the name',
      '  # what is in it',
      '  # who may read it',
    ]) {
      expect(sealed.split('\n')).toContain(line);
    }
  });

  test('comes back as it was, comments included', () => {
    expect(unsealText(seal(SECRET), key.dataKey)).toBe(SECRET);
  });

  test('comes back with tens of thousands of comments, in time that follows their number', () => {
    const text = SECRET + '    # one of many\n'.repeat(20_000);
    expect(unsealText(seal(text), key.dataKey)).toBe(text);
  });

  test('is not changed by being sealed again', () => {
    const sealed = seal(SECRET);

    expect(seal(sealed, { now: NOW + 1e6 })).toBe(sealed);
  });

  test('seals the same text differently each time', () => {
    expect(seal(SECRET)).not.toBe(seal(SECRET));
  });
});

describe('a change', () => {
  test('a change of one value is a change of three lines', () => {
    const sealed = seal(SECRET);
    const opened = open(sealed);
    const clear = structuredClone(opened.documents[0]?.value) as JsonObject;
    (clear as { spec: { data: JsonObject } }).spec.data['user'] = 'YW5u';
    const reuse = new Reuse([...opened.sealed, ...sealedComments(sealed, RULE, key.dataKey)]);
    const edited = editDocument(unsealText(sealed, key.dataKey), 0, clear);

    const again = seal(edited, { reuse, now: NOW + 1000 });
    const lines = newLines(sealed, spliced(sealed, again)).map((line) => line.trim().split(':')[0]);

    expect(lines).toEqual(['user', 'lastmodified', 'mac']);
  });

  test('a change of plaintext values leaves the MAC alone', () => {
    const sealed = seal(SECRET);
    const edited = sealed.replace('Registry', 'The registry');

    expect(seal(edited, { now: NOW + 1e6 })).toBe(edited);
    expect(problems(edited)).toEqual([]);
  });
});

/** What `gitplane edit` does: the metadata of the file before stays where it still fits. */
function spliced(before: string, after: string): string {
  const [old, next] = [before, after].map((text) => text.indexOf('\nsops:'));
  const block = after.slice(next);
  const enc = /enc: \|\n(?:\s{8}.*\n)+/;
  expect(enc.exec(block)?.[0]).toBe(enc.exec(before.slice(old))?.[0]);
  return after;
}

describe('tampering is reported without any value', () => {
  const sealedOnce = (): string => seal(SECRET);
  const userLine = /\n {4}user: .*/;
  test.each<[string, (text: string) => string, RegExp]>([
    [
      'a key that was renamed',
      (t) => t.replace('    user:', '    user2:'),
      /spec\.data\.user2: does not open/,
    ],
    ['a key that was removed', (t) => t.replace(userLine, ''), /sops\.mac: the MAC does not fit/],
    [
      'a value that was changed',
      (t) => t.replace(/(user: ENC\[AES256_GCM,data:)./, '$1_'),
      /spec\.data\.user: must be encrypted/,
    ],
    [
      'a clear value',
      (t) => t.replace(userLine, '\n    user: aHVudGVyMg=='),
      /spec\.data\.user: must be encrypted/,
    ],
    [
      'a key that was added',
      (t) => t.replace('    user:', '    new: YQ==\n    user:'),
      /spec\.data\.new: must be encrypted/,
    ],
    ['another time', (t) => t.replace('03:04:05', '03:04:06'), /sops\.mac: the MAC does not open/],
    ['no MAC', (t) => t.replace(/\n {2}mac: .*/, ''), /sops: has no mac/],
    [
      'two rules',
      (t) => t.replace('\n  mac: ', '\n  encrypted_suffix: x\n  mac: '),
      /sops: has more than one rule/,
    ],
    [
      'a rule that takes long',
      (t) => t.replace('^(data|secret)$', '^(a+)+$'),
      /sops: the pattern .* repeats a group/,
    ],
  ])('%s', (_, change, expected) => {
    const found = problems(change(sealedOnce()));

    expect(found.join('\n')).toMatch(expected);
    expect(found.join('\n')).not.toContain('aHVudGVyMg');
  });

  test('values that changed places do not pass', () => {
    const text = seal('kind: A\ndata:\n  list: [one, two]\n');
    const [a = '', b = ''] = text.match(/ENC\[[^\]]*\]/g) ?? [];
    const swapped = text.replace(a, '@').replace(b, a).replace('@', b);

    expect(problems(swapped)).toEqual([expect.stringContaining('sops.mac: the MAC does not fit')]);
  });

  test('a value of another file does not pass', () => {
    const other = seal(SECRET.replace('cm9ib3Q=', 'b3RoZXI='));
    const line = userLine.exec(other)?.[0] ?? '';

    expect(problems(sealedOnce().replace(userLine, line))).toHaveLength(1);
  });
});

describe('keys', () => {
  test('a file opens for each of its recipients, and for no other key', async () => {
    const [ann, bob, eve] = await Promise.all([makeIdentity(), makeIdentity(), makeIdentity()]);
    const shared = await ring.make([ann.recipient, bob.recipient]);
    const rings = await Promise.all(
      [ann, bob, eve].map(({ identity }) => Keyring.open([identity])),
    );

    const opened = await Promise.all(rings.map((one) => one.dataKey(shared.age)));

    expect(opened.map((dataKey) => dataKey?.equals(shared.dataKey))).toEqual([
      true,
      true,
      undefined,
    ]);
  });

  test('a document shows its plaintext parts without a key', () => {
    const sealed = seal(SECRET);
    const closed = openStream({ text: sealed, documents: documentsOf(sealed) }, undefined);

    expect(closed.unreadable).toMatch(/is sealed for age1\w+, and the key of none of them is here/);
    expect(closed.documents[0]?.value).toMatchObject({
      metadata: { name: 'registry' },
      spec: { displayName: 'Registry', data: {}, access: [] },
    });
  });

  test.each(['ssh-ed25519 AAAA', 'age1xyz', ''])('%j is no recipient', async (recipient) => {
    await expect(ring.make([recipient])).rejects.toThrow(SealingError);
  });
});

describe('random files', () => {
  test('come back with the same values, and unchanged where nothing is sealed', () => {
    fc.assert(
      fc.property(file, (text) => {
        const sealed = seal(text);
        const clear = unsealText(sealed, key.dataKey);
        const values = (of: string): unknown[] => documentsOf(of).map(({ value }) => value);

        expect(values(clear)).toEqual(values(text));
        expect(seal(sealed, { now: NOW + 1e6 })).toBe(sealed);
      }),
      { numRuns: runs(80) },
    );
  });

  test('a reader that has lost one character of a sealed value reports it', () => {
    fc.assert(
      fc.property(file, fc.nat(), (text, at) => {
        const sealed = seal(text);
        // Each document has the metadata, and the first one counts.
        const places = [...sealed.matchAll(/(?<!mac: )ENC\[AES256_GCM,data:/g)];
        fc.pre(places.length > 0);
        const place = places[at % places.length];
        const offset = (place?.index ?? 0) + (place?.[0].length ?? 0);
        const other = sealed[offset] === 'A' ? 'B' : 'A';
        const spoilt = sealed.slice(0, offset) + other + sealed.slice(offset + 1);

        expect(problems(spoilt).length).toBeGreaterThan(0);
      }),
      { numRuns: runs(80) },
    );
  });
});

describe('a file that this platform does not open', () => {
  const block = (keys: string): string =>
    `kind: X\ndata: ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]\nsops:\n  ${keys}\n  lastmodified: "2026-01-01T00:00:00Z"\n  mac: x\n  version: 3.13.2\n`;
  const groups = (...all: readonly string[]): string => `key_groups: [${all.join(', ')}]`;

  test.each([
    ['kms: [{arn: x, enc: x}]', /is sealed for no age recipient; other kinds of keys/],
    ['gcp_kms: [{resource_id: x, enc: x}]', /is sealed for no age recipient; other kinds of keys/],
    ['azure_kv: [{vault_url: x, enc: x}]', /is sealed for no age recipient; other kinds of keys/],
    [
      'hc_vault: [{vault_address: x, enc: x}]',
      /is sealed for no age recipient; other kinds of keys/,
    ],
    [groups('{age: []}', '{kms: []}'), /has several key groups, which are not supported/],
    [groups('{age: []}', '{hc_vault: []}'), /has several key groups, which are not supported/],
    [`shamir_threshold: 2\n  ${groups('{age: []}', '{pgp: []}')}`, /has several key groups/],
    ['pgp: [{fp: ABC, enc: x}]', /is sealed for the PGP keys ABC alone/],
  ])('reports it at its sops block: %s', (keys, expected) => {
    const text = block(keys);
    const { documents } = openStream({ text, documents: documentsOf(text) }, undefined);

    const [problem] = documents.flatMap(({ problems }) => problems);
    expect(problem?.path).toEqual(['sops']);
    expect(problem?.message).toMatch(expected);
  });
});

/** Annotations that tie a secret to the store. */
import { describe, expect, test } from 'vitest';
import { formatFieldError } from '../../../src/apimachinery/field-error.ts';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { mentionsLink, storeLinkOf } from '../../../src/kinds/secrets/store-link.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';
import { DEFAULT_POLICY } from '../../../src/secrets-merge/policy.ts';

const PREFIX = 'gitplane.dev/secret-store-';
const TIED = { 'kv-mount-path': 'secret', 'kv-secret-path': 'app/mail' };
const kinds = buildKindTable('management.gitplane.dev').kinds;

function secret(annotations: Readonly<Record<string, string>>): KubeObject {
  const named = Object.entries(annotations).map(([name, text]) => [PREFIX + name, text]);
  return {
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'SharedSecret',
    metadata: { name: 'mail', namespace: 'default', annotations: Object.fromEntries(named) },
    spec: {},
  };
}

function kind(name: string) {
  const found = kinds.find((one) => one.kind === name);
  if (found === undefined) throw new Error(`There is no kind ${name}`);
  return found;
}

const shared = kind('SharedSecret');

function problems(annotations: Readonly<Record<string, string>>): string[] {
  return shared.validate(secret(annotations), undefined).map(formatFieldError);
}

test('a mount and a path tie a secret to the store, which is only read', () => {
  const link = storeLinkOf(
    shared,
    secret({ 'kv-mount-path': '/secret/', 'kv-secret-path': 'app/mail' }),
  );

  expect(link).toEqual({
    store: 'default',
    mount: 'secret',
    path: 'app/mail',
    policy: DEFAULT_POLICY,
  });
  expect(link?.policy.direction).toBe('Pull');
  expect(problems(TIED)).toEqual([]);
});

test('every policy has an annotation', () => {
  const link = storeLinkOf(
    shared,
    secret({
      ...TIED,
      'kv-version': 'kv2',
      direction: 'both',
      adopt: 'prefer-git',
      conflict: 'prefer-store',
      merge: 'user,password;cert,key',
      'deletion-in-git': 'soft-delete',
      'deletion-in-store': 'delete',
      'foreign-keys': 'ignore',
      resolve: 'store@7',
      'sync-interval': '1h30m',
    }),
  );

  expect(link).toEqual({
    store: 'default',
    mount: 'secret',
    path: 'app/mail',
    intervalMs: 5_400_000,
    version: 2,
    resolution: { winner: 'store', id: '7' },
    policy: {
      direction: 'Both',
      adopt: 'PreferGit',
      conflict: 'PreferStore',
      merge: [
        ['user', 'password'],
        ['cert', 'key'],
      ],
      deletionInGit: 'SoftDelete',
      deletionInStore: 'Delete',
      foreignKeys: 'Ignore',
    },
  });
});

test('a secret without the annotations follows nothing', () => {
  expect(storeLinkOf(shared, secret({}))).toBeUndefined();
  expect(mentionsLink(Buffer.from(JSON.stringify(secret({}))))).toBe(false);
  expect(mentionsLink(Buffer.from(JSON.stringify(secret(TIED))))).toBe(true);
});

test('a kind that follows nothing has no link, with any annotations', () => {
  expect(storeLinkOf(kind('Team'), secret(TIED))).toBeUndefined();
});

describe('refused is', () => {
  test.each([
    ['a mount without a path', { 'kv-mount-path': 'secret' }, 'kv-secret-path"]: Required value'],
    ['a path without a mount', { 'kv-secret-path': 'a' }, 'kv-mount-path"]: Required value'],
    ['a policy without a place', { direction: 'push' }, 'kv-mount-path"]: Required value'],
    ['a name nobody knows', { ...TIED, dirction: 'both' }, 'unknown annotation'],
    ['a direction nobody knows', { ...TIED, direction: 'Sideways' }, '"pull", "push", "both"'],
    ['a version nobody knows', { ...TIED, 'kv-version': '2' }, '"kv1", "kv2"'],
    ['a path upwards', { ...TIED, 'kv-secret-path': 'a/../../sys/mounts' }, 'no part "." or ".."'],
    ['a path with a query', { ...TIED, 'kv-secret-path': 'a?list=true' }, 'none of "?"'],
    ['a path with a hidden query', { ...TIED, 'kv-secret-path': 'a%3Flist' }, 'none of "?"'],
    ['a wild card', { ...TIED, 'kv-secret-path': 'team/*' }, 'none of "?"'],
    ['a path that ends in a period', { ...TIED, 'kv-secret-path': 'a.' }, 'with a period'],
    ['the store itself', { ...TIED, 'kv-mount-path': 'sys' }, 'is not a KV engine'],
    ['tokens as a mount', { ...TIED, 'kv-mount-path': '/auth/token' }, 'is not a KV engine'],
    ['a group of one key', { ...TIED, merge: 'user' }, 'groups of at least two keys'],
    ['a key in two groups', { ...TIED, merge: 'a,b;b,c' }, 'each key once'],
    ['no interval', { ...TIED, 'sync-interval': 'soon' }, 'a duration of at least one second'],
    ['too short an interval', { ...TIED, 'sync-interval': '10ms' }, 'at least one second'],
    ['a short commit', { ...TIED, resolve: 'git@abc' }, 'must be git@<commit>'],
    [
      'to delete where nothing is pushed',
      { ...TIED, 'deletion-in-git': 'soft-delete' },
      'needs a direction',
    ],
    [
      'a soft delete where there is none',
      { ...TIED, direction: 'push', 'kv-version': 'kv1', 'deletion-in-git': 'soft-delete' },
      'KV v1 has no soft delete',
    ],
  ])('%s', (_what, annotations, words) => {
    expect(problems(annotations).join('\n')).toContain(words);
    expect(storeLinkOf(shared, secret(annotations))).toBeUndefined();
  });
});

/**
 * Two access rules whose SHA-256 digests begin with the same 40 bits. Grants were told apart by
 * these 40 bits once. The pair was found by hashing 1,500,000 rules of the first form (`a<number>`
 * counted up from 0) into a table, and then rules of the second form (`b<number>`) until one had its
 * first ten digits in the table: 1,773,479 digests, 7 s on one core.
 */
import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { accessGrants, grantName } from '../../../src/kinds/access/access-grants.ts';
import {
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';
import { kindOf } from '../../support/platform.ts';

const NAMESPACE = 'storefront';
const HELD = { verbs: ['update', 'patch'], users: ['eve', 'a950395'] };
const WANTED = { verbs: ['get'], users: ['eve', 'b273084'] };
const SECRETS = kindOf('sharedsecrets');

function secret(...access: readonly object[]): KubeObject {
  const spec = { displayName: 'CDN', access };
  return object('SharedSecret', 'cdn', { spec }, NAMESPACE) as KubeObject;
}

/** The digest that was part of the name of a grant. */
function digestOf({ verbs, users }: typeof HELD): string {
  const rule = {
    apiGroups: [SECRETS.group],
    resources: ['sharedsecrets'],
    resourceNames: ['cdn'],
    verbs,
  };
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = users.map((name) => ({ kind: 'User', apiGroup, name }));
  const text = JSON.stringify([NAMESPACE, rule, subjects]);
  return createHash('sha256').update(text).digest('hex');
}

test('the two rules have 40 bits of their digests in common, and no more than that', () => {
  const [one, other] = [digestOf(HELD), digestOf(WANTED)];
  expect(one.slice(0, 10)).toBe('88777240f6');
  expect(other.slice(0, 10)).toBe('88777240f6');
  expect(one).not.toBe(other);
});

describe('a rule whose short digest is that of a rule that exists', () => {
  let at: GuardedPlatform;
  let eve: string;

  beforeEach(async () => {
    at = await openGuardedPlatform();
    await at.give(
      object('User', 'eve', { spec: {} }),
      secret(HELD),
      ...grant('eve', 'update,patch sharedsecrets', 'User:eve'),
    );
    eve = await at.giveKey('eve', { user: 'eve' });
  });

  test('is refused in a push', async () => {
    const outcome = await at.push(eve, filesOf([secret(WANTED)]));
    expect(outcome.code).toBe(403);
    expect(outcome.text).toContain('not currently held');
    expect(at.may(eve, 'get', 'sharedsecrets', 'cdn', NAMESPACE)).toBe(false);
  });

  test('is refused by the API', () => {
    const user = at.who(eve);
    const change = { user, kind: SECRETS, object: secret(WANTED), old: secret(HELD) };
    expect(at.objection(change)?.message).toContain('not currently held');
  });

  test('grants beside it, under a name of its own', () => {
    const grants = accessGrants(SECRETS, secret(HELD, WANTED));
    expect(grants.map(({ rule }) => rule.verbs)).toEqual([HELD.verbs, WANTED.verbs]);
    const names = grants.map((one) => grantName(SECRETS, 'cdn', one));
    expect(new Set(names).size).toBe(2);
  });
});

test('rules that grant the same are one grant, shown under the title of the first', () => {
  const rules = [
    { ...HELD, name: 'first' },
    { ...HELD, name: 'second' },
  ];
  expect(accessGrants(SECRETS, secret(...rules)).map(({ title }) => title)).toEqual(['first']);
});

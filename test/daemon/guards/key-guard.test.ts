/** What no access key may be: the key of another object, or one that a commit dates to the future. */
import { beforeEach, describe, expect, test } from 'vitest';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/access-key-secret.ts';
import {
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const DAY = 86_400;

let at: GuardedPlatform;
let now: number;
/** A key of an administrator. */
let root: string;

beforeEach(async () => {
  now = NOW;
  at = await openGuardedPlatform({ now: () => now }, { accessKeyMaxTTLSeconds: 30 * DAY });
  await at.give(
    object('User', 'root', { spec: {} }),
    object('User', 'eve', { spec: {} }),
    ...grant('root', '* *', 'User:root'),
    ...grant('eve', '* ownedaccesskeys', 'User:eve'),
  );
  root = await at.giveKey('root', { user: 'root' });
});

function key(name: string, user: string, token: string): object {
  return object('OwnedAccessKey', name, { spec: { user, key: concealAccessKey(token) } });
}

describe('the hash of a key that is in use cannot be taken into another object', () => {
  test.each([
    ['of today', 0],
    ['dated back to before that key was made', 10 * 365 * DAY * 1000],
  ])('by a commit %s', async (_when, age) => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    const outcome = await at.push(eve, filesOf([key('aaa', 'eve', root)]), now - age);
    expect(outcome.code).toBe(403);
    expect(outcome.text).toContain('spec.key: Invalid value: is the key of another object');
    expect(at.who(root).name).toBe('root');
  });

  test('through the API, in clear or as a hash, by a create or a change', async () => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    for (const text of [root, concealAccessKey(root)]) {
      const body = { metadata: { name: 'aaa' }, spec: { user: 'eve', key: text } };
      expect((await at.create(eve, 'ownedaccesskeys', body)).code).toBe(422);
      const patched = await at.patch(eve, 'ownedaccesskeys', 'eve', ({ spec }) => {
        spec.key = text;
      });
      expect(patched.code).toBe(422);
      expect(patched.text).not.toContain(root);
    }
    expect([at.who(root).name, at.who(eve).name]).toEqual(['root', 'eve']);
  });

  test('while an object keeps its own, and a key that is gone can come back', async () => {
    const keep = await at.patch(root, 'ownedaccesskeys', 'root', ({ spec }) => {
      spec.key = root;
      spec.displayName = 'the same';
    });
    expect(keep.code, keep.text).toBe(200);
    const old = await at.giveKey('old', { user: 'root' });
    expect((await at.delete(root, 'ownedaccesskeys', 'old')).code).toBe(200);
    const back = await at.push(root, filesOf([key('back', 'root', old)]));
    expect(back.code, back.text).toBe(200);
    expect(at.who(old).accessKey).toBe('back');
  });
});

describe('a key that a commit dates to the future', () => {
  test.each([
    ['within the difference that clocks may have', 4 * MINUTE, 200],
    ['beyond it', 6 * MINUTE, 403],
    ['by years', 3 * 365 * DAY * 1000, 403],
  ])('%s', async (_claim, ahead, code) => {
    const files = filesOf([key('late', 'root', mintAccessKey('gpu'))]);
    const outcome = await at.push(root, files, now + ahead);
    expect(outcome.code, outcome.text).toBe(code);
    if (code === 403) expect(outcome.text).toContain('dated in the future');
  });

  test('does not work before its time where nobody judged it, and no longer than the maximum after', async () => {
    const token = mintAccessKey('gpu');
    // As a followed branch may bring it; commits of the operator are all of one time.
    await at.give(key('late', 'root', token));
    now = NOW - 20 * DAY * 1000;
    expect(() => at.who(token)).toThrow(
      'access key was made in the future, at 2023-11-14T22:13:20Z',
    );
    expect(at.access.keyWorks('late')).toBe(false);
    now = NOW;
    expect(at.who(token).name).toBe('root');
    now = NOW + 31 * DAY * 1000;
    expect(() => at.who(token)).toThrow('access key expired');
  });

  test.each(['metadata', 'status'])(
    'by its %s is dated by its commit all the same',
    async (where) => {
      const token = mintAccessKey('gpu');
      const late = '2040-01-01T00:00:00Z';
      const made = key('forged', 'root', token) as { metadata: object; status?: object };
      if (where === 'metadata') Object.assign(made.metadata, { creationTimestamp: late, uid: 'x' });
      else made.status = { lastActivity: late };
      await at.push(root, filesOf([made]));
      now = NOW + 31 * DAY * 1000;
      expect(() => at.who(token)).toThrow(/expired|Unauthorized/);
    },
  );
});

describe('who a provider vouched for', () => {
  const identity = { connector: 'oidc', userId: '1' };

  test.each([
    ['an identity', identity],
    ['what a refresh is made with', { ...identity, connectorData: '{"userId":"1"}' }],
  ])('%s is written by the platform alone', async (_what, forged) => {
    const spec = { user: 'eve', identity: forged };
    const eve = await at.giveKey('eve', { user: 'eve' });
    const made = await at.create(
      eve,
      'ownedaccesskeys',
      object('OwnedAccessKey', 'forged', { spec }),
    );
    expect(made).toMatchObject({ code: 422 });
    expect(made.text).toContain('spec.identity');
    const changed = await at.patch(eve, 'ownedaccesskeys', 'eve', (key) => {
      key.spec.identity = forged;
    });
    expect(changed).toMatchObject({ code: 422 });
    const pushed = await at.push(eve, filesOf([object('OwnedAccessKey', 'eve', { spec })]));
    expect(pushed.code).toBe(403);
  });
});

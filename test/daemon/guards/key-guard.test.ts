/** What no access key may be: the key of another object, or one that a commit dates to the future. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { SUPERUSER_GROUP } from '../../../src/apimachinery/request.ts';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import { GITPLANE } from '../../../src/registry/writes/system-writes.ts';
import { foreignCommit } from '../../support/git.ts';
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
  ])('refuses the commit: %s', async (_when, age) => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    const outcome = await at.push(eve, filesOf([key('aaa', 'eve', root)]), now - age);
    expect(outcome.code).toBe(403);
    expect(outcome.text).toContain('spec.key: Invalid value: is the key of another object');
    expect(at.who(root).name).toBe('root');
  });

  test('refuses the hash through the API, in clear or hashed, by create and update', async () => {
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

  test('allows an object to keep its own hash, and a removed key to come back', async () => {
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

  // covers: envelope.status metadata.creationTimestamp.readOnly
  test.each(['metadata', 'status'])('a key is dated by its commit, for any %s', async (where) => {
    const token = mintAccessKey('gpu');
    const late = '2040-01-01T00:00:00Z';
    const made = key('forged', 'root', token) as { metadata: object; status?: object };
    if (where === 'metadata') Object.assign(made.metadata, { creationTimestamp: late, uid: 'x' });
    else made.status = { lastActivity: late };
    await at.push(root, filesOf([made]));
    now = NOW + 31 * DAY * 1000;
    expect(() => at.who(token)).toThrow(/expired|Unauthorized/);
  });
});

describe('identity from a provider', () => {
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

describe('fields of a key that the platform alone writes', () => {
  const annotated = (name: string, value = '9'): object => ({
    metadata: { annotations: { [`gitplane.dev/${name}`]: value } },
  });
  const OWN: [string, object, string][] = [
    ...['Login', 'OIDCRefreshToken', 'Reset', 'NetworkPeer', 'Workspace'].map(
      (type): [string, object, string] => [`the type ${type}`, { spec: { type } }, 'spec.type'],
    ),
    [
      'a client of the OpenID provider',
      { spec: { oidcProvider: { clientId: 'c' } } },
      'spec.oidcProvider',
    ],
    ['tokens of a login', { spec: { oidcLogin: { idToken: 'x' } } }, 'spec.oidcLogin'],
    // covers: OwnedAccessKey.spec.parent
    ['a key to share a login with', { spec: { parent: 'root' } }, 'spec.parent'],
    [
      'the time of a refresh',
      { spec: { identityRefresh: '2023-01-01T00:00:00Z' } },
      'spec.identityRefresh',
    ],
    ['the version of a password', annotated('password-version'), 'gitplane.dev/password-version'],
    ['the time of a login', annotated('oidc-signed-in-at'), 'gitplane.dev/oidc-signed-in-at'],
    ['the uid of a user', annotated('oidc-user-uid'), 'gitplane.dev/oidc-user-uid'],
    [
      'a token generation',
      annotated('oidc-token-generation'),
      'gitplane.dev/oidc-token-generation',
    ],
  ];

  function keyWith(name: string, fields: object, token = mintAccessKey('gpu')): object {
    const { metadata = {}, spec = {} } = fields as { metadata?: object; spec?: object };
    const made = key(name, 'eve', token) as { metadata: object; spec: object };
    return {
      ...made,
      metadata: { ...made.metadata, ...metadata },
      spec: { ...made.spec, ...spec },
    };
  }

  function withoutKey(of: object): object {
    const { spec, ...rest } = of as { spec: { key?: string } };
    const { key: _key, ...others } = spec;
    return { ...rest, spec: others };
  }

  // covers: OwnedAccessKey.spec.type
  test.each(OWN)('%s can be set by no other user', async (_what, fields, path) => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    const made = await at.create(eve, 'ownedaccesskeys', withoutKey(keyWith('made', fields)));
    expect(made).toMatchObject({ code: 422, text: expect.stringContaining(path) });
    const changed = await at.patch(eve, 'ownedaccesskeys', 'eve', (it) => {
      const { metadata, spec } = keyWith('eve', fields, eve) as { metadata: object; spec: object };
      Object.assign(it.metadata, metadata);
      const { key: _key, ...others } = spec as { key: string };
      Object.assign(it.spec, others);
    });
    expect(changed).toMatchObject({ code: 422, text: expect.stringContaining(path) });
    for (const name of ['eve', 'pushed']) {
      const token = name === 'eve' ? eve : mintAccessKey('gpu');
      const pushed = await at.push(eve, filesOf([keyWith(name, fields, token)]));
      expect(pushed).toMatchObject({ code: 403, text: expect.stringContaining(path) });
    }
  });

  test.each(OWN)('%s stays where it is, and cannot be taken away', async (_what, fields) => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    const token = mintAccessKey('gpu');
    // As a repository has it that was restored, or that another version wrote.
    await at.give(keyWith('restored', fields, token));
    const shown = { ...fields, spec: { ...(fields as { spec?: object }).spec, displayName: 'x' } };
    const pushed = await at.push(eve, filesOf([keyWith('restored', shown, token)]));
    expect(pushed.code, pushed.text).toBe(200);
    const patched = await at.patch(eve, 'ownedaccesskeys', 'restored', ({ spec }) => {
      spec.displayName = 'y';
    });
    expect(patched.code, patched.text).toBe(200);
    const taken = await at.push(eve, filesOf([key('restored', 'eve', token)]));
    expect(taken.code).toBe(403);
    expect((await at.delete(eve, 'ownedaccesskeys', 'restored')).code).toBe(200);
  });

  test('an administrator sets none of it, and the platform and the operator all of it', async () => {
    for (const [index, [what, fields, path]] of OWN.entries()) {
      const made = keyWith(`key-${index}`, fields) as KubeObject;
      const { kind, old } = { kind: at.kindOf('ownedaccesskeys'), old: undefined };
      const refused = at.objection({ user: at.who(root), kind, object: made, old });
      expect(refused?.message, what).toContain(path);
      expect(at.objection({ user: GITPLANE, kind, object: made, old }), what).toBeUndefined();
    }
    const files = filesOf(OWN.map(([, fields], index) => keyWith(`key-${index}`, fields)));
    const pushed = foreignCommit(at.platform.repository.gitDir, { files });
    const operator = { name: 'operator', groups: [SUPERUSER_GROUP] };
    expect(await at.platform.push(pushed, operator)).toMatchObject({ ok: true });
  });

  test.each(['', 'User', 'Other'])('the type %j is for every user', async (type) => {
    const eve = await at.giveKey('eve', { user: 'eve' });
    const made = await at.create(
      eve,
      'ownedaccesskeys',
      withoutKey(keyWith('made', { spec: { type } })),
    );
    expect(made.code, made.text).toBe(200);
  });
});

/** Keys of a user or team that is gone, when another one gets the name. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startKeyOwners } from '../../../src/controllers/key-owners.ts';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import { conditionsOf } from '../../../src/registry/projection/served-object.ts';
import type { Connector, ProvidedIdentity } from '../../../src/sign-in/connector.ts';
import { teamNameOf } from '../../../src/sign-in/names.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { foreignCommit } from '../../support/git.ts';
import {
  fileOf,
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';
import { kindOf, kinds, openTestPlatform } from '../../support/platform.ts';
import { openSignInPlatform, type SignInPlatform } from '../../support/sign-in-platform.ts';

const REPLACED = /was made for is gone, and another one has its name/;

let at: GuardedPlatform;

/** Takes the manifests away, as a commit of the operator. */
async function take(...objects: object[]): Promise<void> {
  await at.platform.commit(Object.fromEntries(objects.map((it) => [fileOf(it), null])));
}

const ADA = object('User', 'ada');
const OPS = object('Team', 'ops', { spec: { users: ['bob'] } });

describe('a key whose owner is another one of the same name', () => {
  beforeEach(async () => {
    at = await openGuardedPlatform();
    await at.give(object('User', 'bob'), ADA, OPS, ...grant('read', '* *', 'User:ada'));
  });

  test.each([
    ['user', { user: 'ada' }, ADA],
    ['team', { team: 'ops' }, OPS],
  ])('does not work, though it did for its own %s', async (_what, spec, owner) => {
    const key = await at.giveKey('old', spec);
    expect(() => at.who(key)).not.toThrow();
    await take(owner);
    expect(() => at.who(key)).toThrow(/does not exist/);
    await at.give(owner);
    expect(() => at.who(key)).toThrow(REPLACED);
    expect(at.access.keyWorks('old')).toBe(false);
    const made = await at.giveKey('new', spec);
    expect(() => at.who(made)).not.toThrow();
  });

  test('is dead in every replica and after the state is lost', async () => {
    const key = await at.giveKey('old', { user: 'ada' });
    await take(ADA);
    await at.give(ADA);
    const cold = await openTestPlatform({ repository: at.platform.repository });
    const hidden = (of: typeof cold): unknown => of.find('ownedaccesskeys', 'old')?.hidden;
    expect(hidden(cold)).toEqual(hidden(at.platform));
    expect(() => at.who(key)).toThrow(REPLACED);
  });

  test('works again with a new text, and never with the old one', async () => {
    const admin = await at.giveKey('root', { user: 'bob' });
    await at.give(...grant('all', '* *', 'User:bob'));
    const key = await at.giveKey('old', { user: 'ada' });
    await take(ADA);
    await at.give(ADA);
    const text = mintAccessKey('gpu');
    const { code } = await at.patch(admin, 'ownedaccesskeys', 'old', ({ spec }) => {
      spec.key = text;
    });
    expect(code).toBe(200);
    expect(at.who(text).name).toBe('ada');
    expect(() => at.who(key)).toThrow('Unauthorized');
  });

  describe('stays dead', () => {
    let key: string;
    let clerk: string;
    const fileOfKey = (spec: object): Record<string, string> =>
      filesOf([object('OwnedAccessKey', 'old', { spec: { user: 'ada', ...spec } })]);

    beforeEach(async () => {
      clerk = await at.giveKey('clerk', { user: 'bob' });
      await at.give(...grant('keys', '* ownedaccesskeys', 'User:bob'));
      key = await at.giveKey('old', { user: 'ada' });
      await take(ADA);
      await at.give(ADA);
    });

    test('stays dead when a user labels or describes it', async () => {
      const spec = { user: 'ada', key: concealAccessKey(key), description: 'kept' };
      const metadata = { name: 'old', labels: { a: 'b' } };
      await at.give({ ...object('OwnedAccessKey', 'old', { spec }), metadata });
      expect(() => at.who(key)).toThrow(REPLACED);
    });

    test('stays dead when a user without the right to impersonate writes it', async () => {
      const { code } = await at.patch(clerk, 'ownedaccesskeys', 'old', ({ spec }) => {
        spec.key = mintAccessKey('gpu');
      });
      expect(code).toBe(403);
      expect(() => at.who(key)).toThrow(REPLACED);
    });

    test('stays dead when a push changes its text and changes it back', async () => {
      const { gitDir } = at.platform.repository;
      const other = concealAccessKey(mintAccessKey('gpu'));
      const changed = foreignCommit(gitDir, { files: fileOfKey({ key: other }) });
      const files = fileOfKey({ key: concealAccessKey(key) });
      const newId = foreignCommit(gitDir, { files, parents: [changed] });
      const verdict = await at.platform.push(newId, at.who(clerk));
      expect(verdict.lines.join(' ')).toMatch(/it takes the verb impersonate/);
      expect(() => at.who(key)).toThrow(REPLACED);
    });
  });

  test('reports it to kubectl, until it is written again', async () => {
    const { platform, access } = at;
    const { store, branch } = platform;
    const logger = createLogger('silent', { write: () => undefined });
    const stop = startKeyOwners({ kinds, store, branch, clock: Date, logger, access });
    onTestFinished(stop);
    await at.giveKey('old', { user: 'ada' });
    const column = kindOf('ownedaccesskeys').columns.find(({ name }) => name === 'Problem');
    const shown = (): unknown => {
      const found = platform.find('ownedaccesskeys', 'old')?.object;
      return found && [column?.value(found), conditionsOf(found.status)[0]?.message];
    };
    expect(shown()).toEqual([undefined, undefined]);
    await take(ADA);
    await expect.poll(shown).toEqual(['OwnerMissing', expect.stringMatching(/does not exist\.$/)]);
    await at.give(ADA);
    await expect.poll(shown).toEqual(['OwnerReplaced', expect.stringMatching(REPLACED)]);
    await at.giveKey('old', { user: 'ada' });
    await expect.poll(shown).toEqual([undefined, undefined]);
    expect(platform.find('ownedaccesskeys', 'old')?.object.status).toEqual({});
  });
});

describe('a newcomer who signs in', () => {
  const NEWCOMER: ProvidedIdentity = {
    ...{ userId: '42', username: 'Ada', preferredUsername: 'ada', emailVerified: false },
    groups: ['dev'],
    extraClaims: {},
  };
  let signIn: SignInPlatform;

  async function open(): Promise<void> {
    const connector: Connector = {
      ...{ id: 'oidc', type: 'oidc', callbackMethod: 'GET' },
      begin: async ({ state }) => ({ kind: 'redirect', url: `https://idp/?state=${state}` }),
      complete: async () => NEWCOMER,
    };
    signIn = await openSignInPlatform({ factories: { oidc: async () => connector } });
    signIn.configure({ auth: { oidc: { issuerUrl: 'https://idp.example' } } });
    at = signIn.guarded;
  }

  /** The session key of the newcomer. */
  async function enter(): Promise<string> {
    const browser = signIn.browser();
    const begun = await browser.get('/auth/oidc/login');
    const state = new URL(String(begun.headers.location)).searchParams.get('state');
    const answer = await browser.get(`/auth/oidc/callback?state=${state}`);
    expect(answer.statusCode, answer.body).toBe(303);
    return browser.session ?? '';
  }

  beforeEach(open);

  test('gets the name where no key has it', async () => {
    expect(at.who(await enter()).name).toBe('ada');
  });

  test.each([
    ['of a user that is gone', { user: 'ada' }],
    ['that is disabled', { user: 'ada', disabled: true }],
    ['that has ended', { user: 'ada', ttl: 1 }],
    ['of a subject', { subject: 'ada' }],
  ])('never gets a name that a key %s acts under', async (_what, spec) => {
    const leaver = await at.giveKey('old', spec);
    expect(at.who(await enter()).name).toMatch(/^ada-[0-9a-f]+$/);
    if ('subject' in spec) expect(at.who(leaver).groups).not.toContain('gitplane:user:ada');
    else expect(() => at.who(leaver)).toThrow();
  });

  test('gets no team that keys of a former team act as', async () => {
    const name = teamNameOf('dev');
    const leaver = await at.giveKey('old', { team: name });
    const session = await enter();
    expect(at.platform.names('teams')).toEqual([]);
    expect(at.who(session).groups).not.toContain(`gitplane:team:${name}`);
    expect(() => at.who(leaver)).toThrow(/does not exist/);
    expect(signIn.log.join('')).toContain('Keys of a former team');
  });

  test('has no session that a user of the name had before', async () => {
    const session = await enter();
    const { object: user } = at.platform.find('users', 'ada') ?? {};
    await at.platform.delete('users', 'ada');
    await at.give(object('User', 'ada', { spec: user?.spec ?? {} }));
    expect(() => at.who(session)).toThrow(REPLACED);
  });
});

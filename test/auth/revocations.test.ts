import { describe, expect, test } from 'vitest';
import { Revocations } from '../../src/auth/endpoint-tokens/revocations.ts';
import { type TokenFacts, voidReason } from '../../src/auth/endpoint-tokens/token-validity.ts';

function memory(saved: Map<string, number>) {
  return {
    load: () => saved.entries(),
    set: async (id: string, expiresAt: number) => void saved.set(id, expiresAt),
    remove: async (ids: readonly string[]) => {
      for (const id of ids) saved.delete(id);
    },
  };
}

describe('a revocation', () => {
  test('acts at once, outlives a restart, and is forgotten when the token has ended anyway', async () => {
    const saved = new Map<string, number>();
    let now = 1000;
    const clock = { now: () => now };
    const revocations = new Revocations(memory(saved), clock);
    await revocations.revoke({ id: 'b', expiresAt: 900_000 });
    await revocations.revoke({ id: 'a', expiresAt: 5000 });
    expect(revocations.has('a')).toBe(true);
    expect(revocations.list().map(({ id }) => id)).toEqual(['a', 'b']);
    expect(new Revocations(memory(saved), clock).has('a')).toBe(true);

    now = 5000 + 5 * 60_000;
    expect(revocations.list().map(({ id }) => id)).toEqual(['b']);
    await revocations.sweep();
    expect([...saved.keys()]).toEqual(['b']);
  });
});

describe('a token', () => {
  const claims = {
    jti: 'j',
    gitplane: { kind: 'User', name: 'ann', uid: 'u1', gen: 2, key: 'laptop', keyId: 'k1' },
  };
  const user = {
    ...{ name: 'ann', uid: 'u1', email: undefined, disabled: false, groups: [] },
    ...{ identity: undefined, passwordHash: undefined },
  };
  const facts = (changes: {
    user?: object | null;
    keyId?: string | undefined;
    isRevoked?: boolean;
  }): TokenFacts => ({
    directory: {
      version: 1,
      user: () =>
        changes.user === null
          ? undefined
          : { ...user, tokenGeneration: 2, ...(changes.user as object | undefined) },
      team: () => undefined,
      teamsOf: () => [],
      usersOf: () => [],
      teamsWith: () => [],
      teamsNamed: () => [],
    },
    keyIdOf: () => ('keyId' in changes ? changes.keyId : 'k1'),
    isRevoked: () => changes.isRevoked ?? false,
  });

  test.each<[string, Parameters<typeof facts>[0], string | undefined]>([
    ['counts', {}, undefined],
    ['counts where the generation is lower', { user: { tokenGeneration: 1 } }, undefined],
    ['that was revoked', { isRevoked: true }, 'the token was revoked'],
    ['whose key is gone', { keyId: undefined }, 'does not work any more'],
    ['whose key was replaced', { keyId: 'k2' }, 'was replaced'],
    ['whose user is gone', { user: null }, 'does not exist any more'],
    ['whose user was made anew', { user: { uid: 'u2' } }, 'does not exist any more'],
    ['whose user is disabled', { user: { disabled: true } }, 'is disabled'],
    ['of an earlier generation', { user: { tokenGeneration: 3 } }, 'were voided'],
  ])('%s', (_claim, changes, reason) => {
    const why = voidReason(claims, facts(changes));
    if (reason === undefined) expect(why).toBeUndefined();
    else expect(why).toContain(reason);
  });

  test.each([
    ['no key', { key: null }],
    ['no identity of its key', { keyId: undefined }],
  ])('a token that names %s is ignored', (_what, lacking) => {
    const lesser = { ...claims, gitplane: { ...claims.gitplane, ...lacking } };
    expect(voidReason(lesser, facts({}))).toContain('the access key that asked for the token');
  });

  test('a token without the claims of the platform is ignored', () => {
    expect(voidReason({ jti: 'j' }, facts({}))).toContain('whom it was issued to');
  });
});

/** Signing in with a password, where something changes meanwhile. */
import { randomBytes, scryptSync } from 'node:crypto';
import { expect, test } from 'vitest';
import type { DirectoryUser } from '../../src/auth/identity/directory.ts';
import { hashPassword } from '../../src/auth/identity/password.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { passwordHashProblems } from '../../src/kinds/credentials/password-hash.ts';
import { PasswordLogin } from '../../src/sign-in/password-login.ts';

const PASSWORD = 'correct horse battery';

test.each([
  ['another password', { passwordHash: 'of another one' }],
  ['no password any more', { passwordHash: undefined }],
  ['the same password', {}],
])('a user who has %s when the check ends', async (_claim, change) => {
  const passwordHash = await hashPassword(PASSWORD);
  let ann = { name: 'ann', groups: [], disabled: false, passwordHash } as unknown as DirectoryUser;
  const minted: string[] = [];
  const passwords = new PasswordLogin({
    config: new ConfigFeed({ environment: {}, onError: () => undefined }),
    directory: { user: () => ann },
    accounts: {
      mint: async ({ user }) => {
        minted.push(user);
        return { name: 'login-ann', key: 'a key', user };
      },
    },
    clock: { now: () => 0 },
  });
  const attempt = { username: 'ann', password: PASSWORD, address: '192.0.2.7', requestId: 'r' };
  const outcome = passwords.signIn(attempt).catch(({ reason }: { reason: unknown }) => reason);
  // The hash that is checked was read by now.
  ann = { ...ann, ...change } as DirectoryUser;
  const isSame = Object.keys(change).length === 0;
  expect(await outcome).toEqual(
    isSame ? expect.objectContaining({ user: 'ann' }) : 'wrong-password',
  );
  expect(minted).toEqual(isSame ? ['ann'] : []);
});

function guessing(user?: DirectoryUser) {
  const minted: string[] = [];
  const passwords = new PasswordLogin({
    config: new ConfigFeed({ environment: {}, onError: () => undefined }),
    directory: { user: (name) => (name === user?.name ? user : undefined) },
    accounts: {
      mint: async ({ user: name }) => {
        minted.push(name);
        return { name: `login-${name}`, key: 'a key', user: name };
      },
    },
    clock: { now: () => 0 },
  });
  const guess = async (username: string, address: string, password = 'a guess'): Promise<string> =>
    await passwords.signIn({ username, password, address, requestId: 'r' }).then(
      () => 'signed in',
      ({ reason }: { reason: string }) => reason,
    );
  return { guess, minted };
}

test('an address that has to wait lifts the wait of no name, however often it asks', async () => {
  const { guess } = guessing();
  for (let i = 0; i < 8; i++) await guess('ann', `192.0.2.${i}`);
  expect(await guess('ann', '192.0.2.9')).toBe('too-many');
  for (let i = 0; i < 10_100; i++) await guess(`nobody-${i}`, '198.51.100.1');
  expect(await guess('ann', '192.0.2.10')).toBe('too-many');
});

test('an address that has to wait makes no name wait', async () => {
  const { guess } = guessing();
  for (let i = 0; i < 20; i++) await guess(`nobody-${i}`, '198.51.100.1');
  for (let i = 0; i < 20; i++) expect(await guess('ann', '198.51.100.1')).toBe('too-many');
  expect(await guess('ann', '192.0.2.1')).toBe('wrong-password');
});

test.each([
  ['memory of 64 MiB', { N: 2 ** 16, r: 8, p: 1 }, 'ln=16,r=8,p=1'],
  ['memory of 128 MiB', { N: 2 ** 17, r: 8, p: 1 }, 'ln=17,r=8,p=1'],
  ['three times the work', { N: 2 ** 15, r: 8, p: 3 }, 'ln=15,r=8,p=3'],
])('a right password whose hash takes %s is refused', async (_claim, cost, named) => {
  const salt = randomBytes(16);
  const text = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  const hash = scryptSync(PASSWORD, salt, 32, { ...cost, maxmem: 256 * cost.N * cost.r });
  const passwordHash = `$scrypt$${named}$${text(salt)}$${text(hash)}`;
  const ann = {
    name: 'ann',
    groups: [],
    disabled: false,
    passwordHash,
  } as unknown as DirectoryUser;
  const { guess, minted } = guessing(ann);
  expect(await guess('ann', '192.0.2.1', PASSWORD)).toBe('wrong-password');
  expect(minted).toEqual([]);
  // Said where it is written as well, with the limit.
  expect(passwordHashProblems(passwordHash)).toEqual([expect.stringContaining('ln=15')]);
  expect(passwordHashProblems(passwordHash)[0]).not.toContain(text(salt));
});

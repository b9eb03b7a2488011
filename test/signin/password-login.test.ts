/** Signing in with a password, where something changes meanwhile. */
import { expect, test } from 'vitest';
import type { DirectoryUser } from '../../src/auth/directory.ts';
import { hashPassword } from '../../src/auth/password.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { PasswordLogin } from '../../src/signin/password-login.ts';

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

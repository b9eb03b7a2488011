/**
 * Ends the sessions that began before a password change. Level-triggered: each key has a fingerprint of
 * the password at its creation, so that changes during a downtime count as well.
 */
import type { StoredObject } from '../../state/index.ts';
import type { AccountParts } from './account-parts.ts';
import type { PlatformAccounts } from './accounts.ts';
import { PASSWORD_VERSION, passwordVersion } from './login-key.ts';

type Parts = Pick<AccountParts, 'kinds' | 'store' | 'access' | 'logger'>;

export interface PasswordChanges {
  /** Resolves when all sessions that are being ended have ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export function endSessionsOfOldPasswords(
  { kinds, store, access, logger }: Parts,
  accounts: Pick<PlatformAccounts, 'revoke'>,
): PasswordChanges {
  const [group = ''] = kinds.groups;
  const kindNamed = (plural: string): string => kinds.byPlural(group, plural)?.kind ?? '';
  const [users, keys] = [kindNamed('users'), kindNamed('ownedaccesskeys')];
  const ending = new Set<Promise<void>>();
  const end = (name: string): void => {
    const work = accounts
      .revoke(name)
      .then(() => logger.info({ accessKey: name }, 'A session ended with its password'))
      .catch((err: unknown) => logger.error({ err, accessKey: name }, 'A session did not end'))
      .finally(() => ending.delete(work));
    ending.add(work);
  };
  const endIfOutdated = (login: { key: string; user: string }, hash: string | undefined): void => {
    const key = store.get({ group, kind: keys, namespace: '', name: login.key });
    const madeWith = key?.object.metadata.annotations?.[PASSWORD_VERSION];
    if (key !== undefined && madeWith !== passwordVersion(hash)) end(login.key);
  };
  for (const login of access.logins()) {
    const user = access.directory.user(login.user);
    if (user !== undefined) endIfOutdated(login, user.passwordHash);
  }
  const stop = store.observe({ group, kind: users }, ({ type, current, previous }) => {
    const [before, now] = [hashOf(previous), hashOf(current)];
    if (type === 'DELETED' || before === now) return;
    for (const login of access.logins())
      if (login.user === current.key.name) endIfOutdated(login, now);
  });
  const settled = async (): Promise<void> => {
    await Promise.all(ending);
  };
  return {
    settled,
    close: async () => {
      stop();
      await settled();
    },
  };
}

function hashOf(user: StoredObject | undefined): string | undefined {
  const hash = user?.hidden?.['spec.passwordHash'];
  return typeof hash === 'string' && hash !== '' ? hash : undefined;
}

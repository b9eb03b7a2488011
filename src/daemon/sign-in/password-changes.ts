/**
 * A new password ends the sessions that began before it. Level-triggered: each key says which password
 * the user had when it was made, so that a change while nobody looked counts as well.
 */
import type { Collection, StoredObject } from '../../state/store.ts';
import type { AccountParts, PlatformAccounts } from './accounts.ts';
import { isLoginOf, passwordVersion, passwordVersionOf } from './login-key.ts';

type Parts = Pick<AccountParts, 'kinds' | 'store' | 'logger'>;

export interface PasswordChanges {
  /** Resolves when what changes so far began has ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export function endSessionsOfOldPasswords(
  { kinds, store, logger }: Parts,
  accounts: Pick<PlatformAccounts, 'revoke'>,
): PasswordChanges {
  const [group = ''] = kinds.groups;
  const collection = (plural: string): Collection => ({
    group,
    kind: kinds.byPlural(group, plural)?.kind ?? '',
  });
  const users = collection('users');
  const keys = collection('ownedaccesskeys');
  const ending = new Set<Promise<void>>();
  const end = (key: StoredObject): void => {
    const { name } = key.key;
    const work = accounts
      .revoke(name)
      .then(() => logger.info({ key: name }, 'A session ended with its password'))
      .catch((err: unknown) => logger.error({ err, key: name }, 'A session did not end'))
      .finally(() => ending.delete(work));
    ending.add(work);
  };
  const look = (user: StoredObject): void => {
    const hash = user.hidden?.['spec.passwordHash'];
    const now = passwordVersion(typeof hash === 'string' ? hash : undefined);
    const logins = store.list(keys).items.filter((key) => isLoginOf(key, user.key.name));
    for (const key of logins) if (passwordVersionOf(key) !== now) end(key);
  };
  // At the start only those that have a key.
  const names = new Set(store.list(keys).items.map(({ object }) => object.spec?.['user']));
  for (const user of store.list(users).items) if (names.has(user.key.name)) look(user);
  const stop = store.observe(users, ({ type, current, previous }) => {
    if (type === 'DELETED') return;
    const path = 'spec.passwordHash';
    if (current.hidden?.[path] !== previous?.hidden?.[path]) look(current);
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

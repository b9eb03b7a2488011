/**
 * One path of a KV v1 mount. Without versions, a write is read, compared and written. In the window
 * between, it can overwrite a value of another writer; the docs say so.
 */
import {
  type StoreChange,
  StoreError,
  type StoreRead,
  type StoreSide,
  type WriteOutcome,
} from '../secrets-merge/index.ts';
import { dataOf, encodePath, fullBody, type Members, readMembers, tooLarge } from './kv-data.ts';
import type { KvPath } from './kv2.ts';
import { detectMount } from './mount.ts';

const NO_VERSION = { version: 0, createdTime: '' };

export function kv1({ client, mount, path }: KvPath): StoreSide {
  const url = `${encodePath(mount.path.slice(0, -1))}/${encodePath(path)}`;
  const where = `The secret ${mount.path}${path}`;
  const read = async (): Promise<Members | undefined> => {
    const answer = await client.call({ method: 'GET', path: url });
    if (answer.status !== 404) return readMembers(answer, ['data'], where);
    const { version } = await detectMount(client, mount.path);
    if (version === 1) return undefined;
    throw new StoreError(`${where} is on a mount of KV v2`, { reason: 'WrongEngine' });
  };

  return {
    isVersioned: false,
    ...(mount.uuid !== undefined && { mount: mount.uuid }),
    read: async (): Promise<StoreRead> => {
      const members = await read();
      if (members === undefined) return { state: 'absent' };
      return { state: 'live', at: NO_VERSION, ...dataOf(members) };
    },
    keyHistory: async () => undefined,
    write: async (change: StoreChange): Promise<WriteOutcome> => {
      const now = await read();
      if (!isSame(change.seen, now)) return { is: 'outrun' };
      const body = fullBody(now ?? new Map(), change);
      const refusal = body === '{}' ? EMPTY : tooLarge(body);
      if (refusal !== undefined) return refusal;
      await client.call({ method: 'POST', path: url, body });
      return { is: 'written', at: NO_VERSION };
    },
    deleteVersion: async () => {
      throw new StoreError(`${where} cannot be deleted safely: KV v1 keeps nothing`, {
        reason: 'WrongEngine',
      });
    },
    mark: async () => undefined,
  };
}

const EMPTY: WriteOutcome = {
  is: 'refused',
  reason: 'UnsupportedValue',
  detail: 'would be empty, which KV v1 does not accept',
};

function isSame(seen: StoreRead, now: Members | undefined): boolean {
  if (seen.state !== 'live' || now === undefined) return seen.state !== 'live' && now === undefined;
  const { values } = dataOf(now);
  return (
    values.size === seen.values.size &&
    [...values].every(([key, value]) => {
      const before = seen.values.get(key);
      return before !== undefined && Buffer.from(before).equals(value);
    })
  );
}

/** What a person is shown and may end, one object at a time. The rest is in model.test.ts. */
import { expect, test } from 'vitest';
import { DEFAULT_POLICY } from '../../src/secretsync/policy.ts';
import type { StoreSide } from '../../src/secretsync/ports.ts';
import { Fingerprints } from '../../src/secretsync/prints.ts';
import { type SyncTask, syncObject } from '../../src/secretsync/sync-object.ts';
import { NEW_STATE, type SyncState } from '../../src/secretsync/sync-state.ts';

const EMPTY_STORE: StoreSide = {
  isVersioned: true,
  read: async () => ({ state: 'absent' }),
  keyHistory: async () => undefined,
  write: async () => ({ is: 'outrun' }),
  deleteVersion: async () => {},
  mark: async () => {},
};

test('a covered value can be acknowledged after its key was removed for good', async () => {
  let state: SyncState = {
    ...NEW_STATE,
    covered: [{ version: 3, createdTime: '2026-01-01T00:00:00.000000003Z' }],
  };
  const task: SyncTask = {
    git: {
      read: async () => ({ commit: 'c1', values: new Map([['a', Buffer.from('1')]]) }),
      change: async () => undefined,
      remove: async () => false,
      history: async () => [],
    },
    store: EMPTY_STORE,
    memory: {
      load: async () => state,
      save: async (next) => {
        state = next;
      },
    },
    fingerprints: new Fingerprints(Buffer.alloc(32)),
    policy: DEFAULT_POLICY,
    owner: 'us',
    mayDelete: false,
  };

  expect(await syncObject(task)).toMatchObject({ result: 'Held', reason: 'CoveredValue' });
  await syncObject({ ...task, resolution: { winner: 'git', id: 'other' } });
  expect(state.covered).toHaveLength(1);
  await syncObject({ ...task, resolution: { winner: 'git', id: 'c1' } });
  expect(state.covered).toEqual([]);
  expect(await syncObject(task)).toMatchObject({ result: 'Differs', reason: 'NotInStore' });
});

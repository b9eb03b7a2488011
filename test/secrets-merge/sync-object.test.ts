/** What a person is shown and may end, one object at a time. The rest is in model.test.ts. */
import { describe, expect, test } from 'vitest';
import { StoreClient } from '../../src/secret-store-client/client.ts';
import { kv2 } from '../../src/secret-store-client/kv2.ts';
import { detectMount } from '../../src/secret-store-client/mount.ts';
import { type StoreResponse, TransportError } from '../../src/secret-store-client/transport.ts';
import { Fingerprints } from '../../src/secrets-merge/fingerprints.ts';
import { DEFAULT_POLICY } from '../../src/secrets-merge/policy.ts';
import type { GitSide, StoreSide } from '../../src/secrets-merge/ports.ts';
import { syncObject } from '../../src/secrets-merge/sync-object.ts';
import { NEW_STATE, type SyncState } from '../../src/secrets-merge/sync-state.ts';
import type { SyncTask } from '../../src/secrets-merge/sync-task.ts';
import { KvStore } from '../support/kv/kv-store.ts';

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

/** One key, a store in memory and a daemon that syncs both ways. */
function scene() {
  const lag = { of: 0 };
  const store = new KvStore({ lag: () => lag.of });
  const mount = store.mount('secret/');
  store.token('t');
  /** Called with each request before the store hears of it. */
  const wire = {
    before: (_method: string) => {},
    /** The answer that arrives in place of the one of the store. */
    answer: (_method: string, answer: StoreResponse) => answer,
  };
  const client = new StoreClient({
    transport: {
      origin: 'http://store',
      close: () => {},
      send: async (request) => {
        wire.before(request.method);
        return wire.answer(request.method, store.handle(request));
      },
    },
    token: async () => 't',
    clock: { now: () => 0 },
    intervalMs: 1000,
    random: () => 0,
  });
  const commits: Commits = { list: ['a'], change: () => undefined, isKnown: true };
  const memory = { state: NEW_STATE };
  const sync = async (more: Pick<SyncTask, 'resolution' | 'isFull'> = {}) =>
    syncObject({
      git: gitOf(commits),
      store: kv2({ client, mount: await detectMount(client, 'secret'), path: 'app' }),
      memory: {
        load: async () => memory.state,
        save: async (next) => {
          memory.state = next;
        },
      },
      fingerprints: new Fingerprints(Buffer.alloc(32)),
      policy: { ...DEFAULT_POLICY, direction: 'Both' },
      owner: 'us',
      mayDelete: false,
      ...more,
    });
  return { lag, store, mount, wire, client, commits, memory, sync };
}

/**
 * Git has taken b from the store (the daemon died before it wrote the base) and has c since. The key
 * is made anew up to the same version. Read from a node that lags behind, the store still holds b,
 * which git had: only what was held before tells that b is history.
 */
test('an answer that is older than what was held covers nothing', async () => {
  const { lag, mount, commits, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  mount.put('app', { key: 'b' });
  commits.list.push('b', 'c');
  mount.removeKey('app');
  mount.put('app', { key: 'x' });
  mount.put('app', { key: 'y' });
  expect(await sync()).toMatchObject({ result: 'Held', reason: 'Conflict', version: 2 });

  lag.of = 3;
  const outcome = await sync();
  expect(mount.live('app')).toEqual({ key: 'y' });
  expect(outcome).toMatchObject({ result: 'Waiting', reason: 'StaleRead' });
  lag.of = 0;
  expect(await sync()).toMatchObject({ result: 'Held', reason: 'Conflict', pushed: 0 });
});

test.each([
  ['that nobody knew is reported', 'b', { result: 'Held', reason: 'CoveredValue' }],
  ['that was agreed on is nothing to report', 'a', { result: 'Synced' }],
])('a value restored just before a push covers it, and %s', async (_what, value, expected) => {
  const { mount, wire, commits, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  mount.put('app', { key: value });
  mount.deleteLatest('app');
  commits.list.push('c');
  expect(await sync()).toMatchObject({ result: 'Waiting', reason: 'Unconfirmed' });

  wire.before = (method) => {
    if (method === 'POST') mount.undeleteLatest('app');
  };
  expect(await sync()).toMatchObject({ ...expected, pushed: 1 });
  expect(mount.live('app')).toEqual({ key: 'c' });
});

/** The commit is made, and the daemon dies before it writes the base. */
test('an answer that is older than what was pulled is not pulled', async () => {
  const { lag, mount, commits, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  mount.put('app', { key: 'b' });
  mount.put('app', { key: 'c' });
  commits.change = (value) => {
    commits.list.push(value);
    throw new Error('killed');
  };
  await expect(sync()).rejects.toThrow('killed');

  lag.of = 1;
  expect(await sync()).toMatchObject({ result: 'Waiting', reason: 'StaleRead' });
  lag.of = 0;
  expect(await sync()).toMatchObject({ result: 'Synced', pulled: 0 });
  expect(commits.list).toEqual(['a', 'c']);
});

/** The commit is made, and the daemon dies before it writes the base; the store keeps ten versions. */
test('a pulled value is not a conflict when the store has dropped it', async () => {
  const { mount, commits, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  mount.put('app', { key: 'b' });
  commits.change = (value) => {
    commits.list.push(value);
    throw new Error('killed');
  };
  await expect(sync()).rejects.toThrow('killed');
  for (let version = 0; version < 12; version += 1) mount.put('app', { key: `c${version}` });
  commits.change = (value) => `c${commits.list.push(value)}`;

  expect(await sync()).toMatchObject({ result: 'Synced', pulled: 1 });
  expect(commits.list).toEqual(['a', 'b', 'c11']);
});

test('a removal is looked at twice each time', async () => {
  const { mount, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  for (const _time of [1, 2]) {
    mount.deleteLatest('app');
    expect(await sync()).toMatchObject({ result: 'Waiting', reason: 'Unconfirmed' });
    mount.undeleteLatest('app');
    expect(await sync()).toMatchObject({ result: 'Synced' });
  }
});

test('a push that landed before the base was written is no newer base', async () => {
  const { mount, memory, commits, sync } = scene();
  mount.put('app', { key: 'a' });
  expect(await sync()).toMatchObject({ result: 'Synced' });
  const first = memory.state.base;
  if (first === undefined) throw new Error('nothing was agreed');
  mount.put('app', { key: 'b' });
  commits.list.push('b');
  expect(await sync()).toMatchObject({ result: 'Synced' });
  const { base, ...rest } = memory.state;
  const intent = {
    cas: 0,
    predecessor: { createdTime: '', whole: '', isDeleted: false },
    target: '',
    prints: first.prints,
    commit: 'c2',
    landed: first.at,
  };
  memory.state = { ...rest, ...(base && { base }), intents: [intent] };

  commits.list.push('c');
  expect(await sync()).toMatchObject({ result: 'Synced', pushed: 1 });
  expect(memory.state.intents).toEqual([]);
});

describe('a push that landed, and whose answer was none', () => {
  const failed = (status: number, text: string) => (): StoreResponse => ({
    status,
    headers: {},
    text,
  });
  const ANSWERS: [string, () => StoreResponse][] = [
    ['500', failed(500, '{"errors":["context canceled"]}')],
    ['500 of a node that steps down', failed(500, '{"errors":["local node not active"]}')],
    ['502', failed(502, '')],
    ['503', failed(503, '{"errors":[]}')],
    [
      'none',
      () => {
        throw new TransportError('cut', true);
      },
    ],
  ];

  /** The store has b of git, which has c by now. */
  async function landed(answer: () => StoreResponse) {
    const made = scene();
    const { mount, wire, client, commits, sync } = made;
    mount.put('app', { key: 'a' });
    expect(await sync()).toMatchObject({ result: 'Synced' });
    commits.list.push('b');
    wire.answer = (method, real) => (method === 'POST' ? answer() : real);
    await expect(sync()).rejects.toThrow();
    expect(mount.live('app')).toEqual({ key: 'b' });
    wire.answer = (_method, real) => real;
    client.tryAgain();
    commits.list.push('c');
    return made;
  }

  test.each(ANSWERS)('(%s) is found again, and the next one follows', async (_name, answer) => {
    const { mount, sync } = await landed(answer);

    expect(await sync()).toMatchObject({ result: 'Synced', pushed: 1 });
    expect(mount.live('app')).toEqual({ key: 'c' });
  });

  test('an unrecorded push is found in the history of git', async () => {
    const { mount, memory, sync } = await landed(failed(500, ''));
    memory.state = { ...memory.state, intents: [] };

    expect(await sync()).toMatchObject({ result: 'Synced', pushed: 1 });
    expect(mount.live('app')).toEqual({ key: 'c' });
  });

  test('is not a conflict while the history of git is not known', async () => {
    const { mount, memory, commits, sync } = await landed(failed(500, ''));
    memory.state = { ...memory.state, intents: [] };
    commits.isKnown = false;

    const waiting = { result: 'Waiting', reason: 'HistoryUnknown', pushed: 0, pulled: 0 };
    for (let edit = 0; edit < 5; edit += 1) {
      expect(await sync({ isFull: false })).toMatchObject(waiting);
    }
    for (let cycle = 0; cycle < 2; cycle += 1) expect(await sync()).toMatchObject(waiting);
    for (let cycle = 0; cycle < 2; cycle += 1) {
      expect(await sync()).toMatchObject({
        result: 'Held',
        reason: 'HistoryUnknown',
        keys: ['key'],
      });
    }
    expect(mount.live('app')).toEqual({ key: 'b' });
    commits.isKnown = true;
    expect(await sync()).toMatchObject({ result: 'Synced', pushed: 1 });
    expect(mount.live('app')).toEqual({ key: 'c' });
    expect(memory.state.held).toBeUndefined();
  });

  test('is decided by a person where the history of git stays unknown', async () => {
    const { mount, memory, commits, sync } = await landed(failed(500, ''));
    memory.state = { ...memory.state, intents: [] };
    commits.isKnown = false;
    for (let cycle = 0; cycle < 3; cycle += 1) await sync();

    const { commit: id = '' } = memory.state.held ?? {};
    expect(await sync({ resolution: { winner: 'git', id } })).toMatchObject({ result: 'Synced' });
    expect(mount.live('app')).toEqual({ key: 'c' });
  });
});

test('versions seen on another mount make no value old here', async () => {
  const { store, mount, sync } = scene();
  mount.put('app', { key: 'x' });
  mount.put('app', { key: 'y' });
  expect(await sync()).toMatchObject({ result: 'Held', reason: 'AdoptionConflict', version: 2 });

  store.mount('secret/').put('app', { key: 'z' });
  expect(await sync()).toMatchObject({ result: 'Held', reason: 'AdoptionConflict', version: 1 });
});

describe('a store that was put back to an older copy', () => {
  /** v1 to v4 with the values a to d, in step at v4; then put back to v2. */
  async function restored() {
    const made = scene();
    const { mount, commits, sync } = made;
    for (const value of ['a', 'b', 'c', 'd']) mount.put('app', { key: value });
    commits.list.push('d');
    expect(await sync()).toMatchObject({ result: 'Synced', version: 4 });
    mount.restore('app', 2);
    return made;
  }

  const OLDER = { result: 'Held', reason: 'StoreOlder', version: 2, known: 4, keys: ['key'] };

  test('is held after two cycles, with both versions, and moves neither side', async () => {
    const { mount, commits, sync } = await restored();
    expect(await sync()).toMatchObject({ result: 'Waiting', reason: 'StaleRead' });
    expect(await sync()).toMatchObject({ result: 'Waiting', reason: 'StaleRead' });
    for (let cycle = 0; cycle < 5; cycle += 1) expect(await sync()).toMatchObject(OLDER);

    commits.list.push('e');
    expect(await sync()).toMatchObject(OLDER);
    expect(mount.live('app')).toEqual({ key: 'b' });
    expect(commits.list).toEqual(['a', 'd', 'e']);
  });

  test.each([
    ['git', 'd', { pushed: 1, version: 3 }],
    ['store', 'b', { pulled: 1, version: 2 }],
  ] as const)('is settled for %s by a decision, and syncs on', async (winner, value, expected) => {
    const { mount, commits, memory, sync } = await restored();
    commits.change = (pulled) => `c${commits.list.push(pulled)}`;
    for (let cycle = 0; cycle < 3; cycle += 1) await sync();
    const { held } = memory.state;
    const id = winner === 'git' ? (held?.commit ?? '') : String(held?.version);
    expect(await sync({ resolution: { winner, id: 'other' } })).toMatchObject(OLDER);
    const outcome = await sync({ resolution: { winner, id } });

    expect(outcome).toMatchObject({ result: 'Synced', ...expected });
    expect(mount.live('app')).toEqual({ key: value });
    expect(commits.list.at(-1)).toBe(value);
    commits.list.push('later');
    expect(await sync()).toMatchObject({ result: 'Synced', pushed: 1 });
    expect(mount.live('app')).toEqual({ key: 'later' });
  });

  test('is settled by a decision where both hold the same', async () => {
    const { commits, memory, sync } = await restored();
    commits.list.push('b');
    for (let cycle = 0; cycle < 2; cycle += 1) await sync();
    expect(await sync()).toMatchObject({ ...OLDER, keys: [] });
    const id = memory.state.held?.commit ?? '';
    expect(await sync({ resolution: { winner: 'git', id } })).toMatchObject({ result: 'Synced' });
    expect(await sync()).toMatchObject({ result: 'Synced', version: 2 });
  });

  test.each([1, 2, 3])(
    'an older copy of the store with %i later writes brings no old value into git',
    async (writes) => {
      const { mount, commits, sync } = await restored();
      for (let i = 0; i < writes; i += 1) mount.put('app', { key: 'b', other: String(i) });

      expect(await sync()).toMatchObject({ ...OLDER, version: 2 + writes, keys: ['key', 'other'] });
      expect(commits.list).toEqual(['a', 'd']);
    },
  );

  test('is distinguished from a standby that lags for many cycles, from which no policy pulls', async () => {
    const { lag, store, mount, commits, memory, sync } = scene();
    for (const value of ['a', 'b', 'c', 'd']) mount.put('app', { key: value });
    commits.list.push('d');
    expect(await sync()).toMatchObject({ result: 'Synced', version: 4 });
    lag.of = 2;
    store.isStandby = true;
    for (let cycle = 0; cycle < 2; cycle += 1) await sync();
    const LAGS = { ...OLDER, reason: 'StoreLags' };
    for (let cycle = 0; cycle < 3; cycle += 1) expect(await sync()).toMatchObject(LAGS);
    expect(await sync({ resolution: { winner: 'store', id: '2' } })).toMatchObject(LAGS);
    const id = memory.state.held?.commit ?? '';
    expect(await sync({ resolution: { winner: 'git', id } })).toMatchObject({ pushed: 0 });

    expect(commits.list).toEqual(['a', 'd']);
    expect(mount.live('app')).toEqual({ key: 'd' });
    lag.of = 0;
    expect(await sync()).toMatchObject({ result: 'Synced', version: 4 });
  });

  test('is not concluded from changes in git that follow each other', async () => {
    const { commits, sync } = await restored();
    for (let edit = 0; edit < 6; edit += 1) {
      commits.list.push(`e${edit}`);
      expect(await sync({ isFull: false })).toMatchObject({ reason: 'StaleRead' });
    }
  });
});

interface Commits {
  /** One value under `key` in each commit. */
  readonly list: string[];
  /** The commit of a pull; undefined: somebody else was faster. */
  change: (value: string) => string | undefined;
  /** False: git cannot tell its history now. */
  isKnown: boolean;
}

function gitOf(commits: Commits): GitSide {
  const { list } = commits;
  const values = (value = '') => new Map([['key', Buffer.from(value)]]);
  return {
    read: async () => ({ commit: `c${list.length}`, values: values(list.at(-1)) }),
    change: async ({ set }) => {
      return commits.change(Buffer.from(set.get('key') ?? []).toString());
    },
    remove: async () => false,
    history: async (since) =>
      commits.isKnown ? list.slice(Number(since.slice(1)), -1).map(values) : undefined,
  };
}

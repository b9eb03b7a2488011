/** A cluster that answers as the test says: what is listed when, and where a watch goes on. */
import { expect, onTestFinished, test, vi } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { ApiFailure } from '../../src/kubernetes-client/api-failure.ts';
import type { FullList, WatchEvent } from '../../src/kubernetes-client/kube-client.ts';
import { Reflector } from '../../src/kubernetes-client/reflector.ts';

function object(name: string, version: number): KubeObject {
  const metadata = { namespace: 'n', name, uid: `uid-${name}`, resourceVersion: String(version) };
  return { apiVersion: 'v1', kind: 'Endpoints', metadata };
}

type Script = (from: string) => AsyncIterable<WatchEvent>;

async function* forever(): AsyncIterable<WatchEvent> {
  await new Promise(() => undefined);
  yield* [];
}

function start(
  lists: readonly (FullList | ApiFailure)[],
  watches: readonly Script[],
  maxWatched?: number,
) {
  const seen: string[] = [];
  const from: string[] = [];
  const problems: (string | undefined)[] = [];
  const [moreLists, moreWatches] = [[...lists], [...watches]];
  const reflector = new Reflector({
    client: {
      list: async () => {
        const next = moreLists.shift();
        if (next === undefined || next instanceof ApiFailure) throw next ?? new Error('no list');
        return next;
      },
      watch: (_of, { resourceVersion, signal, opened }) => {
        from.push(resourceVersion);
        opened();
        const stream = (moreWatches.shift() ?? forever)(resourceVersion);
        return untilAborted(stream, signal);
      },
    },
    of: { plural: 'endpoints' },
    changed: (key, found) => seen.push(`${key} ${found?.metadata.resourceVersion ?? 'gone'}`),
    synced: () => seen.push('synced'),
    problem: (failure) => problems.push(failure?.reason),
    backoff: { firstMs: 1, lastMs: 2 },
    ...(maxWatched === undefined ? {} : { maxWatched }),
  });
  onTestFinished(() => reflector.stop());
  reflector.start();
  return { reflector, seen, from, problems };
}

async function* untilAborted(stream: AsyncIterable<WatchEvent>, signal: AbortSignal) {
  const iterator = stream[Symbol.asyncIterator]();
  const end = new Promise<IteratorResult<WatchEvent>>((resolve) =>
    signal.addEventListener('abort', () => resolve({ done: true, value: undefined })),
  );
  for (;;) {
    const next = await Promise.race([iterator.next(), end]);
    if (next.done === true) return;
    yield next.value;
  }
}

const cut = new ApiFailure({ code: 0, reason: 'Unreachable', message: 'cut' });

function gate(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

test('a watch that was cut goes on where it was, without a new list', async () => {
  const { reflector, seen, from } = start(
    [{ resourceVersion: '5', items: [object('a', 3)] }],
    [
      async function* () {
        yield { type: 'MODIFIED', object: object('a', 7) };
        yield { type: 'BOOKMARK', object: object('', 9) };
        throw cut;
      },
      async function* () {
        yield { type: 'ADDED', object: object('b', 11) };
        yield* forever();
      },
    ],
  );
  await vi.waitFor(() => expect(seen).toContain('n/b 11'));

  expect(from).toEqual(['5', '9']);
  expect(reflector.lists).toBe(1);
  expect(seen).toEqual(['n/a 3', 'synced', 'n/a 7', 'n/b 11']);
});

test('a version that is too old takes a new list, and what went meanwhile is told', async () => {
  const expired = new ApiFailure({ code: 410, reason: 'Expired', message: 'too old' });
  const { seen, from } = start(
    [
      { resourceVersion: '5', items: [object('a', 3), object('b', 4)] },
      { resourceVersion: '20', items: [object('b', 15)] },
    ],
    [
      async function* () {
        yield { type: 'ERROR', failure: expired };
      },
    ],
  );
  await vi.waitFor(() => expect(from).toEqual(['5', '20']));

  expect(seen).toEqual(['n/a 3', 'n/b 4', 'synced', 'n/a gone', 'n/b 15']);
});

test('an event that is older than what a write answered changes nothing', async () => {
  const written = gate();
  const { reflector, seen } = start(
    [{ resourceVersion: '5', items: [object('a', 3)] }],
    [
      async function* () {
        await written.promise;
        yield { type: 'MODIFIED', object: object('a', 6) };
        yield { type: 'ADDED', object: object('b', 9) };
        yield* forever();
      },
    ],
  );
  await vi.waitFor(() => expect(seen).toContain('synced'));
  reflector.record(object('a', 8));
  written.resolve();
  await vi.waitFor(() => expect(seen).toContain('n/b 9'));

  expect(reflector.get('n/a')?.metadata.resourceVersion).toBe('8');
  expect(seen).not.toContain('n/a 6');
});

test('an answer that comes after the object went, or came back as another, is no news', async () => {
  const { reflector, seen } = start(
    [{ resourceVersion: '5', items: [object('a', 3), object('b', 4)] }],
    [
      async function* () {
        yield { type: 'DELETED', object: object('a', 9) };
        yield { type: 'DELETED', object: object('b', 10) };
        const again = object('b', 11);
        again.metadata.uid = 'another';
        yield { type: 'ADDED', object: again };
        yield* forever();
      },
    ],
  );
  await vi.waitFor(() => expect(seen).toContain('n/b 11'));
  reflector.record(object('a', 8));
  reflector.record(object('b', 7));

  expect(reflector.get('n/a')).toBeUndefined();
  expect(reflector.get('n/b')?.metadata.uid).toBe('another');
});

test('a watch that brings more objects than memory may hold ends with a new list', async () => {
  const { reflector, from } = start(
    [
      { resourceVersion: '5', items: [] },
      { resourceVersion: '30', items: [object('a', 11)] },
    ],
    [
      async function* () {
        // The same object again takes no more memory, and a deleted one takes none.
        for (let at = 0; at < 100; at++) {
          yield { type: 'MODIFIED', object: object('a', 10 + at), memory: 800_000 };
          yield { type: 'ADDED', object: object('b', 10 + at), memory: 800_000 };
          yield { type: 'DELETED', object: object('b', 10 + at), memory: 800_000 };
        }
        for (let at = 0; at < 100; at++) {
          yield { type: 'ADDED', object: object(`c${at}`, 200 + at), memory: 800_000 };
        }
        yield* forever();
      },
    ],
    2_000_000,
  );
  await vi.waitFor(() => expect(from).toEqual(['5', '30']));

  expect([...reflector.keys()]).toEqual(['n/a']);
});

test('a version of a million digits is compared in no time', async () => {
  const digits = '9'.repeat(4_000_000);
  const versions = ['1', '2', '3'].map((end) => `${digits}${end}`);
  const named = (resourceVersion: string) => {
    const of = object('a', 0);
    return { ...of, metadata: { ...of.metadata, resourceVersion } };
  };
  const { reflector } = start(
    [{ resourceVersion: '5', items: [named(digits)] }],
    [
      async function* () {
        for (const version of versions) yield { type: 'MODIFIED', object: named(version) };
        yield* forever();
      },
    ],
  );
  const before = process.cpuUsage();
  await vi.waitFor(() =>
    expect(reflector.get('n/a')?.metadata.resourceVersion).toBe(versions.at(-1)),
  );

  expect(process.cpuUsage(before).user).toBeLessThan(300_000);
});

test('a cluster that is away is told of, and waited for', async () => {
  const { seen, problems } = start([cut, cut, { resourceVersion: '1', items: [] }], []);
  await vi.waitFor(() => expect(seen).toEqual(['synced']));

  expect(problems.slice(0, 2)).toEqual(['Unreachable', 'Unreachable']);
  expect(problems.at(-1)).toBeUndefined();
});

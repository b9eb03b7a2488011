/** The pace of requests against quotas of fixed windows, as OpenBao and Vault have them, on virtual time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type StoreResponse, TransportError } from '../../src/secret-store-client/transport.ts';
import { LearnedPace } from '../../src/secret-store-sync/pace.ts';
import { pacedTransport, type Timing } from '../../src/secret-store-sync/paced-transport.ts';
import { rateLimit } from '../support/kv/rate-limit.ts';
import { VirtualTime } from './virtual-time.ts';

const FASTEST = { perSecond: 100, burst: 100 };
const REQUEST = { method: 'GET', path: '/v1/secret/data/a', headers: {} } as const;
const MINUTE = 60_000;

interface Quota {
  readonly requests: number;
  readonly intervalMs: number;
  readonly hasHeaders: boolean;
}

interface Counts {
  accepted: number;
  refused: number;
}

/** Requests that 16 senders bring through in a minute. */
async function minuteOf(quota: Quota, startMs: number): Promise<Counts> {
  const time = new VirtualTime();
  time.passed = startMs;
  const limit = rateLimit({ ...quota, now: () => time.passed });
  const counts = { accepted: 0, refused: 0 };
  const transport = pacedTransport(
    {
      origin: 'http://store',
      close: () => {},
      send: async () => {
        const { isAllowed, headers } = limit();
        if (isAllowed && time.passed < startMs + MINUTE) counts.accepted += 1;
        return { status: isAllowed ? 200 : 429, headers, text: '' };
      },
    },
    {
      pace: new LearnedPace(FASTEST),
      timing: time,
      sending: () => {},
      refused: () => {
        counts.refused += 1;
      },
    },
  );
  const send = async (): Promise<void> => {
    while (time.passed < startMs + MINUTE) await transport.send(REQUEST);
  };
  await Promise.all(Array.from({ length: 16 }, send));
  return counts;
}

test.each([1, 4, 10, 30, 60, 90])(
  'a quota of %i requests per second is used within a seventh, whenever its windows begin',
  async (requests) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 999 }),
        fc.boolean(),
        async (start, hasHeaders) => {
          const { accepted, refused } = await minuteOf(
            { requests, intervalMs: 1_000, hasHeaders },
            start,
          );

          expect(accepted).toBeGreaterThanOrEqual((6 / 7) * requests * 60);
          // About one refusal per second.
          expect(refused).toBeLessThan(120);
        },
      ),
      { numRuns: 10 },
    );
  },
);

test.each([5, 60])(
  'a quota of %i seconds is spread over them, where the store shows what is left',
  async (seconds) => {
    const quota = { requests: 10 * seconds, intervalMs: 1_000 * seconds, hasHeaders: true };
    const { accepted, refused } = await minuteOf(quota, 0);

    expect(accepted).toBeGreaterThanOrEqual(540);
    expect(refused).toBeLessThan(20);
  },
);

function answering(
  answer: () => StoreResponse,
  timing: Timing,
): { send: () => Promise<StoreResponse>; close: () => void; sent: () => number } {
  let sent = 0;
  const transport = pacedTransport(
    {
      origin: 'http://store',
      close: () => {},
      send: async () => {
        sent += 1;
        return answer();
      },
    },
    { pace: new LearnedPace(FASTEST), timing, sending: () => {}, refused: () => {} },
  );
  return {
    send: () => transport.send(REQUEST),
    close: () => transport.close(),
    sent: () => sent,
  };
}

function refusal(retryAfter?: string): StoreResponse {
  return {
    status: 429,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    text: '',
  };
}

test('a store that refuses everything is an outage after half a minute and few requests', async () => {
  const time = new VirtualTime();
  const store = answering(() => refusal(), time);

  expect((await store.send()).status).toBe(429);
  expect(time.passed).toBeGreaterThan(30_000);
  expect(store.sent()).toBeLessThan(45);
});

test('a store that names a short time is asked again after it, one that names a long time is not', async () => {
  const time = new VirtualTime();
  const answers = [refusal('3'), { status: 200, headers: {}, text: '' }, refusal('600')];
  const store = answering(() => answers.shift() ?? refusal(), time);

  expect((await store.send()).status).toBe(200);
  expect(time.passed).toBeGreaterThanOrEqual(3_000);
  expect((await store.send()).status).toBe(429);
  expect(store.sent()).toBe(3);
});

test('requests that wait are rejected when the connection is closed, and none is sent', async () => {
  const waiting: Timing = {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const store = answering(() => refusal('3'), waiting);
  const both = Promise.allSettled([store.send(), store.send()]);
  await new Promise((resolve) => setImmediate(resolve));
  store.close();

  for (const ended of await both) {
    expect(ended).toMatchObject({ status: 'rejected', reason: expect.any(TransportError) });
  }
  expect(store.sent()).toBe(1);
});

/** Who waits for the newest is shown it, whoever knows what that is. */
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  Freshness,
  type FreshnessOptions,
  type Writer,
} from '../../../src/state/following/freshness.ts';

function silent(): Promise<never> {
  return new Promise(() => undefined);
}

interface Asked {
  records: number;
}

function open(
  writer: Writer | undefined,
  newest: () => Promise<bigint> = silent,
  more: Partial<FreshnessOptions> = {},
): { freshness: Freshness; asked: Asked } {
  const asked = { records: 0 };
  const freshness = new Freshness({
    place: 'somewhere',
    writer,
    newest: async () => {
      asked.records += 1;
      const written = await newest();
      return { written, clock: written };
    },
    received: () => -1n,
    onRewound: () => undefined,
    ...more,
  });
  freshness.show(5n, 50);
  return { freshness, asked };
}

function knowing(known: bigint | undefined, ask: Writer['ask'] = silent): Writer {
  return { known: () => known, ask };
}

async function isWaiting(of: Promise<void>): Promise<boolean> {
  const later = new Promise<'waiting'>((resolve) => setImmediate(() => resolve('waiting')));
  return (await Promise.race([of, later])) === 'waiting';
}

test('an answer of the writer is enough, and no other is asked', async () => {
  const { freshness, asked } = open(knowing(5n));
  await freshness.barrier();
  expect(freshness.loaded).toBe(true);
  expect(asked.records).toBe(0);
});

test.each([
  ['known', knowing(6n)],
  ['told', knowing(undefined, async () => 6n)],
])('a reader is never shown less than is %s', async (_name, writer) => {
  const { freshness } = open(writer);
  const read = freshness.barrier(20_000);
  for (let i = 0; i < 5; i++) expect(await isWaiting(read)).toBe(true);
  freshness.show(6n, 60);
  await read;
});

test('a question during another question does not get its answer', async () => {
  const answers: ((revision: bigint) => void)[] = [];
  const { freshness } = open(
    knowing(undefined, () => new Promise((resolve) => answers.push(resolve))),
  );
  const first = freshness.barrier(20_000);
  const second = freshness.barrier(20_000);
  answers[0]?.(5n);
  await first;
  expect(await isWaiting(second)).toBe(true);
  answers[1]?.(6n);
  expect(await isWaiting(second)).toBe(true);
  freshness.show(6n, 60);
  await second;
});

test.each<[string, Writer['ask']]>([
  ['cannot tell', async () => undefined],
  ['says nothing', silent],
])('a reader asks the records where the writer %s', async (_name, ask) => {
  const { freshness, asked } = open(knowing(undefined, ask), async () => 5n);
  await freshness.barrier(20_000);
  expect(asked.records).toBe(1);
});

test('a late answer of the writer counts if the records have none', async () => {
  let tell: (revision: bigint) => void = () => undefined;
  const told = new Promise<bigint>((resolve) => {
    tell = resolve;
  });
  const records = Promise.reject<bigint>(new Error('away'));
  records.catch(() => undefined);
  const { freshness, asked } = open(
    knowing(undefined, () => told),
    () => records,
  );
  const read = freshness.barrier(20_000);
  await expect.poll(() => asked.records, { timeout: 20_000, interval: 1 }).toBe(1);
  tell(5n);
  await read;
});

test('a question without an answer ends, and the next one asks again', async () => {
  const { freshness, asked } = open(knowing(undefined, silent), async () => {
    throw new Error('away');
  });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  for (let times = 1; times <= 2; times++) {
    const read = freshness.barrier();
    const refused = expect(read).rejects.toThrow('cannot be followed at the moment');
    await vi.advanceTimersByTimeAsync(5000);
    await refused;
    expect(asked.records).toBe(times);
  }
});

test.each([
  ['older than what was received before is a backup that was put back', 9n, 1],
  ['older than what was received meanwhile is only late', 4n, 0],
])('an answer that is %s', async (_name, before, rewound) => {
  let received = before;
  let rewinds = 0;
  const { freshness } = open(undefined, async () => 5n, {
    received: () => received,
    onRewound: () => {
      rewinds += 1;
    },
  });
  const read = freshness.barrier(20_000);
  received = 9n;
  await read;
  expect(rewinds).toBe(rewound);
});

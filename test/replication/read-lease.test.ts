/**
 * A leader that says that nobody else has written must be right, however long it was stopped, wherever
 * in between, and however late etcd answers. The clock is ours: every step of a case moves it on.
 */
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { ReadLease } from '../../src/replication/read-lease.ts';
import { runs } from '../support/properties.ts';

/** What the next leader waits for, as it does: by its own clock, which may go a tenth faster. */
const SILENT_MS = 500;
const FASTER = 1.1;

interface Question {
  readonly answer: (revision: bigint) => void;
}

/** etcd as far as it is asked here: who leads at the moment at which a question is decided. */
class World {
  now = 1_000_000;
  wallOffset = 0;
  questions: Question[] = [];
  /** When somebody else was elected. */
  elected: number | undefined;

  readonly etcd = {
    range: () =>
      new Promise<never>((resolve) => {
        const answer = (createRevision: bigint): void =>
          resolve({ kvs: [{ createRevision }], revision: 1n, more: false, count: 1 } as never);
        this.questions.push({ answer });
      }),
  };

  constructor() {
    vi.spyOn(performance, 'now').mockImplementation(() => this.now);
    vi.spyOn(Date, 'now').mockImplementation(() => this.now + this.wallOffset);
  }

  lease(): ReadLease {
    const term = { number: 7n, signal: new AbortController().signal };
    return new ReadLease({ etcd: this.etcd, key: 'leader', term });
  }

  /** Whether somebody else may have written by now. */
  get isWritten(): boolean {
    return this.elected !== undefined && this.now >= this.elected + SILENT_MS / FASTER;
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

/** Whatever needs no more time. */
async function turn(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

type Step =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'decide' }
  | { readonly do: 'answer' }
  | { readonly do: 'ask' }
  | { readonly do: 'elect' }
  | { readonly do: 'set'; readonly by: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(600) }) },
  { weight: 3, arbitrary: fc.constant({ do: 'decide' } as const) },
  { weight: 3, arbitrary: fc.constant({ do: 'answer' } as const) },
  { weight: 6, arbitrary: fc.constant({ do: 'ask' } as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'elect' } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      by: fc.integer({ min: -9e6, max: 9e6 }),
    }),
  },
);

test('a valid lease means that no other replica has written yet', async () => {
  let sure = 0;
  let written = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const world = new World();
      const lease = world.lease();
      /** Decided by etcd, and on the way back. */
      const decided: (() => void)[] = [];
      const asked: Promise<void>[] = [];
      for (const each of steps) {
        if (each.do === 'pass') world.now += each.ms;
        else if (each.do === 'set') world.wallOffset += each.by;
        else if (each.do === 'elect') world.elected ??= world.now;
        else if (each.do === 'answer') decided.shift()?.();
        else if (each.do === 'decide') {
          const question = world.questions.shift();
          const leads = world.elected === undefined ? 7n : 8n;
          if (question !== undefined) decided.push(() => question.answer(leads));
        } else {
          if (lease.isValid()) {
            sure += 1;
            expect(world.isWritten).toBe(false);
          }
          // What was written when the question came must not be missed; later writes may be.
          const before = world.isWritten;
          asked.push(
            lease.confirm().then((isSure) => {
              if (isSure && before) throw new Error('sure, although another had written');
            }),
          );
        }
        if (world.isWritten) written += 1;
        await turn();
      }
      while (world.questions.length + decided.length > 0) {
        world.questions.shift()?.answer(8n);
        decided.shift()?.();
        await turn();
      }
      await Promise.all(asked);
    }),
    { numRuns: runs(300) },
  );
  expect(Math.min(sure, written)).toBeGreaterThan(100);
});

test('etcd is asked a few times a second, however many read', async () => {
  const world = new World();
  const lease = world.lease();
  let questions = 0;
  expect(lease.isValid()).toBe(false);
  const first = lease.confirm();
  for (let ms = 0; ms < 1000; ms++) {
    for (let i = 0; i < 5; i++) if (ms > 0) expect(lease.isValid()).toBe(true);
    for (const { answer } of world.questions.splice(0)) {
      questions += 1;
      answer(7n);
    }
    await turn();
    world.now += 1;
  }
  await first;
  expect(questions).toBeLessThan(10);
});

test('an answer counts for less than its age limit, and is renewed only once it is older', async () => {
  const world = new World();
  const lease = world.lease();
  const sure = lease.confirm();
  world.questions.shift()?.answer(7n);
  await sure;
  world.now += 150;
  expect(lease.isValid()).toBe(true);
  await turn();
  expect(world.questions).toEqual([]);
  world.now += 250;
  expect(lease.isValid()).toBe(false);
  await turn();
  expect(world.questions).toHaveLength(1);
});

test('a clock that is set forward makes it ask etcd, and one that is set back changes nothing', async () => {
  const world = new World();
  const lease = world.lease();
  const sure = lease.confirm();
  world.questions.shift()?.answer(7n);
  expect(await sure).toBe(true);
  world.wallOffset = -3_600_000;
  expect(lease.isValid()).toBe(true);
  world.now += 450;
  expect(lease.isValid()).toBe(false);
  world.questions.shift()?.answer(7n);
  await turn();
  expect(lease.isValid()).toBe(true);
  world.wallOffset = 0;
  expect(lease.isValid()).toBe(false);
});

test('a new leader lets half a second pass before it writes', async () => {
  const started = performance.now();
  await new ReadLease({
    etcd: { range: () => new Promise(() => undefined) },
    key: 'leader',
    term: { number: 1n, signal: new AbortController().signal },
  }).begins;
  expect(performance.now() - started).toBeGreaterThanOrEqual(SILENT_MS);
});

import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyedMutex, Mutex } from '../../src/concurrency/mutex.ts';

interface Job {
  readonly key: string;
  readonly ms: number;
  readonly fails: boolean;
}

const jobs = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    ms: fc.integer({ min: 0, max: 2 }),
    fails: fc.boolean(),
  }),
  { maxLength: 12 },
);

/** A job that records when it starts and ends. */
function recorded(events: string[], { ms, fails }: Job, index: number) {
  return async (): Promise<number> => {
    events.push(`start ${index}`);
    await sleep(ms);
    events.push(`end ${index}`);
    if (fails) throw new Error(`job ${index} failed`);
    return index;
  };
}

const inOrder = (indexes: readonly number[]): string[] =>
  indexes.flatMap((index) => [`start ${index}`, `end ${index}`]);

describe('Mutex', () => {
  test('runs jobs one at a time in the order of the calls, and each caller gets its own result', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, async (all) => {
        const mutex = new Mutex();
        const events: string[] = [];
        const results = await Promise.allSettled(
          all.map((job, index) => mutex.run(recorded(events, job, index))),
        );

        expect(events).toEqual(inOrder(all.map((_job, index) => index)));
        expect(results.map(({ status }) => status === 'rejected')).toEqual(
          all.map(({ fails }) => fails),
        );
      }),
      { numRuns: 30 },
    );
  });

  test('goes on after a job that throws before its first await', async () => {
    const mutex = new Mutex();
    const thrown = mutex.run((): number => {
      throw new Error('at once');
    });

    await expect(thrown).rejects.toThrow('at once');
    await expect(mutex.run(() => 1)).resolves.toBe(1);
  });

  test('is idle when every job has ended, those that failed too', async () => {
    const mutex = new Mutex();
    const events: string[] = [];
    const failed = mutex.run(recorded(events, { key: '', ms: 1, fails: true }, 0));
    const last = mutex.run(recorded(events, { key: '', ms: 1, fails: false }, 1));
    await mutex.idle();

    expect(events).toEqual(inOrder([0, 1]));
    await expect(failed).rejects.toThrow('job 0 failed');
    await last;
  });
});

describe('KeyedMutex', () => {
  test('runs jobs of one key one at a time, in order', async () => {
    await fc.assert(
      fc.asyncProperty(jobs, async (all) => {
        const mutex = new KeyedMutex();
        const events: string[] = [];
        await Promise.allSettled(
          all.map((job, index) => mutex.run(job.key, recorded(events, job, index))),
        );

        for (const key of ['a', 'b', 'c']) {
          const own = all.flatMap((job, index) => (job.key === key ? [index] : []));
          const ofKey = events.filter((event) => own.includes(Number(event.split(' ')[1])));
          expect(ofKey).toEqual(inOrder(own));
        }
      }),
      { numRuns: 30 },
    );
  });

  test('does not let jobs of other keys wait', async () => {
    const mutex = new KeyedMutex();
    let end: () => void = () => undefined;
    const held = mutex.run('a', () => new Promise<void>((resolve) => (end = resolve)));

    await expect(mutex.run('b', () => 'done')).resolves.toBe('done');
    end();
    await held;
    await mutex.idle();
  });
});

/** Answers of one turn of the event loop: each is written once, in order, and none is kept waiting. */
import { describe, expect, test } from 'vitest';
import { ResponseBatch } from '../../../src/server/output/response-batching.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function asker(): { ask(count: number): void; readonly written: number[] } {
  const together = new ResponseBatch();
  const written: number[] = [];
  let next = 0;
  const ask = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const mine = next++;
      together.write(() => void written.push(mine));
    }
  };
  return { ask, written };
}

describe('answers', () => {
  test('an answer to a single client is written at once, tick after tick', async () => {
    const { ask, written } = asker();
    for (let i = 1; i <= 5; i++) {
      ask(1);
      expect(written).toHaveLength(i);
      await turn();
    }
  });

  test('answers of a tick after a busy one are written at its end, in order', async () => {
    const { ask, written } = asker();
    ask(10);
    expect(written).toHaveLength(10);
    await turn();
    ask(5);
    expect(written).toHaveLength(10);
    await turn();
    expect(written).toEqual(Array.from({ length: 15 }, (_, i) => i));
    // The last of them, and then nobody is busy any more.
    ask(1);
    await turn();
    ask(1);
    expect(written).toHaveLength(17);
  });

  test('many answers do not wait for the end of the tick', async () => {
    const { ask, written } = asker();
    ask(4);
    await turn();
    ask(100);
    expect(written.length).toBeGreaterThanOrEqual(64);
    await turn();
    expect(written).toEqual(Array.from({ length: 104 }, (_, i) => i));
  });
});

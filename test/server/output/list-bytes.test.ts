/** Items of lists that are kept as bytes: the same bytes, for as long as there is room. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { collectGarbage } from '../../../src/concurrency/index.ts';
import { ListBytes, totalLength } from '../../../src/server/output/list-bytes.ts';

const item = (text: string) => ({ json: () => Buffer.from(JSON.stringify(text)) });
const list = (mark: string, bytes: number) => [item(mark), item('x'.repeat(bytes))];
const expected = (mark: string, bytes: number): string => `["${mark}","${'x'.repeat(bytes)}"]}`;
const textOf = (parts: readonly Buffer[]): string => Buffer.concat(parts).toString();

describe('items of a list', () => {
  test('are kept when they are asked for again', () => {
    const ready = new ListBytes();
    const items = list('a', 10_000);
    const first = ready.of(items);
    expect(ready.size).toBe(0);
    const second = ready.of(items);
    expect(ready.size).toBe(totalLength(second));
    expect(ready.of(items)).toBe(second);
    expect([textOf(first), textOf(second)]).toEqual(
      Array.from({ length: 2 }, () => expected('a', 10_000)),
    );
  });

  test('items of another array are encoded again, whatever is cached', () => {
    const ready = new ListBytes();
    const items = list('a', 10_000);
    for (let i = 0; i < 3; i++) ready.of(items);
    const others = [item('b'), ...items.slice(1)];
    for (let i = 0; i < 3; i++) {
      expect(textOf(ready.of(others))).toBe(expected('b', 10_000));
      expect(textOf(ready.of(items))).toBe(expected('a', 10_000));
    }
  });

  test.each([
    ['small', 100],
    ['larger than all the room', 60_000],
  ])('items that are %s are not cached', (_, bytes) => {
    const ready = new ListBytes(50_000);
    const items = list('a', bytes);
    for (let i = 0; i < 3; i++) expect(textOf(ready.of(items))).toBe(expected('a', bytes));
    expect(ready.size).toBe(0);
  });

  test('the least recently used items make room for others', () => {
    const ready = new ListBytes(50_000);
    const lists = ['a', 'b', 'c', 'd', 'e'].map((mark) => list(mark, 20_000));
    const [a = []] = lists;
    for (let i = 0; i < 4; i++) {
      for (const [at, items] of lists.entries()) {
        const bytes = ready.of(items);
        expect(textOf(bytes)).toBe(expected('abcde'[at] ?? '', 20_000));
        expect(ready.size).toBeLessThanOrEqual(50_000);
        // The one that is asked for all the time stays.
        const kept = ready.of(a);
        if (i > 0) expect(ready.of(a)).toBe(kept);
      }
    }
  });

  test.each([
    { of: 'no items', sizes: [], parts: 1 },
    { of: 'one small item', sizes: [10], parts: 1 },
    { of: 'many small items', sizes: Array.from({ length: 2000 }, () => 1000), parts: 13 },
    {
      of: 'an item that is larger than a part between small ones',
      sizes: [9, 600_000, 9],
      parts: 3,
    },
  ])('$of are the same JSON in parts', ({ sizes, parts }) => {
    const items = sizes.map((size, at) => item(`${at}${'x'.repeat(size)}`));
    const found = new ListBytes().of(items);
    expect(found).toHaveLength(parts);
    const texts = items.map(({ json }) => json().toString());
    expect(textOf(found)).toBe(`[${texts.join()}]}`);
  });

  test('are made once for all who ask before they are made', async () => {
    const ready = new ListBytes();
    const items = list('a', 10_000);
    const parts = [Buffer.from('[]}')];
    let makings = 0;
    const make = async () => {
      makings++;
      await setImmediate();
      return parts;
    };
    const asked = [ready.prepared(items, make), ready.prepared(items, make)];
    expect(await Promise.all(asked)).toEqual([parts, parts]);
    expect(makings).toBe(1);
  });

  test('are made again after a failure', async () => {
    const ready = new ListBytes();
    const items = list('a', 10_000);
    const failing = () => Promise.reject(new Error('no memory'));
    await expect(ready.prepared(items, failing)).rejects.toThrow('no memory');
    const parts = [Buffer.from('[]}')];
    expect(await ready.prepared(items, () => Promise.resolve(parts))).toBe(parts);
  });

  test('bytes larger than the room are shared while an answer holds them', async () => {
    const ready = new ListBytes(50_000);
    const items = list('a', 600_000);
    const held = ready.of(items);
    const make = () => Promise.reject(new Error('made twice'));
    expect(await ready.prepared(items, make)).toBe(held);
    expect(ready.of(items)).toBe(held);
    expect(ready.size).toBe(0);
  });

  test('bytes larger than the room are freed when no answer holds them', async () => {
    const ready = new ListBytes(50_000);
    const items = list('a', 600_000);
    ready.of(items);
    // A weak reference is strong until the end of the turn of the event loop that made or read it.
    await setImmediate();
    await collectGarbage();
    const made = [Buffer.from('[]}')];
    expect(await ready.prepared(items, () => Promise.resolve(made))).toBe(made);
  });
});

/** Items of lists that are kept as bytes: the same bytes, for as long as there is room. */
import { describe, expect, test } from 'vitest';
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
});

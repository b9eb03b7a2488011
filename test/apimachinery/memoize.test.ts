import { describe, expect, test } from 'vitest';
import { memoize } from '../../src/apimachinery/memoize.ts';

describe('a function that remembers', () => {
  test('works each text out once', () => {
    const { calls, double } = counting(8);

    expect(['a', 'b', 'a', 'a'].map(double)).toEqual(['aa', 'bb', 'aa', 'aa']);
    expect(calls).toEqual(['a', 'b']);
  });

  test('holds no more than it was told to', () => {
    const { calls, double } = counting(2);
    for (const text of ['a', 'b', 'c', 'a', 'c']) double(text);

    expect(calls).toEqual(['a', 'b', 'c', 'a']);
  });

  test('keeps no long text, and no failure', () => {
    const { calls, double } = counting(8);
    const long = 'x'.repeat(513);
    for (const text of [long, long]) double(text);
    for (const text of ['', '']) expect(() => double(text)).toThrow('empty');

    expect(calls).toEqual([long, long, '', '']);
  });

  function counting(most: number): { calls: string[]; double: (text: string) => string } {
    const calls: string[] = [];
    const double = memoize(most, (text) => {
      calls.push(text);
      if (text === '') throw new Error('empty');
      return text + text;
    });
    return { calls, double };
  }
});

import { expect, test } from 'vitest';
import { parseQuantity } from '../../../src/kinds/config/quantity.ts';

test.each<[string | number, number | undefined]>([
  ['1', 1],
  [2, 2],
  ['500m', 0.5],
  ['1.5', 1.5],
  ['.5', 0.5],
  ['1e3', 1000],
  ['1E3', 1000],
  ['1E', 1e18],
  ['1k', 1000],
  ['1Ki', 1024],
  ['2Gi', 2 * 2 ** 30],
  ['-1', -1],
  ['', undefined],
  ['1 Gi', undefined],
  ['1K', undefined],
  ['1gi', undefined],
  ['lots', undefined],
  ['1m5', undefined],
])('%j is %j', (text, amount) => {
  expect(parseQuantity(text)).toBe(amount);
});

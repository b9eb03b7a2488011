import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cloneJson, isRecord } from '../../src/apimachinery/object.ts';

/** Whether a map or list of one value is also part of the other. */
function shares(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null) return false;
  if (a === b) return true;
  return Object.keys(a).some((key) =>
    shares((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

test('a copy equals the value and shares no map and no list with it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = cloneJson(value);

      expect(copy).toEqual(value);
      expect(shares(value, copy)).toBe(false);
    }),
  );
});

test('a key named __proto__ stays a key', () => {
  const value: unknown = JSON.parse('{"a":{"__proto__":{"polluted":true}}}');

  const copy = cloneJson(value);

  expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
  const inner = isRecord(copy) ? copy['a'] : undefined;
  expect(Object.getPrototypeOf(inner)).toBe(Object.prototype);
});

/** Secrets by path: masking and collecting agree with a comparison of each value with each path. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FieldPath, isRecord } from '../../../src/apimachinery/index.ts';
import { MASK, masked, type SecretPaths, valuesAt } from '../../../src/kinds/secrets/masking.ts';

const key = fc.constantFrom('a', 'b', 'c', '*', '0', '1');
const paths = fc.array(fc.array(key, { maxLength: 4 }), { maxLength: 5 });
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('x', 'y', 1, null, true),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '*', '0'), tie('tree'), { noNullPrototype: true }),
  ),
}));

function isCovered(at: FieldPath, secrets: SecretPaths): boolean {
  return secrets.some(
    (secret) =>
      secret.length <= at.length &&
      secret.every((step, i) => step === '*' || step === String(at[i])),
  );
}

function walked(value: unknown, at: FieldPath, secrets: SecretPaths, found: Set<string>): unknown {
  const isSecret = isCovered(at, secrets);
  const inside = (item: unknown, step: string | number): unknown =>
    walked(item, [...at, step], secrets, found);
  let copy = value;
  if (Array.isArray(value)) copy = value.map(inside);
  else if (isRecord(value)) {
    copy = Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, inside(item, name)]),
    );
  } else if (isSecret && (typeof value === 'string' || typeof value === 'number')) {
    found.add(String(value));
  }
  return isSecret ? MASK : copy;
}

test('values are masked, and collected, at exactly the secret paths and below', () => {
  fc.assert(
    fc.property(tree, fc.array(key, { maxLength: 2 }), paths, (value, at, secrets) => {
      expect(masked(value, at, secrets)).toEqual(walked(value, at, secrets, new Set()));
      const found = new Set<string>();
      walked(value, [], secrets, found);
      expect(valuesAt([value], secrets).sort()).toEqual([...found].sort());
    }),
  );
});

test('fields with the name of the wildcard, one within the other, are masked in one pass', () => {
  const path = Array.from({ length: 90 }, () => '*');
  const object = path.reduceRight<unknown>((value, step) => ({ [step]: value }), 'secret');
  expect(valuesAt([object], [path])).toEqual(['secret']);
  expect(JSON.stringify(masked(object, [], [path]))).not.toContain('secret');
});

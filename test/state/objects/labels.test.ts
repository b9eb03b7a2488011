import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { labelsOf, sharedLabels } from '../../../src/state/objects/labels.ts';

describe('labels of an object in JSON', () => {
  test.each([
    ['no metadata', { kind: 'Team' }, undefined],
    ['none', { metadata: { name: 'a' } }, undefined],
    ['some', { metadata: { name: 'a', labels: { b: 'c' } } }, { b: 'c' }],
    ['an empty value', { metadata: { labels: { b: '' } } }, { b: '' }],
    [
      'labels elsewhere',
      { labels: { x: 'y' }, metadata: {}, spec: { labels: { z: '' } } },
      undefined,
    ],
    [
      'texts that look like them',
      {
        a: '"metadata":{"labels":{"x":"y"}}',
        metadata: { n: '\\"labels":{"x":"y"}', labels: { b: 'c' } },
      },
      { b: 'c' },
    ],
    [
      'what is deeper',
      {
        metadata: {
          managedFields: [{ f: { metadata: { labels: { x: 'y' } } } }],
          labels: { b: '}' },
        },
      },
      { b: '}' },
    ],
  ])('are found: %s', (_name, object, expected) => {
    expect(labelsOf(JSON.stringify(object))).toEqual(expected);
  });

  test('are those that parsing finds, for any object', () => {
    const labels = fc.dictionary(fc.string(), fc.string());
    const metadata = fc.record(
      { name: fc.string(), annotations: fc.dictionary(fc.string(), fc.string()), labels },
      { requiredKeys: [] },
    );
    const object = fc.record(
      { apiVersion: fc.string(), spec: fc.jsonValue(), metadata, status: fc.jsonValue() },
      { requiredKeys: [] },
    );
    const shuffled = fc
      .tuple(object, fc.array(fc.nat(3)))
      .map(([value, order]) =>
        Object.fromEntries(
          Object.entries(value).sort(
            (a, b) => (order[a[0].length] ?? 0) - (order[b[0].length] ?? 0),
          ),
        ),
      );
    fc.assert(
      fc.property(shuffled, (value) => {
        const json = JSON.stringify(value);
        expect(labelsOf(json)).toEqual(JSON.parse(json).metadata?.labels);
      }),
    );
  });

  test('are one value where they are equal, however they came', () => {
    const json = JSON.stringify({ metadata: { labels: { app: 'one', tier: 'two' } } });
    expect(labelsOf(json)).toBe(labelsOf(json));
    expect(sharedLabels({ app: 'one', tier: 'two' })).toBe(labelsOf(json));
    expect(() => Object.assign(labelsOf(json) ?? {}, { app: 'x' })).toThrow();
  });
});

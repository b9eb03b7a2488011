import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyString, type ObjectKey } from '../../src/apimachinery/key.ts';
import { KeyMap } from '../../src/apimachinery/key-map.ts';
import { runs } from '../support/properties.ts';

const part = fc.constantFrom('a', 'b', '');
const key = fc.record<ObjectKey>({ group: part, kind: part, namespace: part, name: part });
const act = fc.record({ key, value: fc.option(fc.nat(9), { nil: undefined }) });

test('a map by identity is a map by the text of the identity', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), fc.array(key), (acts, asked) => {
      const map = new KeyMap<number>();
      const model = new Map<string, number>();
      for (const { key: at, value } of acts) {
        if (value === undefined) expect(map.delete(at)).toBe(model.delete(keyString(at)));
        else {
          map.set(at, value);
          model.set(keyString(at), value);
        }
        expect(map.size).toBe(model.size);
      }
      for (const copy of [map, new KeyMap(map)]) {
        for (const at of asked) {
          expect(copy.get(at)).toBe(model.get(keyString(at)));
          expect(copy.has(at)).toBe(model.has(keyString(at)));
        }
        const entries = [...copy.entries()].map(([at, value]) => [keyString(at), value] as const);
        expect(new Map(entries)).toEqual(model);
        expect([...copy.values()].sort()).toEqual([...model.values()].sort());
      }
    }),
    { numRuns: runs(200) },
  );
});

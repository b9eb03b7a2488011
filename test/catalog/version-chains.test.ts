/** A map as it was before a step equals a copy from that time, whatever is changed and undone later. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyMap, type ObjectKey } from '../../src/apimachinery/index.ts';
import type { Entries } from '../../src/catalog/overlay-map.ts';
import { UndoLog } from '../../src/catalog/undo-log.ts';
import { VersionChains } from '../../src/catalog/version-chains.ts';

const keyOf = (name: string): ObjectKey => ({ group: 'g', kind: 'K', namespace: 'n', name });

/** A step sets or removes entries, or undoes the step before. */
const step = fc.oneof(
  fc.constant('undo' as const),
  fc.array(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.option(fc.nat(9), { nil: undefined }),
    }),
  ),
);

function shown<K>(map: Entries<K, number>, nameOf: (key: K) => string): unknown {
  const entries = [...map.entries()].map(([key, value]) => [nameOf(key), value] as const);
  expect([...map.values()].sort()).toEqual(entries.map(([, value]) => value).sort());
  for (const [key, value] of map.entries())
    expect([map.get(key), map.has(key)]).toEqual([value, true]);
  return [map.size, entries.sort(([a], [b]) => (a < b ? -1 : 1))];
}

test.each<[string, () => unknown, (name: string) => unknown]>([
  ['paths', () => new Map<string, number>(), (name) => name],
  ['keys of objects', () => new KeyMap<number>(), keyOf],
])('a past map by %s', (_by, make, toKey) => {
  const nameOf = (key: unknown): string => (key as ObjectKey).name ?? (key as string);
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), fc.nat(9), (steps, dropped) => {
      const map = make() as Entries<unknown, number>;
      const chains = new VersionChains();
      const logs: UndoLog[] = [];
      const before: unknown[] = [];
      for (const [i, changes] of steps.entries()) {
        before.push(shown(map, nameOf));
        let log = new UndoLog();
        if (changes === 'undo') log = logs.at(-1)?.run() ?? log;
        else {
          for (const { name, value } of changes) {
            const key = toKey(name);
            log.map(map, key);
            if (value === undefined) map.delete(key);
            else map.set(key, value);
          }
        }
        chains.add(i, log);
        logs.push(log);
      }
      const first = Math.min(dropped, logs.length);
      for (const log of logs.slice(0, first)) chains.dropOldest(log);
      for (let i = first; i < logs.length; i += 1) {
        expect(shown(chains.before(i, map), nameOf)).toEqual(before[i]);
      }
    }),
  );
});

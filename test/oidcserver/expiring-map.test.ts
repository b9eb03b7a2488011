/** What strangers can put into memory, and how much of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExpiringMap } from '../../src/oidcserver/expiring-map.ts';
import { runs } from '../support/properties.ts';

const LIMITS = { entries: 5, bytes: 200 };

test('nothing is read after its time, and no more is kept than there is room for', () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    size: fc.nat(60),
    seconds: fc.integer({ min: 1, max: 5 }),
    wait: fc.nat(3),
    deletes: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let now = 0;
      const gone: string[] = [];
      const map = new ExpiringMap<string>(LIMITS, { now: () => now }, (key) => gone.push(key));
      const model = new Map<string, { value: string; until: number }>();
      for (const { key, size, seconds, wait, deletes } of steps) {
        now += wait * 1000;
        const value = 'x'.repeat(size);
        const before = gone.length;
        if (deletes) map.delete(key);
        else map.set(key, value, seconds);
        for (const lost of gone.slice(before)) model.delete(lost);
        if (!deletes) model.set(key, { value, until: now + seconds * 1000 });
        expect(map.size).toBeLessThanOrEqual(LIMITS.entries);
        for (const one of 'abcdefgh') {
          const known = model.get(one);
          const expected = known !== undefined && known.until > now ? known.value : undefined;
          const found = map.get(one);
          if (one !== key || deletes) expect([expected, undefined]).toContain(found);
          else expect(found).toBe(value);
        }
      }
    }),
    { numRuns: runs(300) },
  );
});

test('what is larger than the whole room is not kept, and takes nothing away', () => {
  const map = new ExpiringMap<string>(LIMITS, { now: () => 0 });
  map.set('small', 'x', 10);
  map.set('large', 'x'.repeat(1000), 10);
  expect(map.get('large')).toBeUndefined();
  expect(map.get('small')).toBe('x');
});

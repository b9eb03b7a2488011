/** What strangers can put into memory, and how much of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExpiringMap } from '../../src/apimachinery/expiring-map.ts';
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
        else map.set(key, value, { seconds });
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

test('an entry larger than the limit is not stored, and evicts nothing', () => {
  const map = new ExpiringMap<string>(LIMITS, { now: () => 0 });
  map.set('small', 'x', { seconds: 10 });
  map.set('large', 'x'.repeat(1000), { seconds: 10 });
  expect(map.get('large')).toBeUndefined();
  expect(map.get('small')).toBe('x');
});

test.each([
  ['entries', { entries: 10_000, bytes: 2 ** 30 }],
  ['bytes', { entries: 1_000_000, bytes: 10_000 * 100 }],
])(
  'unauthenticated clients of 172 networks who fill it push out nothing of others: %s',
  (_claim, limits) => {
    const map = new ExpiringMap<string>(limits, { now: () => 0 });
    const seconds = 600;
    for (let i = 0; i < 20; i++) map.set(`ann-${i}`, 'x', { seconds, owner: 'ann' });
    for (let i = 0; i < 20_000; i++) {
      map.set(`s-${i}`, 'x'.repeat(90), { seconds, owner: `network ${i % 172}` });
    }
    for (let i = 0; i < 20; i++) expect(map.get(`ann-${i}`)).toBe('x');
    expect(map.get('s-19999')).toBeDefined();
    expect(map.get('s-0')).toBeUndefined();
  },
);

test('an unauthenticated client with every small network of a wide one pushes out nothing of others', () => {
  const map = new ExpiringMap<string>({ entries: 1000, bytes: 2 ** 30 }, { now: () => 0 });
  const seconds = 600;
  const at = (key: string, ...owner: string[]): void => map.set(key, 'x', { seconds, owner });
  at('ann', 'provider', 'site', 'client');
  for (let i = 0; i < 3000; i++) at(`s-${i}`, 'wide', `site ${i % 100}`, `client ${i}`);
  at('bob', 'provider', 'site of bob', 'client');
  at('eve', 'wide', 'site of eve', 'client');
  expect(['ann', 'bob', 'eve'].map((key) => map.get(key))).toEqual(['x', 'x', 'x']);
  expect(map.size).toBe(1000);
});

test('the map refuses the newest entry of a full owner, and evicts none', () => {
  const map = new ExpiringMap<string>({ entries: 2, bytes: 1000 }, { now: () => 0 });
  for (const key of ['a', 'b', 'c']) map.set(key, key, { seconds: 10, owner: key });
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual(['a', 'b', undefined]);
});

test('entries that are over make room before any other', () => {
  let now = 0;
  const map = new ExpiringMap<string>({ entries: 2, bytes: 1000 }, { now: () => now });
  map.set('over', 'x', { seconds: 1, owner: 'a' });
  map.set('live', 'x', { seconds: 10, owner: 'b' });
  now = 2000;
  map.set('new', 'x', { seconds: 10, owner: 'c' });
  expect([map.get('live'), map.get('new')]).toEqual(['x', 'x']);
});

test('entries that are over make room behind one that lives longer', () => {
  let now = 0;
  const map = new ExpiringMap<string>({ entries: 2, bytes: 1000 }, { now: () => now });
  map.set('live', 'x', { seconds: 10, owner: 'a' });
  map.set('over', 'x', { seconds: 1, owner: 'b' });
  now = 2000;
  map.set('new', 'x', { seconds: 10, owner: 'c' });
  expect([map.get('live'), map.get('new')]).toEqual(['x', 'x']);
});

import { EventEmitter, once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CountingSlots } from '../../src/auth/rate-limits/counting-slots.ts';
import { FailedLogins, networksOf } from '../../src/auth/rate-limits/failed-logins.ts';

function limiter() {
  const clock = { time: 0, now: () => clock.time };
  const logins = new FailedLogins(clock);
  const times = (count: number, source: string): number[] =>
    Array.from({ length: count }, () => logins.failed(source));
  return { clock, logins, times };
}

describe('a source that fails to sign in', () => {
  test('may fail twenty times at once and then has to wait', () => {
    const { times } = limiter();
    expect(times(20, '10.0.0.1')).toEqual(Array(20).fill(0));
    expect(times(2, '10.0.0.1')).toEqual([3, 3]);
  });

  test('may fail again after the time it was told, however often it failed', () => {
    const { clock, logins, times } = limiter();
    times(1000, '10.0.0.1');
    clock.time += 3000;
    expect(logins.failed('10.0.0.1')).toBe(0);
    expect(logins.failed('10.0.0.1')).toBeGreaterThan(0);
  });

  test('holds up no other', () => {
    const { logins, times } = limiter();
    times(100, '10.0.0.1');
    expect(logins.failed('10.0.0.2')).toBe(0);
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', true],
    // A customer has a /56 or more of the provider.
    ['2001:db8:1:200::1', '2001:db8:1:2ff::1', true],
    ['2001:db8:1:200::1', '2001:db8:1:300::1', false],
    ['2001:db8:1:1::1', '2001:db8:1:0101::1', false],
    ['::1', '2001:db8::1', false],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['::ffff:a00:1', '10.0.0.1', true],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.2', false],
  ])('%s and %s: one network is %s', (a, b, same) => {
    const { logins, times } = limiter();
    times(30, a);
    expect(logins.failed(b) > 0).toBe(same);
  });

  test('has to wait, however many others failed after it', () => {
    const { logins, times } = limiter();
    times(30, 'first');
    for (let i = 0; i < 20_000; i++) logins.failed(`other-${i}`);
    expect(logins.failed('first')).toBeGreaterThan(0);
  });

  test('waits no longer than it must after the clock went back by a day', () => {
    const { clock, logins, times } = limiter();
    clock.time = 86_400_000;
    times(30, '10.0.0.1');
    clock.time = 0;
    expect(logins.failed('10.0.0.1')).toBe(3);
  });
});

test('a limiter never counts less than happened, for any sequence of failures in few slots', () => {
  const rate = { burst: 4, perSecond: 1 };
  const steps = fc.array(
    fc.record({ key: fc.constantFrom(...'abcdefghij'), pause: fc.integer({ min: 0, max: 1500 }) }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, (sequence) => {
      const slots = new CountingSlots(rate, 4);
      const own = new Map<string, CountingSlots>();
      let now = 0;
      for (const { key, pause } of sequence) {
        now += pause;
        const alone = own.get(key) ?? new CountingSlots(rate, 4);
        own.set(key, alone);
        // The slots that others share let nothing through that slots of its own would refuse.
        if (slots.take(key, now) === 0) expect(alone.take(key, now)).toBe(0);
      }
    }),
  );
});

describe('an attempt that takes a while', () => {
  const refused = (wait: number): Error => new Error(`wait ${wait}`);

  test('counts while it is under way, and no more once it succeeded', async () => {
    const { logins } = limiter();
    const gate = new EventEmitter();
    const running = Array.from({ length: 20 }, () =>
      logins.attempt('a', refused, () => once(gate, 'open')),
    );
    await expect(logins.attempt('a', refused, async () => 'never')).rejects.toThrow('wait 3');
    gate.emit('open');
    await Promise.all(running);
    await expect(logins.attempt('a', refused, async () => 'done')).resolves.toBe('done');
  });

  test('counts when it failed', async () => {
    const { logins } = limiter();
    for (let i = 0; i < 20; i++) {
      const failing = logins.attempt('a', refused, () => Promise.reject(new Error('wrong')));
      await expect(failing).rejects.toThrow('wrong');
    }
    await expect(logins.attempt('a', refused, async () => 'never')).rejects.toThrow('wait');
  });
});

test('a client that is gone has no network', () => {
  expect(networksOf(undefined).at(-1)).toBe('');
});

import { describe, expect, test } from 'vitest';
import { FailedLogins } from '../../src/auth/failed-logins.ts';

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
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '2001:db8::1', false],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.2', false],
  ])('%s and %s: one network is %s', (a, b, same) => {
    const { logins, times } = limiter();
    times(30, a);
    expect(logins.failed(b) > 0).toBe(same);
  });

  test('is forgotten when ten thousand others came after it', () => {
    const { logins, times } = limiter();
    times(30, 'first');
    for (let i = 0; i < 10_000; i++) logins.failed(`other-${i}`);
    expect(logins.failed('first')).toBe(0);
  });
});

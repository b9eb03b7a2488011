/** Links that sign a user in once. */
import { expect, test } from 'vitest';
import { SignInLinks } from '../../src/sign-in/sign-in-links.ts';

const MINUTE_MS = 60_000;

function links(): { links: SignInLinks; pass(milliseconds: number): void } {
  let now = 1_000_000;
  const made = new SignInLinks({ now: () => now });
  return {
    links: made,
    pass: (milliseconds) => {
      now += milliseconds;
    },
  };
}

test('a link names its user once', () => {
  const { links: of } = links();
  const code = of.issue('ann');
  expect(of.redeem(code)).toBe('ann');
  expect(of.redeem(code)).toBeUndefined();
});

test.each([
  [9.9 * MINUTE_MS, 'ann'],
  [10 * MINUTE_MS, undefined],
  [-1, 'ann'],
])('a link of %i ms names %s', (milliseconds, user) => {
  const { links: of, pass } = links();
  const code = of.issue('ann');
  pass(milliseconds);
  expect(of.redeem(code)).toBe(user);
});

test.each([[''], ['x'], ['__proto__'], ['A'.repeat(43)], ['A'.repeat(100_000)]])(
  'an unknown code names no user, and uses no link up',
  (guess) => {
    const { links: of } = links();
    const code = of.issue('ann');
    expect(of.redeem(guess)).toBeUndefined();
    expect(of.redeem(code)).toBe('ann');
  },
);

test('the oldest link ends when there are more than sixteen', () => {
  const { links: of } = links();
  const codes = Array.from({ length: 17 }, (_, index) => of.issue(`user-${index}`));
  expect(codes.map((code) => of.redeem(code))).toEqual([
    undefined,
    ...codes.slice(1).map((_, index) => `user-${index + 1}`),
  ]);
});

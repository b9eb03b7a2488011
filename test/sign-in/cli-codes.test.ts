/** One-time codes for programs: who may redeem one, and how often. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CliCodes, isChallenge } from '../../src/sign-in/cli-codes.ts';

const verifier = 'v'.repeat(43);
const challenge = createHash('sha256').update(verifier).digest('base64url');

function codes(): { now: number; codes: CliCodes<string> } {
  const clock = { now: 0 };
  return Object.assign(clock, { codes: new CliCodes<string>({ now: () => clock.now }) });
}

describe('a code', () => {
  test('is good for what it was issued for, once', () => {
    const { codes: store } = codes();
    const code = store.issue('ada', { user: 'ada', challenge }) ?? '';
    expect([store.redeem(code, verifier), store.redeem(code, verifier)]).toEqual([
      'ada',
      undefined,
    ]);
  });

  test('is used up by a wrong verifier', () => {
    const { codes: store } = codes();
    const code = store.issue('ada', { user: 'ada', challenge }) ?? '';
    expect(store.redeem(code, 'w'.repeat(43))).toBeUndefined();
    expect(store.redeem(code, verifier)).toBeUndefined();
  });

  test.each([
    ['too short', verifier.slice(1)],
    ['too long', 'v'.repeat(129)],
    ['the challenge itself', challenge],
    ['empty', ''],
  ])('is not given for a verifier that is %s', (_what, wrong) => {
    const { codes: store } = codes();
    const code =
      store.issue('ada', {
        user: 'ada',
        challenge: createHash('sha256').update(wrong).digest('base64url'),
      }) ?? '';
    const other = store.issue('ada', { user: 'ada', challenge }) ?? '';
    expect(wrong === challenge ? store.redeem(other, wrong) : store.redeem(code, wrong)).toBe(
      undefined,
    );
  });

  test('ends after a minute', () => {
    const of = codes();
    const [kept, late] = [
      of.codes.issue('a', { user: 'a', challenge }),
      of.codes.issue('b', { user: 'b', challenge }),
    ];
    of.now = 59_999;
    expect(of.codes.redeem(kept ?? '', verifier)).toBe('a');
    of.now = 60_000;
    expect(of.codes.redeem(late ?? '', verifier)).toBeUndefined();
  });

  test('makes room for one of the same user, and of no other', () => {
    const { codes: store } = codes();
    const others = store.issue('bob', { user: 'bob', challenge }) ?? '';
    const first = store.issue('ada', { user: 'ada', challenge }) ?? '';
    for (let count = 0; count < 20_000; count += 1) store.issue('ada', { user: 'ada', challenge });
    expect(store.redeem(first, verifier)).toBeUndefined();
    expect(store.redeem(others, verifier)).toBe('bob');
    expect(store.issue('eve', { user: 'eve', challenge })).toBeDefined();
  });

  test('is not made where there are too many, until old ones end', () => {
    const of = codes();
    for (let count = 0; count < 10_000; count += 1)
      of.codes.issue('x', { user: `${count}`, challenge });
    expect(of.codes.issue('one more', { user: 'ada', challenge })).toBeUndefined();
    of.now = 60_000;
    expect(of.codes.issue('one more', { user: 'ada', challenge })).toBeDefined();
  });
});

test.each([
  [challenge, true],
  [`${challenge}=`, false],
  [challenge.slice(1), false],
  [`${challenge.slice(1)}+`, false],
  ['', false],
])('%s as a challenge: %s', (text, expected) => {
  expect(isChallenge(text)).toBe(expected);
});

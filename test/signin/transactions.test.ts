/** Attempts to sign in: once, for ten minutes, in one browser. */
import { expect, test } from 'vitest';
import { OneTimeCodes } from '../../src/signin/one-time-codes.ts';
import { isSameBrowser, LoginTransactions } from '../../src/signin/transactions.ts';

const clock = { ms: 0, now: () => clock.ms };
const ATTEMPT = {
  connector: 'oidc',
  generation: 1,
  returnTo: '/',
  redirectUri: 'https://x.example/auth/oidc/callback',
  browser: 'a-browser',
};

test('an attempt is taken once', () => {
  const transactions = new LoginTransactions(clock);
  const { state } = transactions.begin(ATTEMPT);
  expect(transactions.take(state)?.connector).toBe('oidc');
  expect(transactions.take(state)).toBeUndefined();
});

test('every secret of an attempt is its own, and has 256 bits', () => {
  const transactions = new LoginTransactions(clock);
  const [one, two] = [transactions.begin(ATTEMPT), transactions.begin(ATTEMPT)];
  for (const field of ['state', 'nonce', 'codeVerifier'] as const) {
    expect(one[field]).not.toBe(two[field]);
    expect(Buffer.from(one[field], 'base64url')).toHaveLength(32);
  }
  expect(new Set([one.state, one.nonce, one.codeVerifier, one.requestId]).size).toBe(4);
  expect(one.requestId).toMatch(/^_[0-9a-f]{40}$/);
});

test.each([
  [0, true],
  [10 * 60_000 - 1, true],
  [10 * 60_000, false],
  [-1, false],
])('after %i ms an attempt can be ended: %s', (age, isLive) => {
  const transactions = new LoginTransactions(clock);
  clock.ms = 1_000_000;
  const { state } = transactions.begin(ATTEMPT);
  clock.ms += age;
  expect(transactions.take(state) !== undefined).toBe(isLive);
});

test('strangers who begin attempts without end take a bounded amount of memory', () => {
  const transactions = new LoginTransactions(clock);
  const first = transactions.begin(ATTEMPT);
  const second = transactions.begin(ATTEMPT);
  for (let i = 0; i < 9_999; i++) transactions.begin(ATTEMPT);
  expect(transactions.take(first.state)).toBeUndefined();
  expect(transactions.take(second.state)).toBeDefined();
});

test.each([
  ['a-browser', true],
  ['another', false],
  ['', false],
  [undefined, false],
])('the browser that holds %j ends it: %s', (cookie, isSame) => {
  const pending = new LoginTransactions(clock).begin(ATTEMPT);
  expect(isSameBrowser(pending, cookie)).toBe(isSame);
  // What is kept does not tell the cookie.
  expect(JSON.stringify(pending)).not.toContain('a-browser');
});

test('a code is good once, and for its time', () => {
  const codes = new OneTimeCodes<string>({ clock, lifeMs: 60_000, most: 2 });
  const [used, late] = [codes.keep('used'), codes.keep('late')];
  expect(codes.take(used)).toBe('used');
  expect(codes.take(used)).toBeUndefined();
  clock.ms += 60_000;
  expect(codes.take(late)).toBeUndefined();
  const many = ['a', 'b', 'c'].map((value) => codes.keep(value));
  expect(many.map((code) => codes.take(code))).toEqual([undefined, 'b', 'c']);
});

test('what codes stand for has no more room than it may have, and the oldest goes first', () => {
  const codes = new OneTimeCodes<string>({ clock: Date, lifeMs: 60_000, most: 10, mostSize: 100 });
  const [first, second] = [codes.keep('first', 60), codes.keep('second', 40)];
  const third = codes.keep('third', 30);
  expect(codes.take(first)).toBeUndefined();
  // What was taken makes room again.
  expect(codes.take(second)).toBe('second');
  const fourth = codes.keep('fourth', 70);
  expect([codes.take(third), codes.take(fourth)]).toEqual(['third', 'fourth']);
  const large = codes.keep('larger than all of it', 101);
  expect(codes.take(large)).toBe('larger than all of it');
});

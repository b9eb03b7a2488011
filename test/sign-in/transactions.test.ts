/** Attempts to sign in: once, for ten minutes, in one browser, and nothing of them in memory. */
import { describe, expect, test } from 'vitest';
import { LoginTransactions } from '../../src/sign-in/transactions.ts';

const clock = { ms: 0, now: () => clock.ms };
const ROUTE = {
  connector: 'oidc',
  generation: 1,
  redirectUri: 'https://x.example/auth/oidc/callback',
};

test('an attempt is used once', () => {
  const transactions = new LoginTransactions(clock);
  const begun = transactions.begin(ROUTE, 'a-browser');
  const found = transactions.find(begun.state, ROUTE);
  expect(found).toEqual(begun);
  expect(transactions.use(begun)).toBe(true);
  expect(transactions.use(begun)).toBe(false);
  expect(transactions.find(begun.state, ROUTE)).toBeUndefined();
});

test('every secret of an attempt is its own, has 256 bits, and cannot be told from the others', () => {
  const transactions = new LoginTransactions(clock);
  const [one, two] = [1, 2].map(() => transactions.begin(ROUTE, 'a-browser'));
  for (const field of ['nonce', 'codeVerifier'] as const) {
    expect(one?.[field]).not.toBe(two?.[field]);
    expect(Buffer.from(one?.[field] ?? '', 'base64url')).toHaveLength(32);
  }
  expect(one?.state.slice(0, 24)).not.toBe(two?.state.slice(0, 24));
  expect(new Set([one?.state, one?.nonce, one?.codeVerifier, one?.requestId]).size).toBe(4);
  expect(one?.requestId).toMatch(/^_[0-9a-f]{40}$/);
});

test('a state fits into a RelayState of SAML', () => {
  const { state } = new LoginTransactions(clock).begin(ROUTE, 'a-browser');
  expect(state.length).toBeLessThanOrEqual(80);
});

test.each([
  [0, true],
  [10 * 60_000 - 1, true],
  [10 * 60_000, false],
  [-1, false],
])('an attempt after %i ms can be ended: %s', (age, isLive) => {
  const transactions = new LoginTransactions(clock);
  clock.ms = 1_000_000;
  const { state } = transactions.begin(ROUTE, 'a-browser');
  clock.ms += age;
  expect(transactions.find(state, ROUTE) !== undefined).toBe(isLive);
});

test('unauthenticated clients who begin and use attempts without end push out no attempt of others', () => {
  const transactions = new LoginTransactions(clock);
  const used = transactions.begin(ROUTE, 'a-browser');
  transactions.use(used);
  const waiting = Array.from({ length: 100 }, () => transactions.begin(ROUTE, 'a-browser'));
  for (let i = 0; i < 10_320; i++) transactions.use(transactions.begin(ROUTE, `stranger-${i}`));
  for (const { state } of waiting) expect(transactions.find(state, ROUTE)).toBeDefined();
  expect(transactions.find(used.state, ROUTE)).toBeUndefined();
});

describe('a state that the platform did not give out is unknown', () => {
  const transactions = new LoginTransactions(clock);
  const { state } = transactions.begin(ROUTE, 'a-browser');

  test.each([...state].map((_, at) => at))('a state with another character at %i', (at) => {
    const other = state[at] === 'A' ? 'B' : 'A';
    const changed = state.slice(0, at) + other + state.slice(at + 1);
    expect(transactions.find(changed, ROUTE)).toBeUndefined();
  });

  test.each<[string, string, object]>([
    ['of another process', new LoginTransactions(clock).begin(ROUTE, 'a-browser').state, {}],
    ['of another connector', state, { connector: 'saml' }],
    ['with another redirect URI', state, { redirectUri: 'https://y.example/auth/oidc/callback' }],
    ['that is empty', '', {}],
    ['that is longer', `${state}A`, {}],
    ['that is padded', `${state}=`, {}],
  ])('%s', (_claim, given, changes) => {
    expect(transactions.find(given, { ...ROUTE, ...changes })).toBeUndefined();
  });
});

test('the generation of the connector is the one of the beginning', () => {
  const transactions = new LoginTransactions(clock);
  const { state } = transactions.begin(ROUTE, 'a-browser');
  expect(transactions.find(state, { ...ROUTE, generation: 2 })?.generation).toBe(1);
});

test.each([
  ['a-browser', true],
  ['another', false],
  ['', false],
  [undefined, false],
])('the browser that holds %j ends it: %s', (cookie, isSame) => {
  const transactions = new LoginTransactions(clock);
  const pending = transactions.begin(ROUTE, 'a-browser');
  expect(transactions.isSameBrowser(pending, cookie)).toBe(isSame);
  // The state does not tell the cookie.
  expect(Buffer.from(pending.state, 'base64url').toString('latin1')).not.toContain('a-browser');
});

/** The meaning of an HTTP status for a delivery. */
import { expect, test } from 'vitest';
import { assertAccepted, DeliveryError } from '../../src/outbox/delivery.ts';

const NOW = Date.parse('2026-11-24T10:00:00Z');

test.each<[number, Record<string, string>, string | undefined, number | undefined]>([
  [200, {}, undefined, undefined],
  [204, {}, undefined, undefined],
  [302, {}, 'unavailable', undefined],
  [400, {}, 'refused', undefined],
  [401, {}, 'unavailable', undefined],
  [403, {}, 'unavailable', undefined],
  [404, {}, 'refused', undefined],
  [410, {}, 'refused', undefined],
  [422, {}, 'refused', undefined],
  [429, { 'retry-after': '30' }, 'unavailable', 30_000],
  [429, { 'retry-after': '0' }, 'unavailable', 1000],
  [500, {}, 'unavailable', undefined],
  [503, { 'retry-after': '99999999' }, 'unavailable', 3_600_000],
  [503, { 'retry-after': 'Tue, 24 Nov 2026 10:01:00 GMT' }, 'unavailable', 60_000],
  [503, { 'retry-after': 'soon' }, 'unavailable', undefined],
  [
    403,
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 + 90) },
    'unavailable',
    90_000,
  ],
])('%i with %j: %s', (status, headers, problem, retryAfterMs) => {
  const check = (): void => assertAccepted('the receiver', { status, headers }, NOW);
  if (problem === undefined) return expect(check).not.toThrow();
  let error: unknown;
  try {
    check();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({ problem, retryAfterMs });
});

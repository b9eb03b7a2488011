import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { StatusError } from '../../../src/apimachinery/status-error.ts';
import { PendingWriteLimit, withinDeadline } from '../../../src/server/filters/overload-limits.ts';
import { parseRequest, type RequestInfo } from '../../../src/server/input/request-info.ts';

const TEAM = '/apis/example.dev/v1/teams/data';

function asked(method: string, headers: Record<string, string> = {}) {
  return { method, headers };
}

function refusal(act: () => void): number | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as StatusError).code;
  }
}

describe('pressure', () => {
  test('writes beyond the memory limit get Retry-After', () => {
    const pressure = new PendingWriteLimit({ writes: 2, bytes: 1000 });
    const first = new EventEmitter();
    pressure.admit(asked('POST'), first as never);
    pressure.admit(asked('DELETE'), new EventEmitter() as never);
    expect(refusal(() => pressure.admit(asked('PUT'), new EventEmitter() as never))).toBe(429);
    first.emit('close');
    expect(
      refusal(() => pressure.admit(asked('PUT'), new EventEmitter() as never)),
    ).toBeUndefined();
  });

  test('the refusal has Retry-After', () => {
    const pressure = new PendingWriteLimit({ writes: 0, bytes: 1000 });
    expect(() => pressure.admit(asked('POST'), new EventEmitter() as never)).toThrow(
      expect.objectContaining({ reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } }),
    );
  });

  test('bodies of an announced length count together', () => {
    const pressure = new PendingWriteLimit({ writes: 10, bytes: 4 * 1024 * 1024 });
    const admit = (headers: Record<string, string>) =>
      refusal(() => pressure.admit(asked('POST', headers), new EventEmitter() as never));
    expect(admit({ 'content-length': String(3 * 1024 * 1024) })).toBeUndefined();
    expect(admit({ 'content-length': String(2 * 1024 * 1024) })).toBe(429);
    expect(admit({ 'content-length': '1024' })).toBeUndefined();
    expect(admit({ 'content-length': '-5' })).toBeUndefined();
  });

  test('bodies of an unknown length count as much as has arrived, until their request is over', () => {
    const pressure = new PendingWriteLimit({ writes: 100, bytes: 100 });
    const chunked = asked('POST', { 'transfer-encoding': 'chunked' });
    const responses = Array.from({ length: 64 }, () => new EventEmitter());
    const counters = responses.map((response) => pressure.admit(chunked, response as never));
    counters[0]?.(60);
    expect(refusal(() => counters[1]?.(60))).toBe(429);
    counters[1]?.(40);
    responses[0]?.emit('close');
    counters[0]?.(60);
    expect(refusal(() => counters[2]?.(60))).toBeUndefined();
    for (const response of responses) response.emit('close');
    const large = asked('POST', { 'content-length': '100' });
    expect(refusal(() => pressure.admit(large, new EventEmitter() as never))).toBeUndefined();
  });

  test('a body counts for any framing', () => {
    const pressure = new PendingWriteLimit({ writes: 10, bytes: 1000 });
    const admit = (method: string, length: string) =>
      refusal(() =>
        pressure.admit(asked(method, { 'content-length': length }), new EventEmitter() as never),
      );
    expect(admit('GET', '1000')).toBeUndefined();
    expect(admit('PROPFIND', '1')).toBe(429);
    expect(admit('GET', '0')).toBeUndefined();
  });

  test('a refused write leaves the room as it was', () => {
    const pressure = new PendingWriteLimit({ writes: 1, bytes: 10 });
    const large = asked('POST', { 'content-length': '11' });
    expect(refusal(() => pressure.admit(large, new EventEmitter() as never))).toBe(429);
    expect(
      refusal(() => pressure.admit(asked('POST'), new EventEmitter() as never)),
    ).toBeUndefined();
  });

  test('reads are not counted', () => {
    const pressure = new PendingWriteLimit({ writes: 0, bytes: 0 });
    for (const method of ['GET', 'HEAD']) {
      expect(
        refusal(() => pressure.admit(asked(method), new EventEmitter() as never)),
      ).toBeUndefined();
    }
  });
});

describe('deadline', () => {
  const never = new Promise<never>(() => undefined);
  const info = (method: string, query = ''): RequestInfo => {
    const found = parseRequest({ method, url: `${TEAM}${query}`, root: '' });
    if (found === undefined) throw new Error('no such path');
    return found;
  };

  test('a write that takes too long is 504', async () => {
    await expect(withinDeadline(info('PUT'), never, 1)).rejects.toMatchObject({
      code: 504,
      reason: 'Timeout',
    });
  });

  test('timeout in the query shortens it, and never lengthens it', async () => {
    await expect(withinDeadline(info('PUT', '?timeout=5ms'), never)).rejects.toMatchObject({
      code: 504,
    });
    await expect(withinDeadline(info('PUT', '?timeout=1h0m'), never, 1)).rejects.toMatchObject({
      code: 504,
    });
  });

  test.each(['', '?timeout=soon', '?timeout=0s', '?timeout=-1s'])(
    'a write in time is answered, for any query: %s',
    async (query) => {
      expect(await withinDeadline(info('DELETE', query), Promise.resolve(7))).toBe(7);
    },
  );

  test('reads are waited for', async () => {
    const slow = new Promise((resolve) => setTimeout(() => resolve('there'), 20));
    expect(await withinDeadline(info('GET', '?timeout=1ms'), slow, 1)).toBe('there');
  });
});

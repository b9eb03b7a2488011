/** Slow and endless requests: what a server is told, and when a body is cut off. */
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  BODY_WITHIN_MS,
  counted,
  limitBody,
  limitConnections,
  mostConnections,
} from '../../../src/server/filters/hardening.ts';

test('a server has limits for headers, requests and connections', () => {
  const server = createServer();
  limitConnections(server);
  expect(server.headersTimeout).toBeLessThanOrEqual(30_000);
  expect(server.headersTimeout).toBeGreaterThan(0);
  expect(server.requestTimeout).toBeGreaterThan(server.headersTimeout);
  expect(server.maxConnections).toBeLessThanOrEqual(32_768);
  expect(server.maxHeadersCount).toBeLessThanOrEqual(100);
});

test.each([
  [400, 100],
  [10_000, 2500],
  [20_000, 11_808],
  [1_048_576, 32_768],
  [Number.POSITIVE_INFINITY, 32_768],
])('%d open files leave room for %d connections', (files, connections) => {
  expect(mostConnections(files)).toBe(connections);
});

test('headers that dribble in are cut off when their time is over', async () => {
  // As node looks for them: at an interval, which is half a minute unless told otherwise.
  const server = createServer({ connectionsCheckingInterval: 20 });
  limitConnections(server);
  server.headersTimeout = 100;
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow: ');
  });
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
});

describe('a body', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function sent(headers: Record<string, string>): PassThrough {
    const request = Object.assign(new PassThrough(), { headers });
    limitBody(request as unknown as IncomingMessage);
    return request;
  }

  test.each([
    ['announced', { 'content-length': '10' }],
    ['endless', { 'transfer-encoding': 'chunked' }],
  ])('%s that does not come in time is cut off', (_what, headers) => {
    const request = sent(headers);
    vi.advanceTimersByTime(BODY_WITHIN_MS - 1);
    expect(request.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(request.destroyed).toBe(true);
  });

  test.each<[string, Record<string, string>, boolean]>([
    ['that is there', { 'content-length': '10' }, true],
    ['of nothing', { 'content-length': '0' }, false],
    ['that nobody announced', {}, false],
  ])('%s gives its answer all the time it takes', (_what, headers, ends) => {
    const request = sent(headers);
    if (ends) request.emit('end');
    vi.advanceTimersByTime(10 * BODY_WITHIN_MS);
    expect(request.destroyed).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a body without a reader whose connection ends does not end the process', async () => {
  const payload = new PassThrough();
  const body = counted(payload, () => undefined);
  const failed: unknown[] = [];
  const note = (error: unknown): number => failed.push(error);
  process.prependOnceListener('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));
  payload.destroy(new Error('aborted'));
  await vi.waitFor(() => expect(body.closed).toBe(true));
  await new Promise((done) => setImmediate(done));

  expect(failed).toEqual([]);
});

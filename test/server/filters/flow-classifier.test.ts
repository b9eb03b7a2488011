/** Requests that take turns: a flood by one user costs the others a bounded number of requests. */
import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { StatusError } from '../../../src/apimachinery/status-error.ts';
import { FairQueue } from '../../../src/server/filters/fair-queue.ts';
import { FlowClassifier } from '../../../src/server/filters/flow-classifier.ts';
import { parseRequest, type RequestInfo } from '../../../src/server/input/request-info.ts';
import { createFairnessMetrics } from '../../../src/telemetry/fairness-metrics.ts';

const BYTES = 1_000_000;
const late = (): Error => new StatusError(504, 'Timeout', 'late', {});
const wanted = { isWanted: () => true, late };

/** Work that is done when the test says so. */
class Desk {
  readonly queue: FairQueue;
  /** Whose work began, in order. */
  readonly begun: string[] = [];
  readonly #ends: (() => void)[] = [];

  constructor(limits: { seats: number; requests: number; bytes?: number; answers?: number }) {
    this.queue = new FairQueue({ bytes: BYTES, answers: BYTES, ...limits });
  }

  /** Enters, waits for a seat and holds it; resolves when all of it is over. */
  async ask(flow: string, of = wanted): Promise<void> {
    const { leave } = this.queue.enter(flow, 0);
    const work = async (): Promise<void> => {
      this.begun.push(flow);
      await new Promise<void>((resolve) => void this.#ends.push(resolve));
    };
    try {
      await this.queue.run(flow, work, of);
    } finally {
      leave();
    }
  }

  /** Ends the oldest work there is. Resolves when what follows from it has happened. */
  async end(): Promise<void> {
    this.#ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function codeOf(act: () => unknown): number | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as StatusError).code;
  }
}

describe('a flood by one user', () => {
  test('leaves the request of another waiting for those at work, and for one more at most', async () => {
    const desk = new Desk({ seats: 4, requests: 1000 });
    const flood = Array.from({ length: 100 }, () => desk.ask('loud'));
    const quiet = desk.ask('quiet');
    for (let i = 0; i < 2; i++) await desk.end();
    expect(desk.begun.indexOf('quiet')).toBeGreaterThan(-1);
    expect(desk.begun.indexOf('quiet')).toBeLessThanOrEqual(5);
    for (let i = 0; i < 101; i++) await desk.end();
    await Promise.all([...flood, quiet]);
    expect(desk.queue.figures).toMatchObject({ held: 0, atWork: 0, waiting: 0 });
  });

  test('is refused when it has half of the room, and only it is', () => {
    const { queue } = new Desk({ seats: 1, requests: 100 });
    const admitted = Array.from({ length: 100 }, () => codeOf(() => queue.enter('loud', 0)));
    expect(admitted.filter((code) => code === undefined)).toHaveLength(50);
    expect(codeOf(() => queue.enter('loud', 0))).toBe(429);
    for (const name of ['ann', 'bob', 'eve']) {
      expect(codeOf(() => queue.enter(name, 0))).toBeUndefined();
    }
    expect(() => queue.enter('loud', 0)).toThrow(
      expect.objectContaining({ reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } }),
    );
    expect(queue.figures.refused).toBe(52);
  });

  test('a flood of large bodies is refused by their bytes', () => {
    const { queue } = new Desk({ seats: 1, requests: 100, bytes: 100 });
    expect(codeOf(() => queue.enter('loud', 40))).toBeUndefined();
    expect(codeOf(() => queue.enter('loud', 40))).toBe(429);
    expect(codeOf(() => queue.enter('quiet', 40))).toBeUndefined();
  });
});

describe('a client that does not read answers', () => {
  const done = async (): Promise<string> => 'done';

  test('gets no further ones, others go on, and what waits goes on when some are read', async () => {
    const { queue } = new Desk({ seats: 1, requests: 100, answers: 100 });
    const unread = queue.enter('slow', 0);
    unread.answer(60);
    const next = queue.enter('slow', 0);
    const waiting = queue.run('slow', done, wanted);
    expect(queue.figures).toMatchObject({ waiting: 1, atWork: 0 });
    const other = queue.enter('quick', 0);
    expect(await queue.run('quick', done, wanted)).toBe('done');
    other.answer(60);
    expect(queue.figures).toMatchObject({ waiting: 1 });
    other.leave();
    unread.leave();
    expect(await waiting).toBe('done');
    next.leave();
    expect(queue.figures).toMatchObject({ held: 0, waiting: 0, atWork: 0 });
  });

  test('keeps its turn, and leaves those behind it theirs', async () => {
    const desk = new Desk({ seats: 1, requests: 100, answers: 100 });
    const unread = desk.queue.enter('slow', 0);
    unread.answer(60);
    const first = desk.ask('quick');
    const all = [desk.ask('slow'), desk.ask('quick')];
    await desk.end();
    expect(desk.begun).toEqual(['quick', 'quick']);
    await desk.end();
    unread.leave();
    await desk.end();
    await Promise.all([first, ...all]);
    expect(desk.begun).toEqual(['quick', 'quick', 'slow']);
  });

  test('has one answer at any size, and unread requests are not counted', async () => {
    const { queue } = new Desk({ seats: 1, requests: 100, answers: 100 });
    const one = queue.enter('large', 0);
    one.answer(1000);
    const gone = queue.enter('gone', 0);
    gone.leave();
    gone.answer(1000);
    queue.enter('other', 0);
    expect(await queue.run('other', done, wanted)).toBe('done');
    one.leave();
    const again = queue.enter('large', 0);
    again.answer(50);
    expect(await queue.run('large', done, wanted)).toBe('done');
  });
});

describe('turns', () => {
  test('are taken by flows, not by requests', async () => {
    const desk = new Desk({ seats: 1, requests: 100 });
    const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map((flow) => desk.ask(flow));
    for (let i = 0; i < 7; i++) await desk.end();
    await Promise.all(all);
    expect(desk.begun.join('')).toBe('aabcaba');
  });

  test('are passed on by work that fails', async () => {
    const { queue } = new Desk({ seats: 1, requests: 10 });
    const failing = queue.run('a', () => Promise.reject(new Error('no')), wanted);
    await expect(failing).rejects.toThrow('no');
    expect(await queue.run('a', async () => 7, wanted)).toBe(7);
  });

  test('are not given to a user who does not wait any more, and nothing is done then', async () => {
    const desk = new Desk({ seats: 1, requests: 10 });
    const first = desk.ask('a');
    const gone = desk.ask('b', { isWanted: () => false, late });
    const last = desk.ask('c');
    await Promise.all([desk.end(), expect(gone).rejects.toMatchObject({ code: 504 })]);
    await desk.end();
    await Promise.all([first, last]);
    expect(desk.begun).toEqual(['a', 'c']);
  });

  test('the queues do all work in any order, within the seats, and pass over no flow twice', async () => {
    const flows = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(flows, fc.integer({ min: 1, max: 4 }), async (asked, seats) => {
        const desk = new Desk({ seats, requests: 1000 });
        const all = asked.map((flow) => desk.ask(flow));
        let most = 0;
        for (let i = 0; i < asked.length; i++) {
          most = Math.max(most, desk.queue.figures.atWork);
          await desk.end();
        }
        await Promise.all(all);
        expect(most).toBeLessThanOrEqual(seats);
        expect([...desk.begun].sort()).toEqual([...asked].sort());
        const waited = desk.begun.slice(seats);
        const left = asked.slice(seats);
        for (const [at, flow] of waited.entries()) {
          const others = new Set(left.filter((other) => other !== flow));
          const again = waited.indexOf(flow, at + 1);
          if (again > 0) expect(again - at).toBeLessThanOrEqual(others.size + 1);
        }
      }),
    );
  });
});

describe('the requests that are queued', () => {
  const info = (method: string, path: string): RequestInfo => {
    const found = parseRequest({ method, url: `/apis/example.dev/v1${path}`, root: '' });
    if (found === undefined) throw new Error('no such path');
    return found;
  };
  const full = { seats: 1, requests: 0, bytes: 0, answers: 0 };
  const answered = { code: 200, contentType: 'text/plain', body: '' };
  const raw = () => ({
    request: { method: 'GET' },
    response: { destroyed: false, writableEnded: false },
  });

  test.each<[string, string, string, number | undefined]>([
    ['POST', '/teams', 'ann', 429],
    ['PUT', '/teams/a', 'ann', 429],
    ['PATCH', '/teams/a', 'ann', 429],
    ['DELETE', '/teams', 'ann', 429],
    ['GET', '/teams', 'ann', 429],
    ['GET', '/teams/a', 'ann', undefined],
    ['HEAD', '/teams/a', 'ann', undefined],
    ['GET', '/teams?watch=true', 'ann', undefined],
    ['POST', '/teams', 'system:gitplane:endpoint-sync', undefined],
  ])('%s %s of %s where there is no room: %s', (method, path, name, code) => {
    const fairness = new FlowClassifier({ writes: full, lists: full });
    const passed = { info: info(method, path), user: { name, groups: [] } };
    const response = new EventEmitter() as never;
    expect(codeOf(() => fairness.admit(passed, { method, headers: {} }, response))).toBe(code);
  });

  test('room is given back with the answer', () => {
    const fairness = new FlowClassifier({
      writes: { ...full, requests: 2, bytes: BYTES },
      lists: full,
    });
    const passed = { info: info('POST', '/teams'), user: { name: 'ann', groups: [] } };
    const asked = { method: 'POST', headers: { 'content-length': '7' } };
    const response = new EventEmitter();
    fairness.admit(passed, asked, response as never);
    expect(codeOf(() => fairness.admit(passed, asked, new EventEmitter() as never))).toBe(429);
    response.emit('close');
    expect(fairness.figures.writes).toMatchObject({ held: 0, refused: 1 });
    expect(codeOf(() => fairness.admit(passed, asked, new EventEmitter() as never))).toBe(
      undefined,
    );
  });

  test('a client that reads one object is answered at once', () => {
    const fairness = new FlowClassifier();
    const passed = { info: info('GET', '/teams/a'), user: { name: 'ann', groups: [] } };
    expect(fairness.run(passed, raw(), () => answered)).toBe(answered);
  });

  test('lists that take long let others have a turn, and are answered before that', async () => {
    const fairness = new FlowClassifier();
    const passed = { info: info('GET', '/teams'), user: { name: 'ann', groups: [] } };
    let begun = 0;
    let ended = 0;
    const lists = Array.from({ length: 9 }, async () => {
      fairness.admit(passed, { method: 'GET', headers: {} }, new EventEmitter() as never);
      await fairness.run(passed, raw(), () => {
        const until = performance.now() + 5;
        while (performance.now() < until);
        begun++;
        return answered;
      });
      ended++;
    });
    for (let i = 0; i < 100; i++) await null;
    expect({ begun, ended }).toEqual({ begun: 4, ended: 4 });
    await Promise.all(lists);
    expect({ begun, ended }).toEqual({ begun: 9, ended: 9 });
  });

  test('unread answers stop the lists of their user, and only those', async () => {
    const lists = { seats: 4, requests: 100, bytes: BYTES, answers: 1000 };
    const fairness = new FlowClassifier({ writes: full, lists });
    const large = { ...answered, body: Buffer.alloc(10), rest: [Buffer.alloc(990)] };
    let begun = '';
    const ask = (name: string): { close(): void; answer: unknown } => {
      const passed = { info: info('GET', '/teams'), user: { name, groups: [] } };
      const response = Object.assign(new EventEmitter(), raw().response);
      fairness.admit(passed, { method: 'GET', headers: {} }, response as never);
      const of = { request: { method: 'GET' }, response };
      const answer = fairness.run(passed, of, () => {
        begun += name;
        return large;
      });
      return { close: () => void response.emit('close'), answer };
    };
    const first = ask('a');
    await first.answer;
    const second = ask('a');
    await ask('b').answer;
    expect(begun).toBe('ab');
    first.close();
    await second.answer;
    expect(begun).toBe('aba');
  });

  test('metrics count waiting and refused requests', async () => {
    const registry = new Registry();
    const { queue } = new Desk({ seats: 1, requests: 2 });
    createFairnessMetrics(registry, () => ({ writes: queue.figures }));
    queue.enter('ann', 0);
    expect(codeOf(() => queue.enter('ann', 0))).toBe(429);
    const text = await registry.metrics();
    expect(text).toContain('gitplane_fair_queue_requests{level="writes",state="held"} 1');
    expect(text).toContain('gitplane_fair_queue_refused_total{level="writes"} 1');
  });
});

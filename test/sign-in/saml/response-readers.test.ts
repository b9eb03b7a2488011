/** A response that holds up its thread holds up nobody else. */
import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { Refusal } from '../../../src/sign-in/saml/refusal.ts';
import { ResponseReaders } from '../../../src/sign-in/saml/response-readers.ts';
import type { ReadRequest } from '../../../src/sign-in/saml/worker-messages.ts';
import { type SigningKey, said, signedResponse, signingKey } from '../../support/saml-peer.ts';

const REDIRECT = 'https://p.example.com/auth/saml/callback';
const signal = new AbortController().signal;
let key: SigningKey;
let readers: ResponseReaders | undefined;

beforeAll(async () => {
  key = await signingKey();
});

afterEach(async () => {
  await readers?.close();
});

function request(text: string): ReadRequest {
  return {
    text,
    expected: {
      requestId: '_r',
      redirectUri: REDIRECT,
      audience: REDIRECT,
      issuer: undefined,
      now: Date.now(),
    },
    certificates: [key.certificatePem],
    trust: 'signed',
  };
}

/** Does what the text says, instead of reading it. */
function obedient(): Worker {
  const program = `
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', ({ id, request: asked }) => {
      const text = asked.request?.text;
      if (text === 'hang') for (;;);
      if (text === 'throw') throw new Error('no');
      if (text === 'exit') process.exit(1);
      if (text === 'fill') { const all = []; for (;;) all.push(new Array(1e6).fill(text)); }
      parentPort.postMessage({ id, answer: { facts: text } });
    });`;
  const resourceLimits = { maxOldGenerationSizeMb: 32 };
  return new Worker(program, { eval: true, resourceLimits, stderr: true, stdout: true });
}

async function reason(of: Promise<unknown>): Promise<string> {
  try {
    await of;
    return 'none';
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
}

test('a good response is read in a thread, a bad one is refused, and the thread goes on', async () => {
  readers = new ResponseReaders();
  const xml = signedResponse(said({ inResponseTo: '_r', destination: REDIRECT }), key, 'both');
  expect((await readers.read(request(xml), signal)).nameId).toBe('u-4711');
  const changed = xml.replace('>u-4711<', '>admin<');
  expect(await reason(readers.read(request(changed), signal))).toBe('signature');
  expect((await readers.read(request(xml), signal)).nameId).toBe('u-4711');
});

test.each([
  ['hang', 'too-slow'],
  ['throw', 'reader-lost'],
  ['exit', 'reader-lost'],
  ['fill', 'reader-lost'],
])(
  'a response that makes a thread %s is refused: %s, and all others are served',
  async (text, expected) => {
    let started = 0;
    const start = (): Worker => {
      started++;
      return obedient();
    };
    readers = new ResponseReaders({ deadlineMs: text === 'hang' ? 3000 : 60_000, start });
    const pool = readers;
    const hostile = Array.from({ length: 2 }, () => reason(pool.read(request(text), signal)));
    const good = Array.from({ length: 4 }, (_, at) => pool.read(request(`good ${at}`), signal));
    expect(await Promise.all(hostile)).toEqual(hostile.map(() => expected));
    expect(await Promise.all(good)).toEqual(['good 0', 'good 1', 'good 2', 'good 3']);
    expect(started).toBeGreaterThan(2);
  },
);

test('the queue is bounded, and a caller that gives up leaves it', async () => {
  readers = new ResponseReaders({ start: obedient, deadlineMs: 600_000 });
  const pool = readers;
  const busy = [1, 2].map(() => reason(pool.read(request('hang'), signal)));
  const givesUp = new AbortController();
  const waiting = Array.from({ length: 64 }, () =>
    pool.read(request('x'), AbortSignal.any([givesUp.signal])),
  );
  const settled = Promise.allSettled(waiting);
  expect(await reason(pool.read(request('x'), signal))).toBe('busy');
  givesUp.abort(new Error('the browser went away'));
  expect((await settled).map(({ status }) => status)).toEqual(waiting.map(() => 'rejected'));
  const late = reason(pool.read(request('x'), signal));
  await pool.close();
  expect(await Promise.all([...busy, late])).toEqual(['closed', 'closed', 'closed']);
  expect(await reason(pool.read(request('x'), signal))).toBe('closed');
});

test('a thread that does not start fails its login and not the process', async () => {
  const start = (): Worker => new Worker('throw new Error("no")', { eval: true, stderr: true });
  readers = new ResponseReaders({ start });
  expect(await reason(readers.read(request('x'), signal))).toBe('reader-lost');
});

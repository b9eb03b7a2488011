import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { deadline } from '../../src/apimachinery/deadline.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('a deadline comes though the garbage collector ran', async () => {
  const { signal: other } = new AbortController();
  const signals = Array.from({ length: 100 }, () => deadline(200, other));
  const ended = signals.map(
    (signal) => new Promise<void>((done) => signal.addEventListener('abort', () => done())),
  );
  for (let i = 0; i < 3; i++) {
    await new Promise((done) => setImmediate(done));
    collectGarbage();
  }
  await Promise.all(ended);
  for (const { reason } of signals) expect(reason).toMatchObject({ name: 'TimeoutError' });
});

test('a signal that is aborted ends it before, with the same reason', () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const signal = deadline(60_000, first.signal, second.signal);
  expect(signal.aborted).toBe(false);
  second.abort('gone');
  expect([signal.aborted, signal.reason]).toEqual([true, 'gone']);
  expect(deadline(60_000, second.signal).reason).toBe('gone');
});

test('many deadlines with one stop warn of no leak', async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warn);
  const stop = new AbortController();
  for (let i = 0; i < 100; i++) deadline(60_000, stop.signal);
  await new Promise((done) => setImmediate(done));
  process.off('warning', warn);
  stop.abort();
  expect(warnings).toEqual([]);
});

test('no source joins a signal of a time with others by AbortSignal.any', () => {
  const src = join(import.meta.dirname, '../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  const joined = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('apimachinery/deadline.ts'))
    .filter((file) => {
      const text = readFileSync(join(src, file), 'utf8');
      return text.includes('AbortSignal.any(') && text.includes('AbortSignal.timeout(');
    });
  expect(joined, 'use deadline() of src/apimachinery/deadline.ts').toEqual([]);
});

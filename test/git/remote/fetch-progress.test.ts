import { expect, test } from 'vitest';
import { Counter } from '../../../src/concurrency/progress.ts';
import { countReceived, withoutProgress } from '../../../src/git/remote/fetch-progress.ts';

test('objects of a fetch are counted from the newest figure', () => {
  const counter = new Counter();
  countReceived(counter, 'remote: Counting objects: 100% (9/9), done.\n');
  expect(counter.total).toBe(undefined);
  countReceived(
    counter,
    'Receiving objects:   1% (1/90)\rReceiving objects:  50% (45/90), 1 KiB\r',
  );
  expect([counter.done, counter.total]).toEqual([45, 90]);
  countReceived(counter, 'Receiving objects:  40% (36/90)\r');
  expect([counter.done, counter.total]).toEqual([45, 90]);
});

test('messages of git keep the error and lose the progress', () => {
  const stderr = [
    'remote: Enumerating objects: 9, done.',
    'Receiving objects:  10% (9/90)\rReceiving objects:  50% (45/90)\rfatal: early EOF',
    'error: RPC failed; curl 18',
  ].join('\n');
  expect(withoutProgress(stderr)).toBe('fatal: early EOF\nerror: RPC failed; curl 18');
});

/** Progress that `git fetch --progress` reports on standard error. */
import type { Counter } from '../../concurrency/index.ts';

const RECEIVED = /Receiving objects:\s+\d+% \((\d+)\/(\d+)\)/g;

/** Advances the counter to the newest figure in the output. */
export function countReceived(counter: Counter, output: string): void {
  const last = [...output.matchAll(RECEIVED)].at(-1);
  if (last === undefined) return;
  const [, done = '0', total = '0'] = last;
  counter.expect(Number(total));
  counter.advance(Math.max(0, Number(done) - counter.done));
}

/** Messages of git without the progress. */
export function withoutProgress(stderr: string): string {
  return stderr
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
    .filter((line) => !/^(?:remote: )?[A-Z]\w+ (?:objects|deltas|files): /.test(line))
    .join('\n')
    .trim();
}

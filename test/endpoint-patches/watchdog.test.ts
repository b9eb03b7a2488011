import { expect, test } from 'vitest';
import { type Reading, Watchdog } from '../../src/endpoint-patches/sandbox/watchdog.ts';

function watched(readings: readonly Reading[], jobs: readonly number[]): boolean[] {
  let at = 0;
  const watchdog = new Watchdog(100, () => readings[at] ?? { wallMs: 0, cpuMs: 0 });
  return jobs.map((job, i) => {
    at = i;
    return watchdog.late(job);
  });
}

const at = (wallMs: number, cpuMs = wallMs): Reading => ({ wallMs, cpuMs });

test.each<[string, readonly Reading[], readonly number[], boolean]>([
  ['a job that had its time', [at(0), at(50), at(100)], [1, 1, 1], true],
  ['a job that has time left', [at(0), at(50), at(99)], [1, 1, 1], false],
  ['another job each time', [at(0), at(150), at(300)], [1, 2, 3], false],
  ['no job', [at(0), at(150), at(300)], [0, 0, 0], false],
  ['a machine that gives its time to others', [at(0), at(1000, 50)], [1, 1], false],
  ['a clock that was set forward', [at(0), at(0, 1000)], [1, 1], false],
  ['however little it got, some day', [at(0), at(2000, 50)], [1, 1], true],
  ['a sandbox that is being made has more', [at(0), at(900)], [-1, -1], false],
  ['but not for ever', [at(0), at(1000)], [-1, -1], true],
  ['time counts from when it was made', [at(0), at(900), at(950)], [-1, 1, 1], false],
])('%s', (_title, readings, jobs, late) => {
  expect(watched(readings, jobs).at(-1)).toBe(late);
});

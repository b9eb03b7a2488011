import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { RequestDurations, type RequestLabels } from '../../src/telemetry/request-durations.ts';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const NAME = 'requests_seconds';

describe('durations of requests', () => {
  test('read the same as those of a histogram of prom-client', async () => {
    const labels = fc.record({
      verb: fc.constantFrom('get', 'list', 'watch'),
      resource: fc.constantFrom('teams', 'users', 'other'),
      code: fc.constantFrom(200, 404),
    });
    const seconds = fc.oneof(
      fc.constantFrom(...BOUNDS, 0),
      fc.double({ min: 0, max: 3, noNaN: true }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(labels, seconds)), async (observed) => {
        expect(await ours(observed)).toEqual(await theirs(observed));
      }),
    );
  });
});

type Observed = readonly (readonly [RequestLabels, number])[];

async function ours(observed: Observed): Promise<string[]> {
  const registry = new Registry();
  const durations = new RequestDurations(
    { name: NAME, help: 'Requests', bounds: BOUNDS },
    registry,
  );
  for (const [labels, seconds] of observed) durations.observe(labels, seconds);
  return await linesOf(registry);
}

async function theirs(observed: Observed): Promise<string[]> {
  const registers = [new Registry()] as const;
  const labelNames = ['verb', 'resource', 'code'];
  const options = { name: NAME, help: 'Requests', buckets: BOUNDS, labelNames };
  const histogram = new Histogram({ ...options, registers: [...registers] });
  for (const [labels, seconds] of observed) {
    histogram.observe({ ...labels, code: String(labels.code) }, seconds);
  }
  return await linesOf(registers[0]);
}

/** Labels may stand in any order. */
async function linesOf(registry: Registry): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines
    .map((line) =>
      line.replace(/\{(.*)\}/, (_all, labels: string) => `{${labels.split(',').sort().join(',')}}`),
    )
    .sort();
}

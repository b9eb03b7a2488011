/**
 * No value is lost and git never goes back, whatever happens in whichever order. The normal run is
 * a slice; GITPLANE_SYNC_CYCLES=100000 npx vitest run test/secretsync/model.test.ts is the proof.
 */
import { expect, test } from 'vitest';
import type { SyncPolicy } from '../../src/secretsync/policy.ts';
import { randomFrom } from '../support/random.ts';
import { type ModelCounts, type ModelOptions, SyncModel } from './model.ts';

const CYCLES = Number(process.env['GITPLANE_SYNC_CYCLES'] ?? 4_000);
const CYCLES_OF_ONE = 50;
const CASES: readonly [string, Omit<ModelOptions, 'random'>][] = [
  ['nothing fails', {}],
  ['crashes and lost answers', { crash: 0.06, lost: 0.04 }],
  ['races', { race: 0.2 }],
  ['old answers', { stale: 0.15 }],
  ['keys made anew', { recreates: true, race: 0.2 }],
  ['everything at once', { crash: 0.04, lost: 0.04, race: 0.2, stale: 0.15, recreates: true }],
];
const POLICIES: readonly Partial<SyncPolicy>[] = [
  {},
  { merge: 'object' },
  { merge: [['user', 'password']] },
  { direction: 'Pull' },
  { direction: 'Push' },
];

test.each(CASES)(
  'with %s, no value is lost and git never goes back',
  async (name, chances) => {
    const seed = process.env['GITPLANE_TEST_SEED'] === 'random' ? Date.now() : 2026;
    const random = randomFrom(seed);
    const total: Record<string, number> = {};
    const problems: string[] = [];

    while ((total['cycles'] ?? 0) < CYCLES / CASES.length) {
      const policy = random.pick(POLICIES);
      const model = new SyncModel({ random, policy, ...chances });
      for (let cycle = 0; cycle < CYCLES_OF_ONE; cycle += 1) await model.step();
      await model.calmDown();
      const found = model.problems.map((problem) => `${JSON.stringify(policy)}: ${problem}`);
      problems.push(...found);
      add(total, model.counts);
    }

    if (CYCLES > 4_000) process.stdout.write(`${name} (seed ${seed}): ${JSON.stringify(total)}\n`);
    expect(problems.slice(0, 5)).toEqual([]);
    expect(total['pulls']).toBeGreaterThan(0);
    expect(total['pushes']).toBeGreaterThan(0);
  },
  600_000,
);

function add(total: Record<string, number>, counts: ModelCounts): void {
  for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
}

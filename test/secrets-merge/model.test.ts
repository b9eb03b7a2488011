/**
 * No value is lost and git never goes back, whatever happens in whichever order. The normal run is
 * a slice; GITPLANE_SYNC_CYCLES=100000 npx vitest run test/secrets-merge/model.test.ts is the proof,
 * GITPLANE_TEST_SEED another one. What is found names the seed of its history, and
 * GITPLANE_SYNC_HISTORY runs that history alone: it fails within 50 cycles.
 */
import { expect, test } from 'vitest';
import type { SyncPolicy } from '../../src/secrets-merge/policy.ts';
import { randomFrom } from '../support/random.ts';
import { type ModelCounts, type ModelOptions, SyncModel } from './model.ts';

const CYCLES = Number(process.env['GITPLANE_SYNC_CYCLES'] ?? 4_000);
const CYCLES_OF_ONE = 50;
const CASES: readonly [string, Omit<ModelOptions, 'random'>][] = [
  ['nothing fails', {}],
  ['crashes and lost answers', { crash: 0.02, lost: 0.03 }],
  ['races', { race: 0.2 }],
  ['old answers', { stale: 0.15 }],
  ['keys made anew', { recreates: true, race: 0.2 }],
  ['a disk that is lost', { crash: 0.02, lost: 0.03, forgets: 0.03 }],
  ['a clock that steps back', { race: 0.1, back: 0.1 }],
  ['a store that is put back', { restores: 0.06 }],
  ['a store that is put back, crashes and races', { restores: 0.06, crash: 0.02, race: 0.1 }],
  ['everything at once', { crash: 0.02, lost: 0.03, race: 0.2, stale: 0.15, recreates: true }],
];
const POLICIES: readonly Partial<SyncPolicy>[] = [
  {},
  {},
  { merge: 'object' },
  { merge: [['user', 'password']] },
  { direction: 'Pull' },
  { direction: 'Push' },
  { conflict: 'PreferGit', adopt: 'PreferGit' },
  { conflict: 'PreferStore', adopt: 'PreferStore' },
  { deletionInGit: 'SoftDelete' },
  { deletionInStore: 'Delete' },
];

const FIRST = firstSeed(process.env['GITPLANE_TEST_SEED']);
const ONLY = process.env['GITPLANE_SYNC_HISTORY'];

test.each(CASES)(
  'the merge with %s loses no value, and git never goes back',
  async (name, chances) => {
    const total: Record<string, number> = {};
    const problems: string[] = [];
    const first = ONLY === undefined ? FIRST : Number(ONLY);

    for (let seed = first; (total['cycles'] ?? 0) < CYCLES / CASES.length; seed += 1) {
      const random = randomFrom(seed);
      const policy = random.pick(POLICIES);
      const model = new SyncModel({ random, policy, ...chances });
      for (let cycle = 0; cycle < CYCLES_OF_ONE; cycle += 1) await model.step();
      await model.calmDown();
      const where = `history ${seed} with ${JSON.stringify(policy)}`;
      problems.push(...model.problems.map((problem) => `${where}: ${problem}`));
      add(total, model.counts);
      if (ONLY !== undefined) break;
    }

    if (CYCLES > 4_000) process.stdout.write(`${name} (from ${first}): ${JSON.stringify(total)}\n`);
    expect(problems.slice(0, 5)).toEqual([]);
    if (ONLY !== undefined) return;
    expect(total['pulls']).toBeGreaterThan(0);
    expect(total['pushes']).toBeGreaterThan(0);
  },
  3_600_000,
);

function firstSeed(wanted: string | undefined): number {
  if (wanted === 'random') return Date.now() % 2 ** 31;
  return wanted === undefined ? 2026 : Number(wanted);
}

function add(total: Record<string, number>, counts: ModelCounts): void {
  for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
}

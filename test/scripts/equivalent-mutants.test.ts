/** The list of mutants that change nothing is about the code as it is. */
import { expect, test } from 'vitest';
import { describesMutation, EQUIVALENT_MUTANTS } from '../../scripts/equivalent-mutants.ts';
import { mutationsIn } from '../../scripts/mutations.ts';

test('each entry describes one mutation of its file', () => {
  const files = new Set(EQUIVALENT_MUTANTS.map(({ file }) => file.replace(/\.ts$/, '')));
  const mutations = mutationsIn([...files]);
  const wrong = EQUIVALENT_MUTANTS.map((entry) => ({
    ...entry,
    count: mutations.filter((mutation) => describesMutation(entry, mutation)).length,
  })).filter(({ count }) => count !== 1);

  expect(wrong).toEqual([]);
});

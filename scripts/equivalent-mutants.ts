/**
 * Mutants that change nothing a caller can see. `npm run mutants` does not draw them; its output has
 * the fields of an entry. test/scripts/equivalent-mutants.test.ts fails for an entry whose code is gone.
 */
import { table } from './markdown-table.ts';
import type { Mutation } from './mutations.ts';

export interface EquivalentMutant extends Pick<Mutation, 'file' | 'scope' | 'from' | 'to'> {
  readonly reason: string;
}

export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [];

export function isEquivalent(mutation: Mutation): boolean {
  return EQUIVALENT_MUTANTS.some((entry) => describesMutation(entry, mutation));
}

export function describesMutation(entry: EquivalentMutant, mutation: Mutation): boolean {
  const { file, scope, from, to } = entry;
  return (
    file === mutation.file &&
    scope === mutation.scope &&
    from === mutation.from &&
    to === mutation.to
  );
}

export function equivalentMutantTable(): string {
  const rows = EQUIVALENT_MUTANTS.map(({ file, scope, from, to, reason }) => [
    `\`${file}\`, \`${scope}\``,
    `\`${from}\``,
    `\`${to}\``,
    reason,
  ]);
  return table(['Place', 'Code', 'Mutant', 'Reason'], rows);
}

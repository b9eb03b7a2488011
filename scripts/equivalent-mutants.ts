/**
 * Mutants that change nothing a caller can see. `npm run mutants` does not draw them; its output has
 * the fields of an entry. test/scripts/equivalent-mutants.test.ts fails for an entry whose code is gone.
 */
import { table } from './markdown-table.ts';
import type { Mutation } from './mutations.ts';

export interface EquivalentMutant extends Pick<Mutation, 'file' | 'scope' | 'from' | 'to'> {
  readonly reason: string;
}

export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [
  {
    file: 'git/wal/wal-keeper.ts',
    scope: 'open',
    from: 'if (bavail * bsize < REQUIRED_FREE_SEGMENTS * bytes) return;',
    to: 'if (bavail * bsize <= REQUIRED_FREE_SEGMENTS * bytes) return;',
    reason: 'free space is never exactly that of sixteen logs',
  },
  {
    file: 'manifests/edit/slots.ts',
    scope: 'rootSlot',
    from: 'hasIndicator: true,',
    to: 'hasIndicator: false,',
    reason: 'nobody asks it of a root',
  },
  {
    file: 'manifests/edit/align.ts',
    scope: 'alignByCost',
    from: 'while (head < before.length && head < after.length && jsonEqual(before[head], after[head]))',
    to: 'while (head <= before.length && head < after.length && jsonEqual(before[head], after[head]))',
    reason: 'no value is equal to the absence of one',
  },
  {
    file: 'manifests/edit/align.ts',
    scope: 'alignByCost',
    from: 'while (head < before.length && head < after.length && jsonEqual(before[head], after[head]))',
    to: 'while (head < before.length && head <= after.length && jsonEqual(before[head], after[head]))',
    reason: 'no value is equal to the absence of one',
  },
  {
    file: 'manifests/edit/align.ts',
    scope: 'cheapest',
    from: 'if (i === before) return (after - j) * REMOVE_OR_ADD;',
    to: 'if (i === before) return (after - j) / REMOVE_OR_ADD;',
    reason: 'the constant is 1',
  },
  {
    file: 'manifests/edit/align.ts',
    scope: 'cheapest',
    from: 'return j === after ? (before - i) * REMOVE_OR_ADD : (table[i]?.[j] ?? 0);',
    to: 'return j === after ? (before - i) / REMOVE_OR_ADD : (table[i]?.[j] ?? 0);',
    reason: 'the constant is 1',
  },
  {
    file: 'manifests/edit/align.ts',
    scope: 'cheapest',
    from: 'for (let j = after - 1; j >= 0; j--) row[j] = Math.min(change(i, j), remove(i, j), add(i, j));',
    to: 'for (let j = after + 1; j >= 0; j--) row[j] = Math.min(change(i, j), remove(i, j), add(i, j));',
    reason: '`left` reads no cell behind the last item',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#commit',
    from: 'this.#packWhenDue(events.length + provenanceChanges.length);',
    to: ';',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#commit',
    from: 'this.#packWhenDue(events.length + provenanceChanges.length);',
    to: 'this.#packWhenDue(events.length - provenanceChanges.length);',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#commitYielding',
    from: 'if (this.#closing === undefined) this.#packWhenDue(events.length + provenanceChanges.length);',
    to: 'if (this.#closing !== undefined) this.#packWhenDue(events.length + provenanceChanges.length);',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#commitYielding',
    from: 'if (this.#closing === undefined) this.#packWhenDue(events.length + provenanceChanges.length);',
    to: 'if (this.#closing === undefined) ;',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#commitYielding',
    from: 'if (this.#closing === undefined) this.#packWhenDue(events.length + provenanceChanges.length);',
    to: 'if (this.#closing === undefined) this.#packWhenDue(events.length - provenanceChanges.length);',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#packWhenDue',
    from: 'this.#changes += changes;',
    to: 'this.#changes -= changes;',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#packWhenDue',
    from: 'if (this.#packing.busy || this.#changes < Math.max(PACK_AT, this.#view.size / 8)) return;',
    to: 'if (this.#packing.busy && this.#changes < Math.max(PACK_AT, this.#view.size / 8)) return;',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#packWhenDue',
    from: 'if (this.#packing.busy || this.#changes < Math.max(PACK_AT, this.#view.size / 8)) return;',
    to: 'if (this.#packing.busy || this.#changes <= Math.max(PACK_AT, this.#view.size / 8)) return;',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: '#packWhenDue',
    from: 'this.#packing.start(this.#view.objects(), PACK_AFTER_MS);',
    to: ';',
    reason: 'packs save room in the background; readers see the same',
  },
  {
    file: 'state/journaled-store.ts',
    scope: 'applyYielding',
    from: 'this.assertOpen();',
    to: ';',
    reason: '`apply`, which a closed store goes on to, refuses as well',
  },
  {
    file: 'state/journaled-store.ts',
    scope: 'meta',
    from: 'const last = clean ? head : this.#next - 1;',
    to: 'const last = clean ? head : this.#next + 1;',
    reason: 'after a kill, more than a million versions are left out',
  },
  {
    file: 'auth/escalation/delegation.ts',
    scope: 'isEverything',
    from: 'return all && resourceNames.length === 0;',
    to: 'return undefined as never;',
    reason: 'a shortcut: the grants are compared rule by rule then',
  },
  {
    file: 'catalog/apply-commit.ts',
    scope: 'firstContents',
    from: 'return contents;',
    to: 'return undefined as never;',
    reason: 'a shortcut: the general road comes to the same contents',
  },
  {
    file: 'catalog/owner-bindings.ts',
    scope: '#mergedIncarnations',
    from: 'if (incarnation === undefined || winner === undefined || incarnation === winner) continue;',
    to: 'if (incarnation === undefined || winner === undefined && incarnation === winner) continue;',
    reason: 'without a winner there is no other incarnation to move the keys to',
  },
  {
    file: 'field-management/walk.ts',
    scope: 'merge',
    from: 'if (Array.isArray(live) && Array.isArray(applied)) return mergeLists(shape, live, applied);',
    to: 'if (Array.isArray(live) || Array.isArray(applied)) return mergeLists(shape, live, applied);',
    reason: 'both values have the same form when the line is reached',
  },
];

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

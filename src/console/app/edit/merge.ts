/** Three versions of an object, merged by field. Lists are one field. */
import type { Path } from './splice.ts';

export interface FieldConflict {
  readonly path: Path;
  readonly mine: unknown;
  readonly theirs: unknown;
}

export interface Merged {
  /** Changes of the others that the text of the person lacks. */
  readonly taken: readonly { readonly path: Path; readonly value: unknown }[];
  readonly conflicts: readonly FieldConflict[];
}

export function mergeFields(versions: {
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
}): Merged {
  const base = leavesOf(versions.base);
  const mine = leavesOf(versions.mine);
  const theirs = leavesOf(versions.theirs);
  const paths = new Set([...base.keys(), ...theirs.keys()]);
  const taken: { path: Path; value: unknown }[] = [];
  const conflicts: FieldConflict[] = [];
  for (const id of paths) {
    const [before, own, other] = [base.get(id), mine.get(id), theirs.get(id)];
    if (isSame(before, other) || isSame(own, other)) continue;
    const path = JSON.parse(id) as Path;
    if (isSame(before, own)) taken.push({ path, value: other?.value });
    else conflicts.push({ path, mine: own?.value, theirs: other?.value });
  }
  return { taken, conflicts };
}

interface Leaf {
  readonly value: unknown;
}

function isSame(a: Leaf | undefined, b: Leaf | undefined): boolean {
  return JSON.stringify(a?.value) === JSON.stringify(b?.value);
}

function leavesOf(value: unknown): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const visit = (node: unknown, path: Path): void => {
    const isBranch = typeof node === 'object' && node !== null && !Array.isArray(node);
    const entries = isBranch ? Object.entries(node) : [];
    if (entries.length === 0) leaves.set(JSON.stringify(path), { value: node });
    for (const [name, child] of entries) visit(child, [...path, name]);
  };
  visit(value, []);
  return leaves;
}

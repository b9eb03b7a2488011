/**
 * Three-way merge of sequences: lines of a text, or names of list items. Both sides are compared with
 * their common base, and changes of different places are applied together.
 */
import { diffArrays } from 'diff';

export interface MergedSequence {
  readonly items: readonly string[];
  /** False: both sides changed the same place, and `items` has the version of the first side there. */
  readonly isClean: boolean;
}

export interface SequenceRules {
  /**
   * Accepts changes next to each other, and insertions of both sides at one place. The result does not
   * depend on the order of the sides.
   */
  readonly joinsNeighbours: boolean;
}

/** Replaces base[start, end) by items. */
interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly items: readonly string[];
}

/** More differences than this take too long to find. */
const MAX_EDITS = 1_000;

/** Undefined if the sides differ too much from the base. */
export function mergeSequences(
  base: readonly string[],
  sides: readonly [readonly string[], readonly string[]],
  rules: SequenceRules,
): MergedSequence | undefined {
  const [one, other] = sides.map((side) => hunksOf(base, side));
  if (one === undefined || other === undefined) return undefined;
  const hunks: Hunk[] = [];
  let isClean = true;
  while (one.length > 0 || other.length > 0) {
    const next = nextOf(one, other, rules);
    if (next !== undefined) for (const hunk of next) hunks.push(hunk);
    else {
      isClean = false;
      dropOverlapped(one, other);
    }
  }
  const items: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    for (const item of base.slice(at, hunk.start)) items.push(item);
    for (const item of hunk.items) items.push(item);
    at = hunk.end;
  }
  for (const item of base.slice(at)) items.push(item);
  return { items, isClean };
}

/** Takes the next changes off the sides. Undefined: both sides changed the same place. */
function nextOf(one: Hunk[], other: Hunk[], rules: SequenceRules): Hunk[] | undefined {
  const [a, b] = [one[0], other[0]];
  if (b === undefined || (a !== undefined && isBefore(a, b, rules))) return one.splice(0, 1);
  if (a === undefined || isBefore(b, a, rules)) return other.splice(0, 1);
  const areInsertions = rules.joinsNeighbours && isInsertion(a) && isInsertion(b);
  if (!isSame(a, b) && !areInsertions) return undefined;
  one.shift();
  other.shift();
  if (isSame(a, b)) return [a];
  return [a, b].sort((x, y) => (x.items.join('\n') < y.items.join('\n') ? -1 : 1));
}

function hunksOf(base: readonly string[], side: readonly string[]): Hunk[] | undefined {
  const changes = diffArrays([...base], [...side], { maxEditLength: MAX_EDITS });
  if (changes === undefined) return undefined;
  const hunks: Hunk[] = [];
  let at = 0;
  for (let i = 0; i < changes.length; ) {
    const start = at;
    const items: string[] = [];
    for (; i < changes.length; i += 1) {
      const change = changes[i];
      if (change === undefined || (!change.added && !change.removed)) break;
      if (change.removed) at += change.count;
      else items.push(...change.value);
    }
    if (at > start || items.length > 0) hunks.push({ start, end: at, items });
    else at += changes[i++]?.count ?? 0;
  }
  return hunks;
}

function isInsertion({ start, end }: Hunk): boolean {
  return start === end;
}

/** True if `a` ends before `b` begins, and the two do not touch unless neighbours may. */
function isBefore(a: Hunk, b: Hunk, { joinsNeighbours }: SequenceRules): boolean {
  if (a.end < b.start) return true;
  if (!joinsNeighbours || a.end > b.start) return false;
  return !(isInsertion(a) && isInsertion(b));
}

function isSame(a: Hunk, b: Hunk): boolean {
  return (
    a.start === b.start &&
    a.end === b.end &&
    a.items.length === b.items.length &&
    a.items.every((item, i) => item === b.items[i])
  );
}

/** Removes the changes of `other` that overlap with the first of `one`, and with those reached so. */
function dropOverlapped(one: readonly Hunk[], other: Hunk[]): void {
  let end = one[0]?.end ?? 0;
  for (let [b] = other; b !== undefined && b.start <= end; [b] = other) {
    other.shift();
    end = Math.max(end, b.end);
    for (const a of one) if (a.start <= end) end = Math.max(end, a.end);
  }
}

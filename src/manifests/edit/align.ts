/** Alignment of the items of two versions of a list, with the least change. */
import { isRecord, type JsonValue, jsonEqual } from '../../apimachinery/index.ts';
import { isInOrder, matchItems } from './match.ts';

/** `from` without `to` was removed, `to` without `from` was added. Both are in order. */
export interface Step {
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Larger differences are aligned by position: the table below has a cell per pair. */
const MAX_CELLS = 10_000;
const REMOVE_OR_ADD = 1;
/** More expensive than removing and adding. */
const NEVER = 3;

/**
 * Pairs items with the same identity if they come in the same order; aligns the rest between them.
 */
export function align(before: readonly JsonValue[], after: readonly JsonValue[]): Step[] {
  const matches = matchItems(before, after);
  if (!isInOrder(matches)) return alignByCost(before, after);
  const steps: Step[] = [];
  let [from, to] = [0, 0];
  for (const match of [...matches, { from: before.length, to: after.length }]) {
    const part = alignByCost(before.slice(from, match.from), after.slice(to, match.to));
    for (const step of part) {
      steps.push({ from: shifted(step.from, from), to: shifted(step.to, to) });
    }
    if (match.from < before.length) steps.push(match);
    [from, to] = [match.from + 1, match.to + 1];
  }
  return steps;
}

function alignByCost(before: readonly JsonValue[], after: readonly JsonValue[]): Step[] {
  let head = 0;
  while (head < before.length && head < after.length && jsonEqual(before[head], after[head]))
    head++;
  let tail = 0;
  const longest = Math.min(before.length, after.length) - head;
  while (tail < longest && jsonEqual(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const middle = between(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
  );
  return [
    ...pairs(head, 0, 0),
    ...middle.map(({ from, to }) => ({ from: shifted(from, head), to: shifted(to, head) })),
    ...pairs(tail, before.length - tail, after.length - tail),
  ];
}

function shifted(index: number | undefined, by: number): number | undefined {
  return index === undefined ? undefined : index + by;
}

function pairs(count: number, from: number, to: number): Step[] {
  return Array.from({ length: count }, (_, i) => ({ from: from + i, to: to + i }));
}

function between(before: readonly JsonValue[], after: readonly JsonValue[]): Step[] {
  if (before.length * after.length > MAX_CELLS) return byPosition(before.length, after.length);
  const costs = before.map((item) => after.map((other) => changeCost(item, other)));
  return cheapest(costs, before.length, after.length);
}

function byPosition(before: number, after: number): Step[] {
  const common = Math.min(before, after);
  return [
    ...pairs(common, 0, 0),
    ...Array.from({ length: before - common }, (_, i) => ({ from: common + i, to: undefined })),
    ...Array.from({ length: after - common }, (_, i) => ({ from: undefined, to: common + i })),
  ];
}

/** Edit distance, read from the start: `table[i][j]` is the cost of the remaining items. */
function cheapest(costs: readonly (readonly number[])[], before: number, after: number): Step[] {
  const table = Array.from({ length: before + 1 }, () => new Float64Array(after + 1));
  const left = (i: number, j: number) => {
    if (i === before) return (after - j) * REMOVE_OR_ADD;
    return j === after ? (before - i) * REMOVE_OR_ADD : (table[i]?.[j] ?? 0);
  };
  const change = (i: number, j: number) => (costs[i]?.[j] ?? NEVER) + left(i + 1, j + 1);
  const remove = (i: number, j: number) => REMOVE_OR_ADD + left(i + 1, j);
  const add = (i: number, j: number) => REMOVE_OR_ADD + left(i, j + 1);
  for (let i = before - 1; i >= 0; i--) {
    const row = table[i] as Float64Array;
    for (let j = after - 1; j >= 0; j--) row[j] = Math.min(change(i, j), remove(i, j), add(i, j));
  }
  const steps: Step[] = [];
  let [i, j] = [0, 0];
  while (i < before && j < after) {
    if (left(i, j) === change(i, j)) steps.push({ from: i++, to: j++ });
    else if (left(i, j) === remove(i, j)) steps.push({ from: i++, to: undefined });
    else steps.push({ from: undefined, to: j++ });
  }
  while (i < before) steps.push({ from: i++, to: undefined });
  while (j < after) steps.push({ from: undefined, to: j++ });
  return steps;
}

/** 0 for equal items, below 2 if a change preserves more than removing one and adding the other. */
function changeCost(before: JsonValue, after: JsonValue): number {
  if (jsonEqual(before, after)) return 0;
  if (before === null) return 1.9;
  if (isRecord(before) && isRecord(after)) return 0.1 + 1.9 * (1 - likeness(before, after));
  if (Array.isArray(before) || Array.isArray(after) || isRecord(before) || isRecord(after)) {
    return Array.isArray(before) && Array.isArray(after) ? 1.5 : NEVER;
  }
  return 1.5;
}

/**
 * Share of fields that two maps have in common; higher for equal names, lower for different ones.
 */
function likeness(before: Record<string, unknown>, after: Record<string, unknown>): number {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  let common = 0;
  for (const key of keys) {
    if (!Object.hasOwn(before, key) || !Object.hasOwn(after, key)) continue;
    common += jsonEqual(before[key], after[key]) ? 1 : 0.25;
  }
  const share = common / Math.max(1, keys.size);
  if (before['name'] === undefined || after['name'] === undefined) return share;
  // Another name is another item, unless nearly all other fields are the same.
  return before['name'] === after['name'] ? (1 + share) / 2 : share - 0.3;
}

/** Identity of list items between two versions: by value, or by the field that names them. */
import { isRecord, type JsonValue } from '../../apimachinery/index.ts';

export interface Match {
  readonly from: number;
  readonly to: number;
}

/**
 * Fields that identify a list item, like merge keys of Kubernetes; the first with distinct values
 * is used.
 */
export const MERGE_KEYS = ['name', 'key', 'id', 'role', 'project', 'path', 'uid'] as const;

/** In the order of `after`. Of equal items the first is matched with the first. */
export function matchItems(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
): readonly Match[] {
  const matches: Match[] = [];
  const [olds, news] = [new Set(before.keys()), new Set(after.keys())];
  const pair = (identity: (item: JsonValue) => string | undefined): void => {
    const known = positions(before, olds, identity);
    for (const to of news) {
      const name = identity(after[to] ?? null);
      const from = name === undefined ? undefined : known.get(name)?.shift();
      if (from === undefined) continue;
      olds.delete(from);
      news.delete(to);
      matches.push({ from, to });
    }
  };
  pair(canonical);
  for (const field of MERGE_KEYS) {
    const names = (items: readonly JsonValue[], at: ReadonlySet<number>): boolean =>
      [...positions(items, at, nameBy(field)).values()].every((found) => found.length === 1);
    if (names(before, olds) && names(after, news)) pair(nameBy(field));
  }
  return matches.sort((a, b) => a.to - b.to);
}

export function isInOrder(matches: readonly Match[]): boolean {
  return matches.every(({ from }, i) => i === 0 || from > (matches[i - 1]?.from ?? -1));
}

function positions(
  items: readonly JsonValue[],
  at: ReadonlySet<number>,
  identity: (item: JsonValue) => string | undefined,
): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const index of at) {
    const name = identity(items[index] ?? null);
    if (name === undefined) continue;
    const same = found.get(name) ?? [];
    same.push(index);
    found.set(name, same);
  }
  return found;
}

function nameBy(field: string): (item: JsonValue) => string | undefined {
  return (item) => {
    const name = isRecord(item) && Object.hasOwn(item, field) ? item[field] : undefined;
    return typeof name === 'string' ? name : undefined;
  };
}

/** Equal for equal values, in any order of keys. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isRecord(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** Parts that the core/v1 kinds of clusters share. */
import { type FieldError, invalid, isRecord, valueAt } from '../../apimachinery/index.ts';

export const CORE = {
  group: '',
  storedIn: 'cluster',
  allowUnconditionalUpdate: true,
  strategicMerge: true,
} as const;

/** Calls `each` for every map in a list. Anything else is skipped. */
export function eachRecord(list: unknown, each: (item: Record<string, unknown>) => void): void {
  if (Array.isArray(list)) for (const item of list) if (isRecord(item)) each(item);
}

export function portProblems(ports: unknown, path: readonly (string | number)[]): FieldError[] {
  if (!Array.isArray(ports)) return [];
  return ports.flatMap((entry: unknown, i) => {
    const port = Number(valueAt(entry, ['port']));
    if (port >= 1 && port <= 65_535) return [];
    return [invalid([...path, i, 'port'], port, 'must be between 1 and 65535, inclusive')];
  });
}

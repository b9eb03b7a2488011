/**
 * Reverse expressions that never run: only labels and annotations are synced back to the tenant. A
 * push of a file that has one is refused. Validation does not include this rule, so that files from
 * before the rule stay in force.
 */
import { type FieldError, forbidden, isRecord, valueAt } from '../apimachinery/index.ts';
import { parsePath } from './paths/parse.ts';
import type { Path } from './paths/path.ts';
import { SYNC_SETTINGS } from './settings.ts';

const FLOWS_BACK: readonly string[] = ['labels', 'annotations'];

/** `config` is a file that `checkEndpointsSetting` found nothing wrong with. */
export function deadReverseExpressions(config: unknown): FieldError[] {
  return Object.values(SYNC_SETTINGS).flatMap((setting) => {
    const at = [...setting, 'patches'];
    const patches = valueAt(config, at);
    if (!Array.isArray(patches)) return [];
    return patches.flatMap((patch: unknown, i) => {
      if (!isRecord(patch) || typeof patch['reverseExpression'] !== 'string') return [];
      const { path } = patch;
      if (typeof path !== 'string' || flowsBack(parsePath(path))) return [];
      return [forbidden([...at, i, 'reverseExpression'], detailFor(path))];
    });
  });
}

function detailFor(path: string): string {
  return `${JSON.stringify(path)} never flows back to the tenant: only metadata.labels and metadata.annotations do`;
}

/** True if the path can lead to labels or annotations, or to what holds them. */
function flowsBack([first, second]: Path): boolean {
  if (first !== undefined && 'key' in first && first.key !== 'metadata') return false;
  return second === undefined || !('key' in second) || FLOWS_BACK.includes(second.key);
}

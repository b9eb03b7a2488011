/** What a pusher is told: whether the push is accepted, and in which words. */
import type { ObjectChange } from '../../catalog/index.ts';
import type { Problem } from '../../manifests/index.ts';
import { isAnew, verbsOf } from '../writes/change-verbs.ts';
import type { Prune } from './prune-budget.ts';

export interface Verdict {
  readonly ok: boolean;
  /** What the pusher reads, a line each. */
  readonly lines: readonly string[];
  /** What is wrong with the files of the push, for those who want it by place. */
  readonly problems?: readonly Problem[];
  readonly prunes?: readonly Prune[];
}

const MOST_LINES = 200;

export function refusal(lines: readonly string[]): Verdict {
  return { ok: false, lines };
}

/** What an accepted push did. */
export function summary(changes: readonly ObjectChange[]): string {
  const count = { create: 0, update: 0, delete: 0 };
  const anew = changes.filter(isAnew).length;
  for (const change of changes) for (const verb of verbsOf(change)) count[verb]++;
  const created = `${count.create - anew} created${anew === 0 ? '' : `, ${anew} made anew`}`;
  return `accepted: ${created}, ${count.update} changed, ${count.delete - anew} removed`;
}

/** As many as somebody may want to read. */
export function capped(lines: readonly string[]): string[] {
  if (lines.length <= MOST_LINES) return [...lines];
  return [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} more`];
}

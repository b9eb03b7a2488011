/** Verdict on a push: accepted or not, and the messages for the pusher. */
import type { ObjectChange } from '../../catalog/index.ts';
import type { Problem } from '../../manifests/index.ts';
import { isAnew, verbsOf } from '../writes/change-verbs.ts';
import type { Prune } from './prune-budget.ts';

export interface Verdict {
  readonly ok: boolean;
  /** Lines that git prints to the pusher. */
  readonly lines: readonly string[];
  /** Problems in the files of the push, by place. */
  readonly problems?: readonly Problem[];
  readonly prunes?: readonly Prune[];
}

const MAX_LINES = 200;

export function refusal(lines: readonly string[]): Verdict {
  return { ok: false, lines };
}

/** Summary of an accepted push. */
export function summary(changes: readonly ObjectChange[]): string {
  const count = { create: 0, update: 0, delete: 0 };
  const anew = changes.filter(isAnew).length;
  for (const change of changes) for (const verb of verbsOf(change)) count[verb]++;
  const created = `${count.create - anew} created${anew === 0 ? '' : `, ${anew} made anew`}`;
  return `accepted: ${created}, ${count.update} changed, ${count.delete - anew} removed`;
}

/** Cuts the list to a readable length. */
export function capped(lines: readonly string[]): string[] {
  if (lines.length <= MAX_LINES) return [...lines];
  return [...lines.slice(0, MAX_LINES), `… and ${lines.length - MAX_LINES} more`];
}

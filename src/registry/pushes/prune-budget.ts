/**
 * Rule for branch moves that need approval (invariant 6), and its messages. It applies to pushes,
 * which are refused, and to moves without a verdict, which are held.
 */
import { describeKey, type ObjectKey, shownPath } from '../../apimachinery/index.ts';

/** Limits of removals in one move without approval. */
export interface PruneBudget {
  /** A move that removes more objects than this, */
  readonly objects: number;
  /** and more than this percentage of the served objects, needs approval. */
  readonly percent: number;
}

/** An object that a branch move would remove. */
export interface Prune {
  readonly key: ObjectKey;
  /** Path of its manifest; undefined if this run has read no manifest of it. */
  readonly path: string | undefined;
}

export type HoldReason =
  | 'PruneBudgetExceeded'
  | 'HistoryRewritten'
  | 'BranchMissing'
  | 'TreeTooLarge'
  | 'SignatureRequired';

/** Reason why readers do not see the head of the branch. */
export interface Hold {
  readonly reason: HoldReason;
  /** Head of the branch; undefined: the branch is gone. */
  readonly head: string | undefined;
  /** The held revision: the head of the branch, or an ancestor of it. */
  readonly revision: string | undefined;
  /** The revision that readers see instead. */
  readonly served: string | undefined;
  readonly message: string;
  readonly prunes: readonly Prune[];
  readonly remedy: string;
}

/**
 * Trailer that `git interpret-trailers` reads; its number is the most objects that may be removed.
 */
export const TRAILER = 'Gitplane-Allow-Prune';

/** Counts of a branch move. */
export interface PruneCount {
  readonly prunes: number;
  /** Number of objects before it. */
  readonly before: number;
  /** Number of objects after it. */
  readonly after: number;
}

/**
 * True if a move removes too much. Removing everything always does: an empty checkout or a wrong
 * folder looks like that. A platform with one object may have it replaced by another.
 */
export function exceeds(budget: PruneBudget, { prunes, before, after }: PruneCount): boolean {
  if (prunes === 0) return false;
  if (prunes >= before) return before > 1 || after === 0;
  return prunes > budget.objects && prunes * 100 > budget.percent * before;
}

const TRAILER_LINE = new RegExp(`^${TRAILER}[ \\t]*:[ \\t]*(\\d{1,9})[ \\t]*$`, 'i');
const ANY_TRAILER = /^[A-Za-z0-9][A-Za-z0-9-]*[ \t]*:|^[ \t]|^\(cherry picked from /;

/**
 * Number of removals that a commit message allows: the last trailer of its last paragraph counts.
 */
export function allowedPrunes(message: string): number {
  const paragraphs = message
    .replace(/\r\n?/g, '\n')
    .trimEnd()
    .split(/\n[ \t]*\n/);
  // The first paragraph is the subject, even if it looks like a trailer.
  const lines = paragraphs.length < 2 ? [] : (paragraphs.at(-1)?.split('\n') ?? []);
  if (!lines.every((line) => ANY_TRAILER.test(line))) return 0;
  const found = lines.map((line) => TRAILER_LINE.exec(line)?.[1]).filter((n) => n !== undefined);
  return Number(found.at(-1) ?? 0);
}

/** `would remove 12 of the 40 objects`, and the limit that it exceeds. */
export function describeExcess({ prunes, before }: PruneCount, budget: PruneBudget): string {
  const objects = before === 1 ? 'the only object' : `${prunes} of the ${before} objects`;
  if (prunes >= before) return `would remove ${before === 1 ? objects : `all ${before} objects`}`;
  const allowed = `${budget.objects} object${budget.objects === 1 ? '' : 's'}`;
  return `would remove ${objects}, more than the prune budget allows (${allowed} or ${budget.percent}%)`;
}

/** Remedy for a pusher who wants the removals. */
export function trailerRemedy(prunes: number): string {
  return `the trailer "${TRAILER}: ${prunes}" on the last commit`;
}

function approveCommand(revision: string): string {
  return `gitplane approve ${revision} --reason "…"`;
}

/** Last lines of a push that is refused because of its removals. */
export function pushRefusal(of: {
  revision: string;
  count: PruneCount;
  allowed: number;
  budget: PruneBudget;
}): string[] {
  const { revision, count, allowed, budget } = of;
  const { prunes } = count;
  const short = allowed === 0 ? '' : `; its trailer allows ${allowed}`;
  return [
    `This push ${describeExcess(count, budget)}${short}; nothing was changed`,
    `If that is meant, put ${trailerRemedy(prunes)} and push again:`,
    `  git commit --amend --no-edit --trailer "${TRAILER}: ${prunes}"`,
    'or have this revision approved, and push again:',
    `  ${approveCommand(revision)}`,
  ];
}

export function describePrune({ key, path }: Prune): string {
  return `removes ${describeKey(key)}${path === undefined ? '' : ` (${shownPath(path)})`}`;
}

interface HeldMove {
  readonly head: string;
  readonly revision: string;
  readonly served: string | undefined;
  readonly prunes: readonly Prune[];
}

export function rewrittenHold(at: HeldMove): Hold {
  const { revision, served } = at;
  return {
    ...at,
    reason: 'HistoryRewritten',
    message: `The branch is at ${revision}, which does not follow from the applied revision ${served}: its history was rewritten, or it was moved back`,
    remedy: `Move the branch back to ${served} or to a commit on top of it, or approve the new history: ${approveCommand(revision)}`,
  };
}

export function missingHold(ref: string, served: string): Hold {
  return {
    reason: 'BranchMissing',
    head: undefined,
    revision: undefined,
    served,
    message: `${ref} does not exist any more`,
    prunes: [],
    remedy: `Put it back: git update-ref ${ref} ${served}`,
  };
}

/** Hold at a commit that is too large to read. It cannot be approved. */
export function tooLargeHold(at: {
  readonly head: string;
  readonly served: string | undefined;
  readonly problem: string;
}): Hold {
  const { head, served, problem } = at;
  const back = served === undefined ? '' : `, move the branch back to ${served}`;
  return {
    reason: 'TreeTooLarge',
    head,
    revision: head,
    served,
    message: `The branch is at ${head}, which is beyond the limits of what is read: ${problem}`,
    prunes: [],
    remedy: `Make a commit without it${back}, or raise the limit that is named`,
  };
}

/** Hold at commits of a followed branch that the signature policy rejects. */
export function unsignedHold(at: {
  readonly head: string;
  readonly served: string | undefined;
  readonly reasons: readonly string[];
}): Hold {
  const { head, served, reasons } = at;
  const [first = '', ...others] = reasons;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return {
    reason: 'SignatureRequired',
    head,
    revision: head,
    served,
    message: `The followed branch is at ${head}, and not every commit up to it is signed as the policy requires: ${first}${more}`,
    prunes: [],
    remedy: `Recreate those commits with valid signatures, or move the branch back to ${served}`,
  };
}

export function pruneHold({ excess, ...at }: HeldMove & { excess: string }): Hold {
  const { revision, prunes } = at;
  return {
    ...at,
    reason: 'PruneBudgetExceeded',
    message: `The commit ${revision} ${excess}`,
    remedy: `Put the objects back with a new commit, or approve their removal: with ${trailerRemedy(prunes.length)} (git commit --allow-empty, if there is nothing else to commit), or with ${approveCommand(revision)}`,
  };
}

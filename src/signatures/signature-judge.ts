/**
 * Judges the signatures of a range of commits: of every commit that would be new, on every line of
 * a merge, not only of the last one.
 */

import { type Clock, shownPath } from '../apimachinery/index.ts';
import { mapLimit } from '../concurrency/index.ts';
import { changedPaths, type HistoryCommit, ownPaths, type Repository } from '../git/index.ts';
import type { PathRule } from './path-rules.ts';
import { SignatureError, SignatureFileError } from './signature-error.ts';
import type { PolicySource, SignaturePolicy } from './signature-policy.ts';
import { authorOf, parseSignedCommit, type SignedCommit } from './signed-commit.ts';
import { type Signer, signerOf } from './verify-signature.ts';

/** A repository, or a quarantine of it, that the commits can be read from. */
export type CommitSource = Pick<
  Repository,
  'history' | 'readCommits' | 'diff' | 'mergeBases' | 'isAncestor'
>;

export interface CommitRange {
  /** What is trusted already, with everything it reaches; undefined: nothing is. */
  readonly from: string | undefined;
  readonly to: string;
}

/** Commits that are read together. */
const GROUP = 64;
/** gpg processes at a time. */
const AT_ONCE = 4;
/** Enough to see what is wrong; the rest of a long range is not read. */
const MOST_OBJECTIONS = 100;
const MOST_PATHS = 3;

export class SignatureJudge {
  readonly #policy: PolicySource;
  readonly #clock: Clock;

  constructor(policy: PolicySource, clock: Clock) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /**
   * Why the range must not become part of the branch, a line each; none when it may. Fails closed:
   * a policy that cannot be read refuses everything.
   */
  async judge(source: CommitSource, range: CommitRange): Promise<string[]> {
    let policy: SignaturePolicy;
    try {
      policy = await this.#policy.current();
    } catch (error) {
      if (!(error instanceof SignatureFileError)) throw error;
      return [`no signature can be verified until the operator mends this: ${error.message}`];
    }
    const objections: string[] = [];
    const from = range.from ?? (await trustedStart(source, policy, range.to));
    for await (const group of grouped(source.history(from, range.to))) {
      const contents = await source.readCommits(group.map(({ id }) => id));
      const found = await mapLimit(group, AT_ONCE, async (commit, i) => {
        const content = contents[i] ?? Buffer.alloc(0);
        const inspected = { source, policy, commit, content, now: this.#clock.now() };
        const reasons = await objectionsTo(inspected);
        return reasons.map(
          (reason) => `commit ${commit.id.slice(0, 12)} by ${authorOf(content)}: ${reason}`,
        );
      });
      objections.push(...found.flat());
      if (objections.length > MOST_OBJECTIONS) {
        return [...objections.slice(0, MOST_OBJECTIONS), '… and more: the rest was not looked at'];
      }
    }
    return objections;
  }

  close(): Promise<void> {
    return this.#policy.close();
  }
}

/** What the operator vouches for, where there is nothing to begin with yet. */
async function trustedStart(
  source: CommitSource,
  { rules: { trusted } }: SignaturePolicy,
  to: string,
): Promise<string | undefined> {
  return trusted !== undefined && (await source.isAncestor(trusted, to)) ? trusted : undefined;
}

interface Inspected {
  readonly source: CommitSource;
  readonly policy: SignaturePolicy;
  readonly commit: HistoryCommit;
  readonly content: Buffer;
  readonly now: number;
}

async function objectionsTo(inspected: Inspected): Promise<string[]> {
  const { commit, policy, source } = inspected;
  const paths = changedPaths(commit);
  const { signer, reason } = await signature(inspected);
  if (signer === undefined && policy.rules.require) return [`${reason}${changing(paths)}`];
  const ruled = paths.flatMap((path) => {
    const rule = policy.rules.rules.find((one) => one.matches(path));
    return rule === undefined || satisfies(signer, rule) ? [] : [{ path, rule }];
  });
  if (ruled.length === 0) return [];
  const own = new Set(
    await ownPaths(
      source,
      commit,
      ruled.map(({ path }) => path),
    ),
  );
  return describeRuled(
    ruled.filter(({ path }) => own.has(path)),
    signer?.name,
    reason,
  );
}

/** Who signed the commit, or why nobody did. */
async function signature({
  policy,
  content,
  now,
}: Inspected): Promise<{ signer: Signer | undefined; reason: string }> {
  let commit: SignedCommit;
  try {
    commit = parseSignedCommit(content);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { signer: undefined, reason: `its signature cannot be judged: ${error.message}` };
  }
  try {
    const signer = await signerOf(policy.keys, commit, now);
    return { signer, reason: 'it is not signed' };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { signer: undefined, reason: `its signature does not count: ${error.message}` };
  }
}

function satisfies(signer: Signer | undefined, { signers }: PathRule): boolean {
  if (signer === undefined) return false;
  return signers === undefined || signers.some((identity) => signer.is(identity));
}

/** One line for the paths of one rule. */
function describeRuled(
  ruled: readonly { path: string; rule: PathRule }[],
  signer: string | undefined,
  reason: string,
): string[] {
  const who = signer === undefined ? reason : `it is signed by ${signer}`;
  return [...new Set(ruled.map(({ rule }) => rule))].map((rule) => {
    const paths = ruled.flatMap((one) => (one.rule === rule ? one.path : []));
    const { signers } = rule;
    const wanted =
      signers === undefined ? 'a trusted signature' : `a signature of ${signers.join(' or ')}`;
    return `${listed(paths)} takes ${wanted}, and ${who}`;
  });
}

function changing(paths: readonly string[]): string {
  return paths.length === 0 ? ' (it changes nothing)' : ` (it changes ${listed(paths)})`;
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map(shownPath).join(', ');
  return paths.length > MOST_PATHS ? `${shown} and ${paths.length - MOST_PATHS} more` : shown;
}

async function* grouped(commits: AsyncIterable<HistoryCommit>): AsyncGenerator<HistoryCommit[]> {
  let group: HistoryCommit[] = [];
  for await (const commit of commits) {
    if (group.push(commit) < GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

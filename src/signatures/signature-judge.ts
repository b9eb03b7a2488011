/**
 * Checks the signatures of a range of commits: of every new commit, on all lines of a merge, not only of
 * the last one.
 */

import { type Clock, shownPath } from '../apimachinery/index.ts';
import { mapLimit } from '../concurrency/index.ts';
import { changedPaths, type HistoryCommit, ownPaths, type Repository } from '../git/index.ts';
import type { PathRule } from './path-rules.ts';
import { SignatureError, SignatureFileError } from './signature-error.ts';
import type { PolicySource, SignaturePolicy } from './signature-policy.ts';
import { parseSignedCommit, type SignedCommit } from './signed-commit.ts';
import { type Signer, signerOf } from './verify-signature.ts';

/** Repository, or quarantine of it, that contains the commits. */
export type CommitSource = Pick<
  Repository,
  'history' | 'readCommits' | 'diff' | 'mergeBases' | 'isAncestor'
>;

export interface CommitRange {
  /** Commit that is trusted with its history; undefined: none. */
  readonly from: string | undefined;
  readonly to: string;
}

/** Commits judged before the next objections are counted. */
const CHUNK = 64;
/** Changes of the commits of a chunk: one more commit can have a million. */
const CHUNK_CHANGES = 10_000;
/** gpg processes, and commits in memory, at a time. */
const AT_ONCE = 4;
/** Enough to show the problem; the rest of a long range is not checked. */
const MAX_OBJECTIONS = 100;
const MAX_PATHS = 3;

export class SignatureJudge {
  readonly #policy: PolicySource;
  readonly #clock: Clock;

  constructor(policy: PolicySource, clock: Clock) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /**
   * Reasons to refuse the range, one per line; empty if it is accepted. Fails closed: a policy that
   * cannot be read refuses everything.
   */
  async judge(source: CommitSource, range: CommitRange): Promise<string[]> {
    let policy: SignaturePolicy;
    try {
      policy = await this.#policy.current();
    } catch (error) {
      if (!(error instanceof SignatureFileError)) throw error;
      return [`signatures cannot be verified until the operator fixes this: ${error.message}`];
    }
    const objections: string[] = [];
    const from = range.from ?? (await trustedStart(source, policy, range.to));
    for await (const chunk of chunked(source.history(from, range.to))) {
      const found = await mapLimit(chunk, AT_ONCE, async (commit) => {
        const [content = Buffer.alloc(0)] = await source.readCommits([commit.id]);
        const inspected = { source, policy, commit, content, now: this.#clock.now() };
        const reasons = await objectionsTo(inspected);
        return reasons.map(
          (reason) => `commit ${commit.id.slice(0, 12)} by ${authorOf(content)}: ${reason}`,
        );
      });
      objections.push(...found.flat());
      if (objections.length > MAX_OBJECTIONS) {
        return [...objections.slice(0, MAX_OBJECTIONS), '… and more: the rest was not checked'];
      }
    }
    return objections;
  }

  close(): Promise<void> {
    return this.#policy.close();
  }
}

/** Commit that the operator trusts, for a repository that has no trusted commit yet. */
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

/** Signer of the commit, or the reason for its absence. */
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
    return { signer: undefined, reason: `its signature cannot be checked: ${error.message}` };
  }
  try {
    const signer = await signerOf(policy.keys, commit, now);
    return { signer, reason: 'it is not signed' };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return { signer: undefined, reason: `its signature is not valid: ${error.message}` };
  }
}

function satisfies(signer: Signer | undefined, { signers }: PathRule): boolean {
  if (signer === undefined) return false;
  return signers === undefined || signers.some((identity) => signer.is(identity));
}

/** One line per rule, with the paths that it matched. */
function describeRuled(
  ruled: readonly { path: string; rule: PathRule }[],
  signer: string | undefined,
  reason: string,
): string[] {
  const actual = signer === undefined ? reason : `it is signed by ${signer}`;
  return [...new Set(ruled.map(({ rule }) => rule))].map((rule) => {
    const paths = ruled.flatMap((one) => (one.rule === rule ? one.path : []));
    const { signers } = rule;
    const required =
      signers === undefined ? 'a trusted signature' : `a signature of ${signers.join(' or ')}`;
    return `${listed(paths)} requires ${required}, and ${actual}`;
  });
}

function changing(paths: readonly string[]): string {
  return paths.length === 0 ? ' (it changes nothing)' : ` (it changes ${listed(paths)})`;
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, MAX_PATHS).map(shownPath).join(', ');
  return paths.length > MAX_PATHS ? `${shown} and ${paths.length - MAX_PATHS} more` : shown;
}

async function* chunked(commits: AsyncIterable<HistoryCommit>): AsyncGenerator<HistoryCommit[]> {
  let chunk: HistoryCommit[] = [];
  let changes = 0;
  for await (const commit of commits) {
    changes += commit.changes.reduce((sum, { length }) => sum + length, 0);
    if (chunk.push(commit) < CHUNK && changes < CHUNK_CHANGES) continue;
    yield chunk;
    chunk = [];
    changes = 0;
  }
  if (chunk.length > 0) yield chunk;
}

const author = /\nauthor ([^\n]*?) \d+ [-+]\d{4}\n/;

/** Author field of a commit, for messages only: it proves nothing. */
function authorOf(content: Buffer): string {
  const end = content.indexOf('\n\n');
  const header = content.toString('utf8', 0, end === -1 ? content.length : end + 1);
  return author.exec(header)?.[1] ?? 'nobody';
}

/** Parts of a push that come from outside of the registry. */
import type { Repository } from '../../git/index.ts';
import type { DryRunContext, PushedRange } from './push-dry-run.ts';

/** Replicas that need the commits before the branch moves. */
export interface PushAdmission {
  /** Reasons why the commits cannot be admitted, one per line; empty: they are. */
  admit(range: PushedRange): Promise<readonly string[]>;
  /** Resolves when git, or the admission itself, has moved the branch. */
  arrived(to: string): Promise<void>;
}

/** Reads the commits of a push, also those in quarantine. */
export type PushSource = DryRunContext['repository'] &
  Pick<
    Repository,
    | 'isAncestor'
    | 'commitMetadata'
    | 'readCommits'
    | 'diff'
    | 'diffAt'
    | 'mergeBases'
    | 'checkLimits'
    | 'objectionsTo'
    | 'newHistory'
  >;

export interface SignatureVerdict {
  /** Signature problems of the commits, one per line. */
  judge(source: PushSource, range: PushedRange): Promise<readonly string[]>;
}

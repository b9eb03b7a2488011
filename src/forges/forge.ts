/** The part of a forge that the daemon uses: statuses of commits, and pull requests to one branch. */

export const FORGE_TYPES = ['github', 'gitlab', 'gitea'] as const;
export type ForgeType = (typeof FORGE_TYPES)[number];

export type StatusState = 'pending' | 'success' | 'failure' | 'error';

export interface CommitStatus {
  readonly commit: string;
  /** Name of the status. A later status of the same name takes its place. */
  readonly context: string;
  readonly state: StatusState;
  /** One sentence; cut to the limit of the forge. */
  readonly description: string;
  readonly url?: string | undefined;
}

/** An open pull request (GitLab: merge request). */
export interface Pull {
  readonly number: number;
  /** Empty: the forge gave no address of a page. */
  readonly url: string;
  /** Branch that it merges. */
  readonly head: string;
  /** Tip of that branch. */
  readonly commit: string;
  /** True if the branch is in another repository. */
  readonly isFork: boolean;
}

/** A pull request at a commit. */
export type PullTip = Pick<Pull, 'number' | 'commit'>;

export interface Annotation {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
  readonly isError: boolean;
}

/** Methods reject with DeliveryError. */
export interface Forge {
  /** As in `GitHub`. */
  readonly name: string;
  setStatus(status: CommitStatus): Promise<void>;
  /** Those to the followed branch, the last updated ones first; at most 200. */
  openPulls(): Promise<readonly Pull[]>;
  openPull(pull: {
    readonly head: string;
    readonly title: string;
    readonly body: string;
  }): Promise<Pull>;
  /** Creates the comment that begins with the marker, or updates the one that this account made. */
  comment(
    pull: Pick<Pull, 'number'>,
    comment: { readonly marker: string; readonly body: string },
  ): Promise<void>;
  /** Shows the annotations at the lines of the tip, once per tip. */
  annotate(pull: PullTip, annotations: readonly Annotation[]): Promise<void>;
  close(): Promise<void>;
}

/** Location of a repository on a forge. */
export interface ForgeTarget {
  readonly type: ForgeType;
  /** Base URL of the API, without a trailing slash. */
  readonly api: string;
  /** `owner/name`; on GitLab with all groups. */
  readonly project: string;
  /** The followed branch. */
  readonly branch: string;
}

/**
 * Protocol between the hooks and the daemon over a unix socket: one line of JSON each way.
 * A hook is a separate process without dependencies: keep this file free of imports.
 */

/**
 * `pre-receive` judges every push before its objects leave the quarantine. `proc-receive` lands the
 * served branch of a push over HTTP in the place of git.
 */
export type HookName = 'pre-receive' | 'proc-receive';

export interface RefUpdate {
  /** All zeros if the ref is new. */
  readonly oldId: string;
  /** All zeros if the ref is removed. */
  readonly newId: string;
  readonly ref: string;
}

/** A `RefUpdate` in the daemon; undefined: the ref does not exist. */
export interface RefMove {
  readonly ref: string;
  readonly oldId: string | undefined;
  readonly newId: string | undefined;
}

/** Location of the objects of a push while it is validated. */
export interface QuarantineEnvironment {
  readonly GIT_QUARANTINE_PATH?: string;
  readonly GIT_OBJECT_DIRECTORY?: string;
  readonly GIT_ALTERNATE_OBJECT_DIRECTORIES?: string;
}

export interface PushRequest {
  readonly hook: HookName;
  readonly updates: readonly RefUpdate[];
  readonly env: QuarantineEnvironment & {
    /** Id that the HTTP server gave the push; absent in a push by path. */
    readonly GITPLANE_PUSH_ID?: string;
  };
  readonly pushOptions: readonly string[];
}

export interface PushVerdict {
  readonly ok: boolean;
  /** Shown to the pusher, each behind `remote: `. */
  readonly lines: readonly string[];
  /** Of a refusal by `proc-receive`: shown beside the ref. */
  readonly reason?: string;
}

/** Environment variables that are part of a request. */
export const forwardedVariables = [
  'GIT_QUARANTINE_PATH',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GITPLANE_PUSH_ID',
] as const;

/**
 * What the pre-receive hook and the daemon say to each other over a unix socket: one line of JSON
 * each way. The hook is a process of its own without dependencies: keep this file free of imports.
 */

export interface RefUpdate {
  /** All zeros when the ref is new. */
  readonly oldId: string;
  /** All zeros when the ref is removed. */
  readonly newId: string;
  readonly ref: string;
}

/** The same for the daemon; undefined stands for "does not exist". */
export interface RefMove {
  readonly ref: string;
  readonly oldId: string | undefined;
  readonly newId: string | undefined;
}

/** Where the objects of a push are while it is judged. */
export interface QuarantineEnvironment {
  readonly GIT_QUARANTINE_PATH?: string;
  readonly GIT_OBJECT_DIRECTORY?: string;
  readonly GIT_ALTERNATE_OBJECT_DIRECTORIES?: string;
}

export interface PushRequest {
  readonly updates: readonly RefUpdate[];
  readonly env: QuarantineEnvironment & {
    /** What the server that took the push called it; absent in a push by path. */
    readonly GITPLANE_PUSH_ID?: string;
  };
  readonly pushOptions: readonly string[];
}

export interface PushVerdict {
  readonly ok: boolean;
  /** Shown to the pusher, each behind `remote: `. */
  readonly lines: readonly string[];
}

/** Names of the environment that go with a request. */
export const forwardedVariables = [
  'GIT_QUARANTINE_PATH',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GITPLANE_PUSH_ID',
] as const;

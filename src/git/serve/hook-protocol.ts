/**
 * Protocol between the hook of a push by path and the daemon over a unix socket: one line of JSON each way.
 * The hook is a separate process without dependencies: keep this file free of imports.
 */

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
  readonly updates: readonly RefUpdate[];
  readonly env: QuarantineEnvironment;
  readonly pushOptions: readonly string[];
}

export interface PushVerdict {
  readonly ok: boolean;
  /** Shown to the pusher, each behind `remote: `. */
  readonly lines: readonly string[];
  /** Of a refusal by the hook proc-receive: shown beside the ref. */
  readonly reason?: string;
}

/** Environment variables that are part of a request. */
export const forwardedVariables = [
  'GIT_QUARANTINE_PATH',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
] as const;

const ID_DIGITS = 40;

/** Parses `<old id> SP <new id> SP <ref>`. */
export function parseUpdate(line: string): RefUpdate {
  return {
    oldId: line.slice(0, ID_DIGITS),
    newId: line.slice(ID_DIGITS + 1, 2 * ID_DIGITS + 1),
    ref: line.slice(2 * ID_DIGITS + 2),
  };
}

/** Parses what the hook pre-receive reads from stdin. */
export function parseUpdates(lines: string): RefUpdate[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map(parseUpdate);
}

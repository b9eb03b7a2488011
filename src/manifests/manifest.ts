/** Types of a manifest file, with positions for editors. */
import type { JsonValue } from '../apimachinery/index.ts';
import { type FieldPath, shownPath } from '../apimachinery/index.ts';

/** A problem at a position. Lines and columns count from 1, columns in characters. */
export interface Problem {
  readonly path: string;
  readonly line: number;
  readonly col: number;
  readonly message: string;
  /** The file has plaintext that no commit may have, even if the next one removes it. */
  readonly inClear?: true;
  /** The file is encrypted, and the daemon has no key for it. */
  readonly unreadable?: true;
}

/** `teams/ops.yaml:3:5: …`, the format of compilers, which editors can follow. */
export function formatProblem({ path, line, col, message }: Problem): string {
  return `${shownPath(path)}:${line}:${col}: ${message}`;
}

export interface Position {
  readonly line: number;
  readonly col: number;
}

export interface LocateOptions {
  readonly atKey?: boolean;
  readonly inside?: Position | undefined;
}

/** One YAML document of a file. Empty documents (comments only) are left out. */
export interface ManifestDocument {
  /** Index among all documents of the stream, including empty ones, from 0. */
  readonly index: number;
  /** Plain JSON: map, list, string, number, boolean or null. Undefined if it does not parse. */
  readonly value: JsonValue | undefined;
  /** `JSON.stringify` of the value, if available and the value contains no null. */
  readonly json?: string;
  /** Problems of the syntax alone, duplicate keys and too many aliases included. */
  readonly problems: readonly {
    readonly line: number;
    readonly col: number;
    readonly message: string;
  }[];
  /**
   * Position of the value at a path of map keys and list indexes; of the key with `atKey`. Falls
   * back to the nearest existing parent. `inside`: an offset within a text value.
   */
  locate(path: FieldPath, options?: LocateOptions): Position;
}

export interface ManifestFile {
  readonly documents: readonly ManifestDocument[];
}

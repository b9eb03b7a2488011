/** What a file of manifests is, with places that people can jump to. */
import { type FieldPath, shownPath } from '../apimachinery/index.ts';

/** A problem at a place. Lines and columns count from 1, columns in characters. */
export interface Problem {
  readonly path: string;
  readonly line: number;
  readonly col: number;
  readonly message: string;
  /** The file holds what no commit may hold, even if the next one takes it away. */
  readonly inClear?: true;
  /** The file is sealed, and nobody here has a key of it. */
  readonly unreadable?: true;
}

/** `teams/ops.yaml:3:5: …`, as compilers write it and editors jump to it. */
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

/** One YAML document of a file. Documents that hold nothing (comments only) are left out. */
export interface ManifestDocument {
  /** Position among all documents of the stream, the empty ones included, from 0. */
  readonly index: number;
  /** Plain JSON: map, list, string, number, boolean or null. Undefined when it does not parse. */
  readonly value: unknown;
  /** `JSON.stringify` of the value, where that is at hand and nothing in the value is null. */
  readonly json?: string;
  /** Problems of the syntax alone, duplicate keys and too many aliases included. */
  readonly problems: readonly {
    readonly line: number;
    readonly col: number;
    readonly message: string;
  }[];
  /**
   * Where the value at a path of map keys and list indexes begins; the key where `atKey` is set.
   * Falls back to the nearest place that exists above it. `inside`: a place in the text that the
   * value is, counted from its start.
   */
  locate(path: FieldPath, options?: LocateOptions): Position;
}

export interface ManifestFile {
  readonly documents: readonly ManifestDocument[];
}

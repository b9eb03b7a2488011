/** Files of a redo log: names, heads and frames. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { RedoStep } from './redo-record.ts';

/** A position in a log. */
export interface RedoMark {
  /** Shared by all files that follow each other. */
  readonly log: string;
  /** The newest step. */
  readonly step: number;
}

/** The first frame of a file, which continues after a step. */
export interface RedoHead extends RedoMark {
  readonly format: number;
  readonly boot: string;
  /** Version before the first event. */
  readonly head: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Content of the files of a log. */
export interface RedoContent {
  /** The newest step in the files. */
  readonly mark: RedoMark;
  /** Version before the first event. */
  readonly head: number;
  /** In order, without gap. */
  readonly steps: readonly RedoStep[];
  /** The newest file, and the end of its last step. */
  readonly end: { readonly number: number; readonly bytes: number; readonly head: RedoHead };
}

export const REDO_FORMAT = 2;
/** Format 1 has no compressed parts, and is read like format 2. */
export const READABLE_FORMATS: readonly number[] = [1, REDO_FORMAT];
const LENGTH_BYTES = 4;

/** Associated data of sealed heads and parts. */
export const HEAD_SEAL = 'redo';
export const partSeal = (log: string): string => `redo/${log}`;

/** Numbers of the files, in order. */
export function redoFiles(directory: string): number[] {
  return fs
    .readdirSync(directory)
    .flatMap((name) => /^redo-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

export function redoPath(directory: string, number: number): string {
  return join(directory, `redo-${number}`);
}

export function frameOf(sealed: Buffer): Buffer[] {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(sealed.length);
  return [length, sealed];
}

/** Every complete frame, and its end. A frame that a crash cut off is skipped. */
export function* framesIn(bytes: Buffer): Generator<{ frame: Buffer; end: number }> {
  let at = 0;
  while (at + LENGTH_BYTES <= bytes.length) {
    const start = at + LENGTH_BYTES;
    const end = start + bytes.readUInt32BE(at);
    if (end > bytes.length) return;
    yield { frame: bytes.subarray(start, end), end };
    at = end;
  }
}

/**
 * The redo log: recent steps of a store, in files beside its engine. A step is appended with one
 * write, before a reader sees it, and is never flushed: a killed process loses nothing that it
 * wrote. The next process replays the steps that the engine lacks, and restores the journal so that
 * watches resume. After a reboot the files are not trusted.
 *
 * A file is a head and parts of steps, each compressed, sealed with the state key and prefixed with
 * its length.
 * The next file begins where the last one ends, and makes the one before that unnecessary.
 */

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { type Clock, runAtOnce } from '../../apimachinery/index.ts';
import type { RecordCodec } from '../records/codec.ts';
import { reason } from '../state-error.ts';
import { PartCompressor } from './part-compression.ts';
import {
  frameOf,
  HEAD_SEAL,
  partSeal,
  REDO_FORMAT,
  type RedoContent,
  type RedoHead,
  type RedoMark,
  redoFiles,
  redoPath,
} from './redo-files.ts';
import { encodeStep, type StepChanges } from './redo-record.ts';

export interface RedoOptions {
  readonly directory: string;
  /** Changes with every boot of the machine. Empty if unknown: then there is no log. */
  readonly boot: string;
  /**
   * Called once when the log cannot be written, until it can again. After a crash, clients list
   * again.
   */
  onLost(reason: string): void;
  /** Called when the log of an earlier process is not usable, for example after a reboot. */
  onUnused(reason: string, isExpected: boolean): void;
  readonly limits?: Partial<RedoLimits>;
}

export interface RedoLimits {
  /** Size and age at which the next file begins. */
  readonly bytes: number;
  readonly ms: number;
  /** Free bytes that a new file requires. */
  readonly room: number;
}

/** Two files cover the time and the memory of the journal, see `DEFAULT_WINDOW`. */
const LIMITS: RedoLimits = { bytes: 64 * 1024 * 1024, ms: 5 * 60_000, room: 256 * 1024 * 1024 };
/** Delay after a failure, or while the disk is full. */
const RETRY_MS = 10_000;

/** Sealed parts of a step, ready to be appended at one position. */
export interface SealedStep {
  readonly mark: RedoMark;
  readonly file: OpenFile;
  readonly frames: readonly Buffer[];
  /** The compressor after these parts. */
  readonly compressor: PartCompressor;
}

interface OpenFile {
  readonly fd: number;
  readonly number: number;
  /** Objects of later versions are in this file. */
  readonly since: number;
  /** Milliseconds since the epoch. */
  readonly begun: number;
  bytes: number;
  /** The compressor after the last part. */
  compressor: PartCompressor;
}

export class RedoLog {
  readonly #options: RedoOptions;
  readonly #limits: RedoLimits;
  readonly #codec: RecordCodec;
  readonly #clock: Clock;
  #file: OpenFile | undefined;
  #mark: RedoMark | undefined;
  /** Number of the newest file; never reused. */
  #number = 0;
  #retryAt = 0;
  #isFailing = false;

  constructor(options: RedoOptions, codec: RecordCodec, clock: Clock) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#codec = codec;
    this.#clock = clock;
  }

  /** Position of the last appended step; undefined while there is no log. */
  get mark(): RedoMark | undefined {
    return this.#mark;
  }

  /** Drops the log, and begins a new one after version `head`. */
  begin(head: number): void {
    this.drop();
    if (this.#options.boot === '') return;
    try {
      this.#open({ log: randomBytes(8).toString('hex'), step: 0 }, head);
      this.#isFailing = false;
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Continues after the content that was read. */
  resume({ mark, end }: RedoContent): void {
    try {
      const { number, bytes, head } = end;
      const compressor = new PartCompressor();
      const path = redoPath(this.#options.directory, number);
      const fd = fs.openSync(path, 'r+');
      this.#number = number;
      this.#file = { fd, number, since: head.head, begun: head.at, bytes, compressor };
      // Removes a part that a crash cut off.
      fs.ftruncateSync(fd, bytes);
      this.#mark = mark;
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Seals a step for `append`, yielding between parts. Undefined while there is no log. */
  *seal(step: StepChanges): Generator<void, SealedStep | undefined> {
    const { mark } = this;
    const file = this.#file;
    if (mark === undefined || file === undefined) return undefined;
    const { since } = file;
    let { compressor } = file;
    const next = { log: mark.log, step: mark.step + 1 };
    const frames: Buffer[] = [];
    const parts = encodeStep(step, { step: next.step, at: this.#clock.now(), since });
    for (const part of parts) {
      if (part !== undefined) {
        frames.push(...this.#frame(partSeal(mark.log), compressor.compress(part)));
        compressor = compressor.after(part);
      }
      yield;
    }
    return { mark: next, file, frames, compressor };
  }

  /**
   * Appends a step after `head` that no reader has seen. Never throws: on failure there is no log
   * from here on. `sealed` is used if nothing was appended since, and the file is the same.
   */
  append(step: StepChanges, head: number, sealed?: SealedStep): void {
    const isDue = this.#options.boot !== '' && this.#clock.now() >= this.#retryAt;
    if (this.#mark === undefined && isDue) this.begin(head);
    if (this.#mark === undefined) return;
    const isNext = sealed?.mark.step === this.#mark.step + 1 && sealed.file === this.#file;
    const found = isNext ? sealed : runAtOnce(this.seal(step));
    if (found === undefined) return;
    try {
      this.#write(found.frames);
      this.#mark = found.mark;
      found.file.compressor = found.compressor;
      if (this.#isFull) this.#rotate(step.events.at(-1)?.resourceVersion ?? head);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Removes all files. */
  drop(): void {
    this.close();
    this.#mark = undefined;
    try {
      for (const number of redoFiles(this.#options.directory)) this.#remove(number);
    } catch {
      // Files that remain belong to another log than the state.
    }
  }

  close(): void {
    if (this.#file === undefined) return;
    const { fd } = this.#file;
    this.#file = undefined;
    try {
      fs.closeSync(fd);
    } catch {
      // The log promises no durability.
    }
  }

  get #isFull(): boolean {
    if (this.#file === undefined) return false;
    const { bytes, begun } = this.#file;
    return bytes >= this.#limits.bytes || this.#clock.now() - begun >= this.#limits.ms;
  }

  /** Continues in the next file, which begins after `head`. */
  #rotate(head: number): void {
    const { mark } = this;
    if (mark === undefined) return;
    const previous = this.#file?.number ?? 0;
    this.close();
    this.#open(mark, head);
    for (const number of redoFiles(this.#options.directory)) {
      if (number < previous) this.#remove(number);
    }
  }

  #open(mark: RedoMark, head: number): void {
    const { directory, boot } = this.#options;
    this.#checkRoom();
    const number = 1 + Math.max(this.#number, ...redoFiles(directory));
    const at = this.#clock.now();
    const fd = fs.openSync(redoPath(directory, number), 'wx', 0o600);
    this.#number = number;
    const compressor = new PartCompressor();
    this.#file = { fd, number, since: head, begun: at, bytes: 0, compressor };
    const line: RedoHead = { format: REDO_FORMAT, boot, head, at, ...mark };
    this.#write(this.#frame(HEAD_SEAL, Buffer.from(JSON.stringify(line))));
    this.#mark = mark;
  }

  #frame(seal: string, plain: Buffer): Buffer[] {
    return frameOf(this.#codec.encode(seal, plain, true));
  }

  #write(frames: readonly Buffer[]): void {
    const file = this.#file;
    if (file === undefined) return;
    const wanted = frames.reduce((sum, frame) => sum + frame.length, 0);
    const written = fs.writevSync(file.fd, frames, file.bytes);
    file.bytes += written;
    if (written < wanted) throw new Error('the disk is full');
  }

  #checkRoom(): void {
    const { bavail, bsize } = fs.statfsSync(this.#options.directory);
    if (bavail * bsize >= this.#limits.room) return;
    throw new Error(`${bavail * bsize} bytes are free, and ${this.#limits.room} must be`);
  }

  #failed(error: unknown): void {
    this.drop();
    this.#retryAt = this.#clock.now() + RETRY_MS;
    if (this.#isFailing) return;
    this.#isFailing = true;
    const { directory, onLost } = this.#options;
    onLost(
      `the redo log in ${directory} cannot be written: ${reason(error)}; make room on the disk or repair it`,
    );
  }

  /** Asynchronous: large files take a while to remove. */
  #remove(number: number): void {
    fs.unlink(redoPath(this.#options.directory, number), () => undefined);
  }
}

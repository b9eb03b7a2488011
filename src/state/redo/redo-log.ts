/**
 * The redo log: what a store did in the last while, in files beside its engine. A step is appended
 * with one write, before anybody sees it, and is never flushed: a killed process loses nothing that
 * it wrote, so that the next one brings back the steps that the engine does not have yet and the
 * journal that watches go on from. What a reboot leaves of the files is not believed.
 *
 * A file is a head and parts of steps, each sealed with the state key behind its length. The next file
 * begins where the last one ends, and makes the one before that unnecessary.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { type Clock, runAtOnce } from '../../apimachinery/index.ts';
import { reason } from '../engines/lmdb-reason.ts';
import type { RecordCodec } from '../records/codec.ts';
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
import { encodeStep, type RedoneStep } from './redo-record.ts';

export interface RedoOptions {
  readonly directory: string;
  /** Another one after every start of the machine; empty where that is not known: no log is kept. */
  readonly boot: string;
  /** Called when the log cannot be written, once until it can: after a crash watches will list again. */
  onLost(reason: string): void;
  /** Called when the log of an earlier process is not gone on from, as after a start of the machine. */
  onUnused(reason: string, isExpected: boolean): void;
  readonly limits?: Partial<RedoLimits>;
}

export interface RedoLimits {
  /** A file that is larger or older is followed by another one. */
  readonly bytes: number;
  readonly ms: number;
  /** Bytes that must be free below the directory for a file to be begun. */
  readonly room: number;
}

/** Two files cover the time and the memory of the journal, see `DEFAULT_WINDOW`. */
const LIMITS: RedoLimits = { bytes: 64 * 1024 * 1024, ms: 5 * 60_000, room: 256 * 1024 * 1024 };
/** After a failure, or where there is no room. */
const RETRY_MS = 10_000;

/** Sealed parts of a step, ready to be appended at one position. */
export interface SealedStep {
  readonly mark: RedoMark;
  readonly since: number;
  readonly frames: readonly Buffer[];
}

interface OpenFile {
  readonly fd: number;
  readonly number: number;
  /** Objects of later versions are in this file. */
  readonly since: number;
  /** Milliseconds since the epoch. */
  readonly begun: number;
  bytes: number;
}

export class RedoLog {
  readonly #options: RedoOptions;
  readonly #limits: RedoLimits;
  readonly #codec: RecordCodec;
  readonly #clock: Clock;
  #file: OpenFile | undefined;
  #mark: RedoMark | undefined;
  /** Of the newest file; none comes twice. */
  #number = 0;
  #retryAt = 0;
  #isFailing = false;

  constructor(options: RedoOptions, codec: RecordCodec, clock: Clock) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#codec = codec;
    this.#clock = clock;
  }

  /** The position of what was appended last; undefined while no log is kept. */
  get mark(): RedoMark | undefined {
    return this.#mark;
  }

  /** Forgets all that is there, and begins anew with what follows `head`. */
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

  /** Goes on behind what was read. */
  resume({ mark, end }: RedoContent): void {
    try {
      const { number, bytes, head } = end;
      const path = redoPath(this.#options.directory, number);
      const fd = fs.openSync(path, 'r+');
      this.#number = number;
      this.#file = { fd, number, since: head.head, begun: head.at, bytes };
      // A part that the end of the process cut off.
      fs.ftruncateSync(fd, bytes);
      this.#mark = mark;
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Seals a step for `append`, in steps. Undefined while no log is kept. */
  *seal(step: RedoneStep): Generator<void, SealedStep | undefined> {
    const { mark } = this;
    const since = this.#file?.since;
    if (mark === undefined || since === undefined) return undefined;
    const next = { log: mark.log, step: mark.step + 1 };
    const frames: Buffer[] = [];
    const parts = encodeStep(step, { step: next.step, at: this.#clock.now(), since });
    for (const part of parts) {
      if (part !== undefined) frames.push(...this.#frame(partSeal(mark.log), part));
      yield;
    }
    return { mark: next, since, frames };
  }

  /**
   * Appends a step that nobody has seen yet, and follows `head`. Never throws: where it cannot be
   * written there is no log from here on. `sealed` counts if nothing was appended since.
   */
  append(step: RedoneStep, head: number, sealed?: SealedStep): void {
    if (this.#mark === undefined) this.#retry(head);
    if (this.#mark === undefined) return;
    const isNext = sealed?.mark.step === this.#mark.step + 1 && sealed.since === this.#file?.since;
    const found = isNext ? sealed : runAtOnce(this.seal(step));
    if (found === undefined) return;
    try {
      this.#write(found.frames);
      this.#mark = found.mark;
      if (this.#isFull) this.#turn(step.events.at(-1)?.resourceVersion ?? head);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Removes all files: nothing goes on from them. */
  drop(): void {
    this.close();
    this.#mark = undefined;
    try {
      for (const number of redoFiles(this.#options.directory)) this.#remove(number);
    } catch {
      // The files that are left name another log than the state.
    }
  }

  close(): void {
    if (this.#file === undefined) return;
    const { fd } = this.#file;
    this.#file = undefined;
    try {
      fs.closeSync(fd);
    } catch {
      // Nothing was promised of it.
    }
  }

  get #isFull(): boolean {
    if (this.#file === undefined) return false;
    const { bytes, begun } = this.#file;
    return bytes >= this.#limits.bytes || this.#clock.now() - begun >= this.#limits.ms;
  }

  #retry(head: number): void {
    if (this.#options.boot !== '' && this.#clock.now() >= this.#retryAt) this.begin(head);
  }

  /** Goes on in another file, which begins behind `head`. */
  #turn(head: number): void {
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
    this.#file = { fd, number, since: head, begun: at, bytes: 0 };
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

  /** Large files take a while to remove. */
  #remove(number: number): void {
    fs.unlink(redoPath(this.#options.directory, number), () => undefined);
  }
}

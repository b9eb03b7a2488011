/** Reads the redo log of an earlier process. */
import { readFileSync } from 'node:fs';
import type { RecordCodec } from '../records/codec.ts';
import { PartCompressor } from './part-compression.ts';
import {
  framesIn,
  HEAD_SEAL,
  partSeal,
  READABLE_FORMATS,
  type RedoContent,
  type RedoHead,
  type RedoMark,
  redoFiles,
  redoPath,
} from './redo-files.ts';
import { decodePart, type RedoPart, type RedoStep } from './redo-record.ts';

/** The log is not usable. */
export class RedoLogError extends Error {
  override readonly name = 'RedoLogError';
  /** True after a reboot, which is not a fault of the log. */
  readonly isExpected: boolean;

  constructor(message: string, isExpected = false) {
    super(message);
    this.isExpected = isExpected;
  }
}

interface RedoFile {
  readonly number: number;
  readonly head: RedoHead;
  readonly steps: readonly RedoStep[];
  /** End of the last complete step. */
  readonly end: number;
  /** Bytes follow after `end`. */
  readonly isTorn: boolean;
}

/**
 * Reads the log that a state refers to. Throws RedoLogError when it is incomplete, or from another
 * boot.
 */
export function readRedoLog(
  of: { readonly directory: string; readonly boot: string; readonly codec: RecordCodec },
  mark: RedoMark,
): RedoContent {
  const files = redoFiles(of.directory)
    .map((number) => readFile(of, number))
    // Files of an earlier log may not be removed yet.
    .filter(({ head }) => head.log === mark.log);
  const [first] = files;
  const last = files.at(-1);
  if (first === undefined || last === undefined) throw new RedoLogError('its files are missing');
  if (files.some(({ head }) => of.boot === '' || head.boot !== of.boot)) {
    throw new RedoLogError('the machine was rebooted', true);
  }
  let step = first.head.step;
  for (const file of files) {
    if (file.head.step !== step) throw damaged(file.number);
    if (file.isTorn && file !== last) throw damaged(file.number);
    for (const each of file.steps) if (each.step !== ++step) throw damaged(file.number);
  }
  if (mark.step < first.head.step || mark.step > step) {
    throw new RedoLogError(
      `it has steps ${first.head.step} to ${step}, and the state ${mark.step}`,
    );
  }
  const { number, end: bytes, head } = last;
  return {
    mark: { log: mark.log, step },
    head: first.head.head,
    steps: files.flatMap((file) => file.steps),
    end: { number, bytes, head },
  };
}

function damaged(number: number): RedoLogError {
  return new RedoLogError(`redo-${number} is damaged`);
}

function readFile(
  { directory, codec }: { readonly directory: string; readonly codec: RecordCodec },
  number: number,
): RedoFile {
  try {
    return readWhole(readFileSync(redoPath(directory, number)), codec, number);
  } catch (error) {
    // The cause is left out: a parser quotes its input, which may be a secret.
    throw error instanceof RedoLogError ? error : damaged(number);
  }
}

function readWhole(bytes: Buffer, codec: RecordCodec, number: number): RedoFile {
  let head: RedoHead | undefined;
  let end = 0;
  const steps: RedoStep[] = [];
  let parts: RedoPart[] = [];
  let compressor = new PartCompressor();
  for (const { frame, end: frameEnd } of framesIn(bytes)) {
    if (head === undefined) {
      head = JSON.parse(codec.decode(HEAD_SEAL, frame).toString()) as RedoHead;
      if (!READABLE_FORMATS.includes(head.format))
        throw new RedoLogError(`redo-${number} has another format`);
      end = frameEnd;
      continue;
    }
    const plain = compressor.decompress(codec.decode(partSeal(head.log), frame));
    compressor = compressor.after(plain);
    const part = decodePart(plain);
    if (part.part !== parts.length || parts.some(({ step }) => step !== part.step)) {
      throw damaged(number);
    }
    parts.push(part);
    if (!part.isLast) continue;
    steps.push(joined(part, parts));
    parts = [];
    end = frameEnd;
  }
  if (head === undefined) throw damaged(number);
  return { number, head, steps, end, isTorn: end < bytes.length };
}

function joined({ step, at }: RedoPart, parts: readonly RedoPart[]): RedoStep {
  return {
    step,
    at,
    events: parts.flatMap(({ events }) => events),
    provenanceChanges: parts.flatMap(({ provenanceChanges }) => provenanceChanges),
    documentChanges: parts.flatMap(({ documentChanges }) => documentChanges),
  };
}

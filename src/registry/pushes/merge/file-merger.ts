/**
 * Merges files that both sides of a push changed. More than some kilobytes go to a thread with memory
 * and time limits: a pusher chooses what is parsed, and the main thread answers requests
 * meanwhile.
 */
import { runYielding } from '../../../apimachinery/index.ts';
import { fileReader } from '../../../catalog/index.ts';
import { Mutex, startWorker, WorkerChannel } from '../../../concurrency/index.ts';
import type { KindTable } from '../../../kinds/index.ts';
import { mergeText } from '../../../manifests/index.ts';
import { entryReader } from './entry-reader.ts';
import type {
  LineMerge,
  MergeAnswer,
  MergeRequest,
  MergeSetup,
  TextVersions,
} from './merge-messages.ts';
import { type FileTexts, mergeObjects, type ObjectMerge, type ReadEntry } from './object-merge.ts';

export interface MergeLimits {
  readonly memoryMib: number;
  readonly deadlineMs: number;
}

/** Several times the need of the largest merge. */
const LIMITS: MergeLimits = { memoryMib: 512, deadlineMs: 20_000 };
/** API writes wait for it. */
export const UNDER_MUTEX: MergeLimits = { memoryMib: 512, deadlineMs: 2000 };
/** Less text is merged in some milliseconds. */
const IN_PLACE_LENGTH = 32 * 1024;
/** A thread takes some tenths of a second to start. */
const IDLE_MS = 60_000;

/** The thread met a limit. */
export class MergeLimitError extends Error {
  override readonly name = 'MergeLimitError';
}

export class FileMerger {
  readonly #channel: WorkerChannel<MergeRequest, MergeAnswer>;
  readonly #deadlineMs: number;
  readonly #mutex = new Mutex();
  readonly #read: ReadEntry;
  #idle: NodeJS.Timeout | undefined;

  constructor({ kinds, under }: { kinds: KindTable; under: string }, limits = LIMITS) {
    const [apiGroup = ''] = kinds.groups;
    const workerData: MergeSetup = { apiGroup, under };
    const resourceLimits = { maxOldGenerationSizeMb: limits.memoryMib };
    this.#read = entryReader(fileReader(kinds, under));
    this.#deadlineMs = limits.deadlineMs;
    this.#channel = new WorkerChannel({
      name: 'merges',
      start: () =>
        startWorker(new URL('./merge-thread.ts', import.meta.url), { workerData, resourceLimits }),
    });
  }

  /** The objects of a group of files; see `mergeObjects`. Throws MergeLimitError. */
  async objects(texts: ReadonlyMap<string, FileTexts>): Promise<ObjectMerge> {
    const versions = [...texts.values()].flatMap(({ base, tip, pushed }) => [base, tip, pushed]);
    if (isSmall(versions)) return await runYielding(mergeObjects(texts, this.#read));
    const answer = await this.#ask({ merge: 'objects', texts });
    if (!('files' in answer)) throw new Error('The thread of merges answered another request');
    return answer;
  }

  /** The lines of a file. Throws MergeLimitError. */
  async lines(texts: TextVersions): Promise<LineMerge> {
    if (isSmall([texts.base, texts.tip, texts.pushed])) return { text: mergeText(texts) };
    const answer = await this.#ask({ merge: 'lines', texts });
    if ('files' in answer) throw new Error('The thread of merges answered another request');
    return answer;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#channel.terminate();
  }

  /** One request at a time, so that each has all of the memory and time. */
  #ask(request: MergeRequest): Promise<MergeAnswer> {
    return this.#mutex.run(async () => {
      clearTimeout(this.#idle);
      try {
        return await this.#channel.ask(request, { deadlineMs: this.#deadlineMs });
      } catch (cause) {
        throw new MergeLimitError('The merge takes too much memory or time', { cause });
      } finally {
        this.#idle = setTimeout(() => void this.#channel.terminate(), IDLE_MS).unref();
      }
    });
  }
}

function isSmall(texts: readonly (string | undefined)[]): boolean {
  const length = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return length <= IN_PLACE_LENGTH;
}

/**
 * Limits of git processes. A pushed tree of a few kilobytes can stand for a hundred million paths, and
 * a pack of one megabyte for gigabytes. Each process has limits of memory, time and output, and is
 * killed if it exceeds one.
 */
import { GitError } from '../git-error.ts';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;

export interface ProcessLimits {
  /** Time from the start to the end of the process. */
  readonly deadlineMs: number;
  /** Time between a request and the next byte of its reply, for a process that answers requests. */
  readonly replyTimeoutMs?: number;
  /** Bytes on stdout; for a process that answers requests, per reply. */
  readonly outputBytes: number;
  /** CPU time of the process, and of each of its children. */
  readonly cpuSeconds?: number;
  /** Bytes of each file that the process and its children write. */
  readonly fileBytes?: number;
  /** True if other processes go first: the process and its children get what these leave of the CPUs. */
  readonly isBackground?: boolean;
}

/** Bytes of the messages of a process. A remote can send them without end, and progress of an hour is 1 MiB. */
export const MAX_MESSAGE_BYTES = 16 * MIB;

/** No limit, since the reader applies backpressure. */
const STREAMED = Number.POSITIVE_INFINITY;

/** Limits for one answer that is held in memory: a list of a million paths is 100 MiB. */
export const QUERY: ProcessLimits = { deadlineMs: 5 * MINUTE_MS, outputBytes: 256 * MIB };

/** Limits for a list that is streamed: the reader may be slow. */
export const LISTING: ProcessLimits = { deadlineMs: 60 * MINUTE_MS, outputBytes: STREAMED };

export const MAINTENANCE: ProcessLimits = {
  deadlineMs: 60 * MINUTE_MS,
  outputBytes: 16 * MIB,
  isBackground: true,
};

/** Allows a large clone over a slow connection. */
export const CLONE: ProcessLimits = { deadlineMs: 60 * MINUTE_MS, outputBytes: STREAMED };

/** Equals the time limit of the server for a request. */
export const PUSH: ProcessLimits = { deadlineMs: 15 * MINUTE_MS, outputBytes: STREAMED };

export function replies(outputBytes: number): ProcessLimits {
  return { deadlineMs: STREAMED, replyTimeoutMs: MINUTE_MS, outputBytes };
}

export const DEFAULT_MEMORY_MIB = 512;

let memoryMib = DEFAULT_MEMORY_MIB;

/** Sets the private memory limit of git processes that start from now on. */
export function limitGitMemory(mib: number): void {
  memoryMib = mib;
}

export function gitMemoryMib(): number {
  return memoryMib;
}

export type Limit = 'memory' | 'time' | 'processor time' | 'output' | 'messages' | 'file size';

/** A git process exceeded a limit. Other processes and requests continue. */
export class GitLimitError extends GitError {
  readonly limit: Limit;

  constructor(command: string, limit: Limit, limits: ProcessLimits) {
    super(`git ${command} ${SENTENCES[limit](limits)}`, { remedy: REMEDIES[limit] });
    this.name = 'GitLimitError';
    this.limit = limit;
  }
}

const SENTENCES: Readonly<Record<Limit, (limits: ProcessLimits) => string>> = {
  memory: () => `needs more than its memory limit of ${memoryMib} MiB`,
  time: ({ deadlineMs, replyTimeoutMs = deadlineMs }) =>
    `did not finish within its deadline of ${Math.round(replyTimeoutMs / 1000)} s`,
  'processor time': ({ cpuSeconds = 0 }) => `used up its ${cpuSeconds} s of processor time`,
  output: ({ outputBytes }) => `wrote more than ${Math.round(outputBytes / MIB)} MiB`,
  messages: () => `wrote more than ${MAX_MESSAGE_BYTES / MIB} MiB of messages`,
  'file size': ({ fileBytes = 0 }) =>
    `wrote a file of more than ${Math.round(fileBytes / MIB)} MiB`,
};

const SMALLER = 'Use fewer or smaller files';
const REMEDIES: Readonly<Record<Limit, string>> = {
  memory: `${SMALLER}, or raise --git-memory`,
  time: `${SMALLER}, in several pushes`,
  'processor time': `Push ordinary files: these unpack to far more than their pack`,
  output: SMALLER,
  messages: 'Run the command by hand, and read them',
  'file size': 'Take large files out of the branch, or start with an empty data directory',
};

const OUT_OF_MEMORY =
  /out of memory|malloc failed|cannot allocate memory|mmap failed|unable to create thread/i;
/** Of a local git: lines of a remote begin with its name. */
const FILE_TOO_LARGE = /^(?:fatal|error): .*file too large/im;
const OUT_OF_CPU = /died of signal (?:24|XCPU)\b/i;

/** Limit that stderr or the signal of a git process indicates. */
export function limitMet(signal: NodeJS.Signals | null, stderr: string): Limit | undefined {
  if (signal === 'SIGXCPU' || OUT_OF_CPU.test(stderr)) return 'processor time';
  if (FILE_TOO_LARGE.test(stderr)) return 'file size';
  return OUT_OF_MEMORY.test(stderr) ? 'memory' : undefined;
}

/**
 * Messages between the daemon and its launcher. The streams of a process do not pass through the
 * launcher: each is a connection of the daemon to its socket, which the process inherits.
 */

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly detached: boolean;
}

/** A process to start when all its connections have arrived. */
export interface Launch extends Command {
  readonly id: number;
  readonly streams: number;
}

/** A launch whose connections failed: it is not started. */
export interface CancelledLaunch {
  readonly cancelled: number;
}

/** Answered at once. */
export interface Check {
  readonly isCheck: true;
}

export type LauncherRequest = Launch | CancelledLaunch | Check;

export type LaunchReport =
  /** The launcher accepts connections. */
  { readonly socketPath: string } | Check | ProcessReport;

export type ProcessReport =
  | { readonly id: number; readonly pid: number }
  | { readonly id: number; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly id: number; readonly failure: string; readonly errorCode: string | undefined };

/** stdin, stdout, stderr. */
const STREAMS = 3;

/** Number of streams of a process; file descriptor 3 is extra. */
export function streamsOf(hasExtra: boolean): number {
  return hasExtra ? STREAMS + 1 : STREAMS;
}

/** First bytes of a connection. The daemon sends no more before the process has the connection. */
const TOKEN_BYTES = 16;

export function tokenOf(id: number, stream: number): string {
  return `${id}:${stream}`.padEnd(TOKEN_BYTES);
}

/** Undefined: not a token. */
export function readToken(head: Buffer): { id: number; stream: number } | undefined {
  const match = /^(\d+):([0-3]) *$/.exec(head.toString('latin1'));
  if (match === null || head.length !== TOKEN_BYTES) return undefined;
  return { id: Number(match[1]), stream: Number(match[2]) };
}

/** A process with three streams: a child of this process, or of the launcher. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { type Command, streamsOf } from './launcher-protocol.ts';

/** Result of a process. One that did not start, or whose end nobody reports, has only a `failure`. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly failure?: Error;
  /** True if the process may have run in spite of the failure: its launcher was lost. */
  readonly mayHaveRun?: boolean;
}

export interface StartedProcess {
  /** Undefined before `started`, and where the start failed. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process runs or has failed to start. */
  readonly started: Promise<void>;
  /** Resolves when the process has ended and its output is closed. Never rejects. */
  readonly ended: Promise<Ending>;
}

/** A child of this process. `extra` gets the other end of its file descriptor 3. */
export function spawnProcess(
  command: Command,
  extra?: (connection: Duplex) => void,
): StartedProcess {
  const { command: program, args, ...options } = command;
  const stdio: 'pipe'[] = Array.from({ length: streamsOf(extra !== undefined) }, () => 'pipe');
  const child = spawn(program, args, { ...options, stdio }) as ChildProcessWithoutNullStreams;
  if (extra !== undefined) {
    const connection = child.stdio[3] as unknown as Duplex;
    extra(connection.on('error', () => undefined));
  }
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (failure) => resolve({ code: null, signal: null, failure }));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const { stdin, stdout, stderr } = child;
  return { pid: child.pid, stdin, stdout, stderr, started: Promise.resolve(), ended };
}

/** Waits until streams of a process that has ended are closed. What nobody reads is dropped. */
export async function outputEnded(streams: readonly Readable[]): Promise<void> {
  const open = streams.filter((stream) => !stream.closed);
  await Promise.all(
    open.map((stream) => {
      const closed = once(stream, 'close').catch(() => undefined);
      stream.resume();
      return closed;
    }),
  );
}

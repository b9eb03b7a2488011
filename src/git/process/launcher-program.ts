/**
 * Program of the launcher: it starts processes for the daemon. The kernel copies the page tables of a
 * process that starts another one, which stops the daemon for 10 ms and more; this program is small.
 * It ends with the daemon.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  type Launch,
  type LauncherRequest,
  type LaunchReport,
  readToken,
} from './launcher-protocol.ts';

interface Pending {
  launch?: Launch;
  isCancelled?: boolean;
  readonly sockets: (Socket | undefined)[];
}

/** Time in which the other connections of a cancelled launch arrive. */
const CANCELLED_MS = 60_000;

/** Bytes of a path that a socket address has room for, on Linux and macOS. A longer one is cut off. */
const MAX_SOCKET_PATH_BYTES = 103;

const pending = new Map<number, Pending>();
/** Leaders of process groups that run. */
const groups = new Set<number>();
const [temporaryFolder = ''] = process.argv.slice(2);
const folder = privateFolder();
const socketPath = join(folder, 'socket');

/** Only the user of the daemon can connect to a socket in it. */
function privateFolder(): string {
  for (const parent of [temporaryFolder, '/tmp']) {
    const prefix = join(parent, 'gitplane-launcher-');
    const longest = Buffer.byteLength(`${prefix}XXXXXX/socket`);
    try {
      if (longest <= MAX_SOCKET_PATH_BYTES) return mkdtempSync(prefix);
    } catch {
      // It is missing, or cannot be written.
    }
  }
  // The daemon starts git itself.
  process.exit(1);
}

function report(message: LaunchReport): void {
  // A daemon that has ended needs no report.
  process.send?.(message, undefined, undefined, () => undefined);
}

function pendingOf(id: number): Pending {
  const known = pending.get(id) ?? { sockets: [] };
  pending.set(id, known);
  return known;
}

/** Connections that arrive later are closed too. */
function cancel(id: number): void {
  for (const socket of pending.get(id)?.sockets ?? []) socket?.destroy();
  pending.set(id, { isCancelled: true, sockets: [] });
  setTimeout(() => pending.delete(id), CANCELLED_MS).unref();
}

function startIfComplete(id: number): void {
  const { launch, sockets } = pendingOf(id);
  const stdio = sockets.filter((socket) => socket !== undefined);
  if (launch === undefined || stdio.length < launch.streams) return;
  pending.delete(id);
  for (const socket of stdio) setBlocking(socket);
  const child = startProcess(launch, stdio);
  // The process has the connections now; another reader would take bytes of its input.
  for (const socket of stdio) socket.destroy();
  if (child?.pid !== undefined) report({ id, pid: child.pid });
}

/** git drops a line of its trace that it cannot write at once. libuv does this for stdin, stdout and stderr alone. */
function setBlocking(socket: Socket): void {
  const { _handle: handle } = socket as { _handle?: { setBlocking?(on: boolean): unknown } };
  handle?.setBlocking?.(true);
}

function startProcess(launch: Launch, stdio: readonly Socket[]): ChildProcess | undefined {
  const { id, command, args, cwd, env, detached } = launch;
  const failed = ({ message, code }: NodeJS.ErrnoException): void =>
    report({ id, failure: message, errorCode: code });
  try {
    const child = spawn(command, args, { cwd, env, detached, stdio: [...stdio] });
    const { pid } = child;
    if (detached && pid !== undefined) groups.add(pid);
    child.once('error', failed);
    child.once('exit', (code, signal) => {
      if (pid !== undefined) groups.delete(pid);
      report({ id, code, signal });
    });
    return child;
  } catch (error) {
    failed(error instanceof Error ? error : new Error(String(error)));
    return undefined;
  }
}

// Half open: the end of a stream is for the process.
const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (head) => {
    const token = readToken(head);
    if (token === undefined) {
      socket.destroy();
      return;
    }
    const { isCancelled = false, sockets } = pendingOf(token.id);
    if (isCancelled) {
      socket.destroy();
      return;
    }
    sockets[token.stream] = socket;
    startIfComplete(token.id);
  });
});

process.on('message', (message: LauncherRequest) => {
  if ('isCheck' in message) {
    report(message);
    return;
  }
  if ('cancelled' in message) {
    cancel(message.cancelled);
    return;
  }
  pendingOf(message.id).launch = message;
  startIfComplete(message.id);
});

/** The daemon has ended: nobody reads what its processes write, and the next daemon needs their locks. */
function end(): void {
  for (const pid of groups) {
    try {
      process.kill(-pid, 'SIGTERM');
    } catch {
      // All processes of the group have ended.
    }
  }
  process.exit();
}

process.once('disconnect', end);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
// A signal to all processes of the service is for the daemon, which finishes what it has begun.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// The daemon starts git itself.
server.once('error', () => process.exit(1));
server.listen(socketPath, () => report({ socketPath }));
// The daemon ended before this program listened for it.
if (!process.connected) end();

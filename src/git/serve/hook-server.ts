/** Server for the hook of pushes by path: a unix socket that only the user of the daemon can reach. */
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, unlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import { type Judge, shownVerdict } from './push-judge.ts';

export interface PushListener {
  readonly socketPath: string;
  /** Stops listening and waits for running validations. */
  close(): Promise<void>;
}

/** Size of `sun_path` without its NUL: 108 bytes on Linux, 104 on macOS and the BSDs. */
const MAX_SOCKET_PATH = process.platform === 'linux' ? 107 : 103;
const MAX_REQUEST_BYTES = 16 * 1024 * 1024;

/**
 * Socket path for a data directory: inside it, or in a private temporary directory if that path is too
 * long for a socket.
 */
export function pushSocketPath(dataDir: string): string {
  const path = join(resolve(dataDir), 'run', 'push.sock');
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path;
  const name = createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16);
  return join(tmpdir(), `gitplane-${name}`, 'push.sock');
}

/**
 * Calls `judge` for every push. A judge that throws refuses the push. The directory of the socket is
 * made private, and a dead socket is replaced. Throws a GitError if another daemon listens there.
 */
export async function listenForPushes(
  socketPath: string,
  judge: Judge,
  logger: GitLogger = silent,
): Promise<PushListener> {
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH) {
    throw new GitError(
      `${socketPath} is too long for a socket: the system allows ${MAX_SOCKET_PATH} bytes`,
      { remedy: 'Use a data directory with a shorter path' },
    );
  }
  await makePrivate(dirname(socketPath));
  await removeStaleSocket(socketPath);
  const connections = new Set<Socket>();
  const judging = new Map<Socket, Promise<void>>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      connections.delete(socket);
      judging.delete(socket);
    });
    void readLine(socket).then((line) => {
      if (line === undefined) socket.destroy();
      else judging.set(socket, answer(socket, line, { judge, logger }));
    });
  });
  await listen(server, socketPath);
  await chmod(socketPath, 0o600);
  return {
    socketPath,
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      for (const socket of connections) if (!judging.has(socket)) socket.destroy();
      await Promise.all(judging.values());
      await closed;
    },
  };
}

async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (!found.isDirectory() || (process.getuid !== undefined && found.uid !== process.getuid())) {
    throw new GitError(`${folder} is not a directory of the user who runs gitplane`, {
      remedy: 'Remove it, or use another data directory',
    });
  }
  await chmod(folder, 0o700);
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const found = await lstat(socketPath).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new GitError(`${socketPath} is not a socket`, { remedy: 'Remove it' });
  }
  if (await isAnswered(socketPath)) {
    throw new GitError(`Another gitplane listens on ${socketPath}`, {
      remedy: 'Stop it, or use another data directory',
    });
  }
  await unlink(socketPath);
}

function isAnswered(socketPath: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

function listen(server: Server, socketPath: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', (error) =>
      fail(
        new GitError(`Cannot listen on ${socketPath} (${errorCode(error)})`, {
          remedy: 'Check the permissions of its directory',
          cause: error,
        }),
      ),
    );
    server.listen(socketPath, done);
  });
}

async function answer(
  socket: Socket,
  line: string,
  { judge, logger }: { judge: Judge; logger: GitLogger },
): Promise<void> {
  const judging = async () => await judge(JSON.parse(line));
  socket.end(`${JSON.stringify(await shownVerdict(judging(), logger))}\n`);
}

/** First line; undefined if the client ends without one or sends too much. */
function readLine(socket: Socket): Promise<string | undefined> {
  return new Promise((done) => {
    const chunks: Buffer[] = [];
    let size = 0;
    socket.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (chunk.includes(0x0a)) done(Buffer.concat(chunks).toString('utf8').split('\n')[0]);
      else if (size > MAX_REQUEST_BYTES) done(undefined);
    });
    socket.on('close', () => done(undefined));
    socket.on('end', () => done(undefined));
  });
}

/**
 * Remote repositories as they are out there: git's own http-backend behind a small HTTP(S) server,
 * with a proxy in front of it that delays or cuts, and daemons' ways to follow them.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, onTestFinished } from 'vitest';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import type { DurableFiles } from '../../src/git/publication/durable-files.ts';
import type { RemoteAccess } from '../../src/git/remote/access.ts';
import { parseRemoteAddress } from '../../src/git/remote/address.ts';
import { Following, type FollowingOptions } from '../../src/git/remote/following.ts';
import { Remote, type RemoteTimeouts } from '../../src/git/remote/remote.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import { git, gitEnv, temporaryFolder, tryGit } from './git.ts';
import { freePort } from './machine.ts';

/** Repository elsewhere, with a clone of a person who works on it. */
export interface Elsewhere {
  readonly gitDir: string;
  /** Commits files to its branch, as a push by others would; returns the id. */
  commit(files: Readonly<Record<string, string | null>>): string;
  head(): string | undefined;
  /** Resolves when the branch is not there any more. */
  movedFrom(head: string | undefined): Promise<void>;
}

export function elsewhere(files: Readonly<Record<string, string>> = { start: '1' }): Elsewhere {
  const gitDir = join(temporaryFolder(), 'elsewhere.git');
  git('/', ['init', '-q', '--bare', '--template=', '-b', 'main', gitDir]);
  const head = (): string | undefined => {
    const { status, stdout } = tryGit(gitDir, ['rev-parse', '-q', '--verify', 'refs/heads/main']);
    return status === 0 ? stdout.trim() : undefined;
  };
  const commit = (changed: Readonly<Record<string, string | null>>): string => {
    const edits = Object.entries(changed).map(([path, text]) =>
      text === null
        ? `D ${path}`
        : `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`,
    );
    const from = head();
    const lines = [
      'commit refs/heads/main',
      `committer Grace Hopper <grace@example.com> ${Math.floor(Date.now() / 1000)} +0000`,
      'data 6\npushed',
      ...(from === undefined ? [] : [`from ${from}`]),
      ...edits,
    ];
    git(gitDir, ['fast-import', '--quiet'], { input: `${lines.join('\n')}\n` });
    return head() ?? '';
  };
  const movedFrom = async (old: string | undefined): Promise<void> => {
    while (head() === old) await new Promise((done) => setTimeout(done, 20));
  };
  if (Object.keys(files).length > 0) commit(files);
  return { gitDir, commit, head, movedFrom };
}

let template: Promise<string> | undefined;

/** An empty mirror: made once, copied for each test. */
async function emptyMirror(): Promise<string> {
  template ??= (async () => {
    const made = join(mkdtempSync(join(tmpdir(), 'gitplane-mirror-')), 'mirror.git');
    await initRepository({ gitDir: made, branch: 'main' });
    return made;
  })();
  const gitDir = join(temporaryFolder(), 'mirror.git');
  cpSync(await template, gitDir, { recursive: true });
  return gitDir;
}

afterAll(async () => {
  if (template !== undefined) rmSync(dirname(await template), { recursive: true, force: true });
  template = undefined;
});

export interface Events {
  readonly fetched: (Error | undefined)[];
  readonly pushed: (Error | undefined)[];
}

export interface Follower {
  readonly gitDir: string;
  readonly following: Following;
  /** Its commits are pushed before the branch moves. */
  readonly repository: BareRepository;
  readonly events: Events;
  /** What `start` returned. */
  readonly problem: Error | undefined;
}

export interface FollowSetup {
  readonly url: string;
  readonly access?: RemoteAccess;
  readonly gitDir?: string;
  readonly timeouts?: Partial<RemoteTimeouts>;
  readonly maxFetchBytes?: number;
  /** Long when absent: a test whose push has an outcome has it however busy the machine is. */
  readonly outcomeTimeoutMs?: number;
  readonly pauseMs?: number;
  readonly distrust?: FollowingOptions['distrust'];
  /** The disk of the mirror. */
  readonly files?: DurableFiles;
}

export async function follow(setup: FollowSetup): Promise<Follower> {
  const gitDir = setup.gitDir ?? (await emptyMirror());
  const { url, access = {}, timeouts = {}, outcomeTimeoutMs = 60_000, pauseMs = 0 } = setup;
  const ref = 'refs/heads/main';
  const trackingRef = 'refs/gitplane/remote/main';
  const address = parseRemoteAddress(url);
  const limit = setup.maxFetchBytes === undefined ? {} : { maxFetchBytes: setup.maxFetchBytes };
  const remote = new Remote({ address, access, gitDir, ref, trackingRef, timeouts, ...limit });
  const events: Events = { fetched: [], pushed: [] };
  const observer = {
    fetched: (error: Error | undefined) => void events.fetched.push(error),
    pushed: (error: Error | undefined) => void events.pushed.push(error),
  };
  const following = new Following({
    remote,
    gitDir,
    ref,
    observer,
    outcomeTimeoutMs,
    pauseMs,
    ...(setup.distrust === undefined ? {} : { distrust: setup.distrust }),
  });
  onTestFinished(() => following.close());
  const problem = await following.start();
  const gate = following.admit.bind(following);
  const repository = await openRepository({
    gitDir,
    branch: 'main',
    packThreshold: Number.POSITIVE_INFINITY,
    gate,
    ...(setup.files === undefined ? {} : { files: setup.files }),
  });
  onTestFinished(() => repository.close());
  return { gitDir, following, repository, events, problem };
}

export interface GitServer {
  readonly port: number;
  readonly url: string;
  /** PEM of the authority; for HTTPS. */
  readonly caFile: string | undefined;
  /** A certificate that it takes, and its key. */
  readonly client: { readonly clientCertFile: string; readonly clientKeyFile: string } | undefined;
  /** Requests that were answered, as `POST /x.git/git-receive-pack`. */
  readonly requests: string[];
  /** The status of what came in while it is set; 200 and so on are git's own. */
  refuseWith: number | undefined;
  /** HTML that answers every request with 200 while it is set. */
  page: string | undefined;
  /** The copy of the repository that takes pushes while it is set: reads never see them. */
  pushesTo: string | undefined;
  /** Called with each request before it is answered. */
  onRequest: ((line: string) => void) | undefined;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface GitServerSetup {
  readonly gitDir: string;
  readonly tls?: boolean;
  /** Over TLS: whether clients have to show a certificate; `clientCertFile` is one. */
  readonly asksForCertificate?: boolean;
  /** The `Authorization` header to insist on. */
  readonly authorization?: string;
  readonly redirectTo?: string;
}

export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Serves one repository with `git http-backend` on a port of its own. */
export async function serveGit(setup: GitServerSetup): Promise<GitServer> {
  const requests: string[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const line = `${request.method} ${request.url?.split('?')[0]}`;
    requests.push(line);
    made.onRequest?.(line);
    const { authorization } = request.headers;
    if (setup.asksForCertificate === true && !showsCertificate(request)) {
      return void response.writeHead(403).end('no certificate\n');
    }
    if (made.refuseWith !== undefined) return void response.writeHead(made.refuseWith).end('no\n');
    if (made.page !== undefined) {
      const headers = { 'content-type': 'text/html; charset=utf-8' };
      return void response.writeHead(200, headers).end(made.page);
    }
    if (setup.redirectTo !== undefined) {
      const location = `${setup.redirectTo}${request.url}`;
      return void response.writeHead(302, { location }).end();
    }
    if (setup.authorization !== undefined && authorization !== setup.authorization) {
      const headers = { 'www-authenticate': 'Basic realm="elsewhere"' };
      return void response.writeHead(401, headers).end('who are you?\n');
    }
    const isPush = request.url?.includes('git-receive-pack') === true;
    const gitDir = isPush ? (made.pushesTo ?? setup.gitDir) : setup.gitDir;
    runBackend(gitDir, request, response);
  };
  let caFile: string | undefined;
  let client: GitServer['client'];
  let listener: ReturnType<typeof createHttpServer>;
  if (setup.tls === true) {
    const directory = mkdtempSync(join(tmpdir(), 'gitplane-tls-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const made = await ensureServerCertificate({ directory, hostnames: [], clock: Date });
    caFile = join(directory, 'ca.crt');
    client = {
      clientCertFile: join(directory, 'server.crt'),
      clientKeyFile: join(directory, 'server.key'),
    };
    const requestCert = setup.asksForCertificate === true;
    const tls = {
      cert: made.certificatePem,
      key: made.keyPem,
      requestCert,
      // Who shows none is told so in HTTP.
      rejectUnauthorized: false,
    };
    listener = createHttpsServer(tls, handle) as unknown as typeof listener;
  } else listener = createHttpServer(handle);
  const listen = (port: number): Promise<void> =>
    new Promise((done) => listener.listen(port, '127.0.0.1', done));
  const port = await freePort();
  await listen(port);
  const scheme = setup.tls === true ? 'https' : 'http';
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((done) => listener.close(() => done()));
    listener.closeAllConnections();
    await closed;
  };
  const made: GitServer = {
    port,
    url: `${scheme}://127.0.0.1:${port}/${basename(setup.gitDir)}`,
    caFile,
    client,
    requests,
    refuseWith: undefined,
    page: undefined,
    pushesTo: undefined,
    onRequest: undefined,
    stop,
    start: () => listen(port),
  };
  onTestFinished(() => (listener.listening ? stop() : undefined));
  return made;
}

function showsCertificate({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined;
}

/** One request through the CGI program (RFC 3875). */
function runBackend(gitDir: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const header = (name: string): string => String(request.headers[name] ?? '');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...gitEnv,
      GIT_PROJECT_ROOT: dirname(gitDir),
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'somebody',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: decodeURIComponent(path),
      QUERY_STRING: query,
      CONTENT_TYPE: header('content-type'),
      ...(request.headers['content-length'] && { CONTENT_LENGTH: header('content-length') }),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const lines = head.subarray(0, end).toString('latin1').split('\r\n');
    const headers = lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
    response.writeHead(Number(status.slice(0, 3)), Object.fromEntries(headers));
    response.write(head.subarray(end + 4));
  });
  child.on('close', () => response.end());
}

export interface Proxy {
  readonly port: number;
  /** Called with what a client sends, before it is passed on; may cut or wait. */
  onRequest: ((bytes: Buffer, cut: () => void) => void | Promise<void>) | undefined;
  /** The same for answers. */
  onAnswer: ((bytes: Buffer, cut: () => void) => void | Promise<void>) | undefined;
}

/** A TCP proxy to a port of this machine. */
export async function proxyTo(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1');
    const cut = (): void => {
      client.destroy();
      behind.destroy();
    };
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', cut);
    }
    relay(client, behind, (bytes) => proxy.onRequest?.(bytes, cut));
    relay(behind, client, (bytes) => proxy.onAnswer?.(bytes, cut));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxy: Proxy = {
    port: (server.address() as AddressInfo).port,
    onRequest: undefined,
    onAnswer: undefined,
  };
  return proxy;
}

function relay(from: Socket, to: Socket, see: (bytes: Buffer) => void | Promise<void>): void {
  let last = Promise.resolve();
  from.on('data', (bytes: Buffer) => {
    last = last.then(async () => {
      await see(bytes);
      if (!to.destroyed) to.write(bytes);
    });
  });
  from.on('end', () => {
    last = last.then(() => void to.end());
  });
}

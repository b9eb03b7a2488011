/** Certificate and addresses of the listeners, with messages for what prevents listening. */
import { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../apimachinery/index.ts';
import { type DataDirectory, errnoOf, StartError } from '../../bootstrap/index.ts';
import { describeProgress, type Progress } from '../../concurrency/index.ts';
import { type WatchTimes, watchFiles } from '../../files/index.ts';
import type { Address } from '../../options/index.ts';
import { createListener, type Listener, startingHandler, tlsOptions } from '../../server/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { ensureServerCertificate } from '../../tls/index.ts';
import type { DaemonOptions } from '../options.ts';

/** Certificate and private key, PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Tls extends Pair {
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
}

export interface TlsSource {
  readonly options: Pick<DaemonOptions, 'tls' | 'hostnames' | 'listen'>;
  readonly data: Pick<DataDirectory, 'tls'>;
  readonly clock: Clock;
}

export async function openTls(of: TlsSource): Promise<Tls> {
  const { options, data, clock } = of;
  if (options.tls !== undefined) {
    return { ...(await readPair(options.tls)), ca: undefined, caFile: undefined };
  }
  const hostnames = [...options.hostnames, options.listen.host].filter(
    (name) => name !== '0.0.0.0' && name !== '::',
  );
  const made = await ensureServerCertificate({ directory: data.tls, hostnames, clock });
  const caFile = `${data.tls}/ca.crt`;
  return { cert: made.certificatePem, key: made.keyPem, ca: made.caPem, caFile };
}

/**
 * Certificate for the time in which a replica does not have the authority of its platform yet: that of
 * its former start, else one that nobody trusts. Probes do not verify certificates.
 */
export async function openEarlyTls(of: TlsSource): Promise<Tls> {
  const { options, data } = of;
  if (options.tls !== undefined) return await openTls(of);
  const former = { certFile: join(data.tls, 'server.crt'), keyFile: join(data.tls, 'server.key') };
  try {
    const pair = await readPair(former);
    createSecureContext(pair);
    return { ...pair, ca: undefined, caFile: undefined };
  } catch {
    const directory = await mkdtemp(join(tmpdir(), 'gitplane-tls-'));
    const made = openTls({ ...of, data: { tls: directory } });
    return await made.finally(() => rm(directory, { recursive: true, force: true }));
  }
}

async function readPair(files: { certFile: string; keyFile: string }): Promise<Pair> {
  const cert = await readOrFail('tls-cert', files.certFile);
  return { cert, key: await readOrFail('tls-key', files.keyFile) };
}

const RENEWAL_EVERY_MS = 12 * 60 * 60_000;

/**
 * Replaces the certificate of the server while connections continue: from `--tls-cert` and `--tls-key`
 * when the files change, or from the own CA before the current one expires. An unusable pair is logged,
 * and the current one stays. Returns a function that stops it.
 */
export function followCertificate(
  of: TlsSource & { readonly logger: Logger; readonly tls: Tls },
  server: TlsServer,
  times: WatchTimes & { readonly renewalMs?: number } = {},
): () => void {
  const { options, logger } = of;
  let current: Pair = of.tls;
  const replace = async (read: () => Promise<Pair>): Promise<void> => {
    try {
      const { cert, key } = await read();
      if (cert === current.cert && key === current.key) return;
      const context = tlsOptions({ cert, key });
      // Throws for a key that does not match the certificate, before the server is changed.
      createSecureContext(context);
      server.setSecureContext(context);
      current = { cert, key };
      const { validTo } = new X509Certificate(cert);
      logger.info({ validTo }, 'A newer certificate is served');
    } catch (err) {
      const remedy = 'Put a certificate and its private key there; they are then read again';
      logger.error({ err, ...options.tls, remedy }, 'The newer certificate cannot be served');
    }
  };
  const files = options.tls;
  if (files === undefined) {
    const renew = (): void => void replace(() => openTls(of));
    const timer = setInterval(renew, times.renewalMs ?? RENEWAL_EVERY_MS).unref();
    return () => clearInterval(timer);
  }
  const { certFile, keyFile } = files;
  return watchFiles([certFile, keyFile], () => void replace(() => readPair(files)), times);
}

async function readOrFail(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StartError(`Cannot read --${option} ${file}: ${errnoOf(error) ?? String(error)}`, {
      cause: error,
    });
  }
}

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop the other program or choose another with --listen',
  EACCES: 'permission denied; ports below 1024 are for root, choose another with --listen',
  EADDRNOTAVAIL: 'this machine has no such address; choose another with --listen',
  ENOTFOUND: 'the host name is unknown; choose another with --listen',
};

/** A listener that answers from now on, and takes a server when there is one. */
export interface OpenListener {
  readonly port: number;
  /** New connections get this certificate. */
  present(pair: Pair): void;
  /** Answers requests with this server. The function closes both, requests in flight first. */
  serve(app: (listener: Listener) => FastifyInstance): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface ListenerSource extends TlsSource {
  readonly options: TlsSource['options'] & Pick<DaemonOptions, 'proxyPrefix'>;
  readonly logger: Logger;
  readonly tls: Tls;
  readonly progress: Progress;
}

/** Until a server is there, requests are answered with the progress of the start. */
export async function openListener(
  of: ListenerSource,
  address: Address,
  { secure }: { readonly secure: boolean },
): Promise<OpenListener> {
  const { options, tls, progress } = of;
  const first = startingHandler({
    root: `/${options.proxyPrefix}/management`,
    progress: () => (progress.state === undefined ? 'starting' : describeProgress(progress.state)),
  });
  const listener = createListener(secure ? { cert: tls.cert, key: tls.key } : undefined, first);
  const { server } = listener;
  const servers = await listenOn(server, address);
  const stopFollowing = server instanceof TlsServer ? followCertificate(of, server) : undefined;
  const close = async (): Promise<void> => {
    stopFollowing?.();
    await Promise.all(servers.map(closeServer));
  };
  return {
    port: portOf(server),
    present: ({ cert, key }) => {
      if (server instanceof TlsServer) server.setSecureContext(tlsOptions({ cert, key }));
    },
    serve: async (build) => {
      const app = build(listener);
      await app.ready();
      return async () => {
        await app.close();
        await close();
      };
    },
    close,
  };
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  await once(server, 'close');
}

/** Returns the server and, for the name `localhost`, those of its other addresses. */
async function listenOn(server: Server, { host, port }: Address): Promise<readonly Server[]> {
  try {
    const [first = host, ...others] = await addressesOf(host);
    await listen(server, { host: first, port });
    const more = others.map((other) => listenBeside(server, other));
    return [server, ...(await Promise.all(more)).filter((one) => one !== undefined)];
  } catch (error) {
    const why = LISTEN_REASONS[errnoOf(error) ?? ''] ?? String(error);
    throw new StartError(`Cannot listen on ${host}:${port}: ${why}`, { cause: error });
  }
}

/** Clients of `localhost` try IPv4 or IPv6 first. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}

/** Undefined: the machine does not have this address. */
async function listenBeside(server: Server, host: string): Promise<Server | undefined> {
  const beside = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit('connection', socket);
  });
  beside.maxConnections = server.maxConnections;
  try {
    await listen(beside, { host, port: portOf(server) });
    return beside;
  } catch {
    return undefined;
  }
}

async function listen(server: Server, address: Address): Promise<void> {
  server.listen(address);
  await once(server, 'listening');
}

/** Port of a server that listens on TCP. */
export function portOf(server: Pick<Server, 'address'>): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

/** True for an address that means every interface. */
function isWildcard({ host }: Address): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Base URL for clients without `--public-url`: on every interface that with the first `--hostname`,
 * which the certificate has too.
 */
export function clientUrl(
  { listen: address, hostnames }: Pick<DaemonOptions, 'listen' | 'hostnames'>,
  base: string,
): string {
  const [host] = hostnames;
  if (!isWildcard(address) || host === undefined) return base;
  const url = new URL(base);
  url.hostname = host;
  return url.origin;
}

/** Warns if the URLs that clients get name this machine alone. */
export function warnOfLocalUrls(
  {
    listen: address,
    hostnames,
    publicUrl,
  }: Pick<DaemonOptions, 'listen' | 'hostnames' | 'publicUrl'>,
  { url, logger }: { readonly url: string; readonly logger: Logger },
): void {
  if (publicUrl !== undefined || !isWildcard(address) || hostnames.length > 0) return;
  const remedy =
    'Give the URL that clients use as --public-url, or a name of this host as --hostname';
  logger.warn({ url, remedy }, 'Sign-in pages and device codes name a URL of this machine alone');
}

/** Host for URLs: loopback instead of an address that means every interface. */
export function urlHost({ host }: Address): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

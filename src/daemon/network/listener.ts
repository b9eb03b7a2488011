/** Certificate and addresses of the listeners, with messages for what prevents listening. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { createSecureContext, type Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../apimachinery/index.ts';
import { type DataDirectory, errnoOf, StartError } from '../../bootstrap/index.ts';
import { type WatchTimes, watchFiles } from '../../files/index.ts';
import type { Address } from '../../options/index.ts';
import { tlsOptions } from '../../server/index.ts';
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

/** Returns the port, which differs from the requested one only if that is 0. */
export async function listenOn(app: FastifyInstance, { host, port }: Address): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const why = LISTEN_REASONS[errnoOf(error) ?? ''] ?? String(error);
    throw new StartError(`Cannot listen on ${host}:${port}: ${why}`, { cause: error });
  }
  return portOf(app.server);
}

/** Port of a server that listens on TCP. */
export function portOf(server: Pick<Server, 'address'>): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return address.port;
}

/** Host for URLs: loopback instead of an address that means every interface. */
export function urlHost({ host }: Address): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** What a daemon listens with: its certificate, its addresses, and words for what is in the way. */
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../apimachinery/clock.ts';
import type { DataDirectory } from '../bootstrap/data-directory.ts';
import { errnoOf, StartError } from '../bootstrap/start-error.ts';
import type { Address } from '../options/values.ts';
import { ensureServerCertificate } from '../tls/server-certificate.ts';
import type { DaemonOptions } from './options.ts';

export interface Tls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
}

export async function openTls(of: {
  readonly options: Pick<DaemonOptions, 'tls' | 'hostnames' | 'listen'>;
  readonly data: Pick<DataDirectory, 'tls'>;
  readonly clock: Clock;
}): Promise<Tls> {
  const { options, data, clock } = of;
  if (options.tls !== undefined) {
    const { certFile, keyFile } = options.tls;
    const cert = await readOrFail('tls-cert', certFile);
    return { cert, key: await readOrFail('tls-key', keyFile), ca: undefined, caFile: undefined };
  }
  const hostnames = [...options.hostnames, options.listen.host].filter(
    (name) => name !== '0.0.0.0' && name !== '::',
  );
  const made = await ensureServerCertificate({ directory: data.tls, hostnames, clock });
  const caFile = `${data.tls}/ca.crt`;
  return { cert: made.certificatePem, key: made.keyPem, ca: made.caPem, caFile };
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

/** Returns the port, which differs from the wanted one only where that is 0. */
export async function listenOn(app: FastifyInstance, { host, port }: Address): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const why = LISTEN_REASONS[errnoOf(error) ?? ''] ?? String(error);
    throw new StartError(`Cannot listen on ${host}:${port}: ${why}`, { cause: error });
  }
  return (app.server.address() as AddressInfo).port;
}

/** An address that means every interface is reached through the loopback one. */
export function shownHost({ host }: Address): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

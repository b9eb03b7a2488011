/** The daemon: platform, services and listeners. */
import { Server as TlsServer } from 'node:tls';
import { type Clock, systemClock } from '../apimachinery/index.ts';
import { replaceFile } from '../auth/index.ts';
import { type DataDirectory, openDataDirectory } from '../bootstrap/index.ts';
import type { Address } from '../options/index.ts';
import { buildServer, type ServerOptions } from '../server/index.ts';
import { createLogger, type Logger, SlowSteps } from '../telemetry/index.ts';
import { formatKubeconfig } from '../tls/index.ts';
import { VERSION } from '../version.ts';
import { runDiskJobs } from './background/scheduled-jobs.ts';
import { followCertificate, listenOn, openTls, type Tls, urlHost } from './network/listener.ts';
import { openPushReception, type PushReception } from './network/push-reception.ts';
import type { DaemonOptions } from './options.ts';
import type { Platform } from './platform.ts';
import { openService, type Service } from './service.ts';
import { StartOrder } from './start-order.ts';

export interface Daemon {
  /** `https://127.0.0.1:8443`. */
  readonly url: string;
  /** API root below it: `/kubernetes/management`. */
  readonly root: string;
  readonly data: DataDirectory;
  readonly platform: Platform;
  /** CA certificate for clients; undefined: the operator provides the certificate. */
  readonly caFile: string | undefined;
  /** Answers requests in flight, flushes, and closes everything. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly options: DaemonOptions;
  readonly clock?: Clock;
  /** Sink of log lines; standard error when absent. */
  readonly log?: { write(line: string): void };
}

/** Throws an error whose one line names the place and the remedy when a part cannot be started. */
export async function startDaemon(start: StartOptions): Promise<Daemon> {
  const { options, clock = systemClock } = start;
  const logger = createLogger(options.logLevel, start.log ?? process.stderr);
  const data = openDataDirectory(options.dataDir);
  const { host, port } = options.listen;
  const address = new BaseUrl(host, port);
  const { parts, close } = await PARTS.start({ options, clock, logger, data, address });
  const { platform, dependencies } = parts.service;
  const stop = async (): Promise<void> => {
    await close((err) => logger.error({ err }, 'A part did not stop cleanly'));
    logger.info('Stopped');
  };
  const { revision } = platform.branch.state;
  logger.info({ url: address.url, revision, version: VERSION }, 'Serving');
  const { root } = dependencies;
  return { url: address.url, root, data, platform, caFile: parts.tls.caFile, stop };
}

/** Base URL of the HTTPS listener; the port is known once it listens. */
class BaseUrl {
  readonly #host: string;
  port: number;

  constructor(host: string, port: number) {
    this.#host = host;
    this.port = port;
  }

  get url(): string {
    return `https://${urlHost({ host: this.#host, port: this.port })}:${this.port}`;
  }
}

interface DaemonContext {
  readonly options: DaemonOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly data: DataDirectory;
  readonly address: BaseUrl;
}

const PARTS = StartOrder.with<DaemonContext>()
  .make('tls', openTls)
  .open('pushes', ({ data, logger }) => openPushReception(data.root, logger))
  .open('service', startService)
  .open('https', async (given) => {
    const { cert, key } = given.tls;
    const listening = await listen(given, given.options.listen, { tls: { cert, key } });
    given.address.port = listening.port;
    return listening;
  })
  .open('http', async (given) => {
    const { listenHttp } = given.options;
    return listenHttp && (await listen(given, listenHttp, {}));
  })
  .open('stateJobs', ({ service }) => service.start())
  .open('diskJobs', startDiskJobs)
  .make('kubeconfig', writeKubeconfig);

async function startService(
  given: DaemonContext & { readonly pushes: PushReception },
): Promise<Service & { close(): Promise<void> }> {
  const { options, logger, address } = given;
  const steps = new SlowSteps(logger, 'The start');
  const base = (): string => address.url;
  const issuer = options.publicUrl ?? base();
  const service = await openService({ ...given, issuer, base, steps }).finally(() => steps.end());
  const onError = (err: unknown): void => logger.error({ err }, 'A part did not stop cleanly');
  return { ...service, close: () => service.close(onError) };
}

interface ListenerContext extends Omit<DaemonContext, 'address'> {
  readonly tls: Tls;
  readonly service: Pick<Service, 'dependencies' | 'platform' | 'token'>;
}

async function listen(
  given: ListenerContext,
  address: Address,
  server: ServerOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const app = buildServer(given.service.dependencies, server);
  const { server: listener } = app;
  const stopFollowing =
    listener instanceof TlsServer ? followCertificate(given, listener) : undefined;
  const close = async (): Promise<void> => {
    stopFollowing?.();
    await app.close();
  };
  try {
    return { port: await listenOn(app, address), close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

async function startDiskJobs(given: ListenerContext): Promise<{ close(): Promise<void> }> {
  const { service, options, data, logger } = given;
  const { config, repository } = service.platform;
  const { metrics } = service.dependencies;
  const maintain = async (signal: AbortSignal): Promise<void> => {
    await repository.maintainFully(signal);
  };
  return { close: await runDiskJobs({ options, data, config, metrics, logger, maintain }) };
}

async function writeKubeconfig({
  service,
  data,
  tls,
  address,
}: ListenerContext & Pick<DaemonContext, 'address'>): Promise<void> {
  const { token, dependencies } = service;
  if (token === undefined) return;
  const server = `${address.url}${dependencies.root}`;
  await replaceFile(data.kubeconfig, formatKubeconfig({ server, caPem: tls.ca, token }));
}

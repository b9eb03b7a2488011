/** The daemon: platform, services and listeners. */
import { type Clock, systemClock } from '../apimachinery/index.ts';
import { replaceFile } from '../auth/index.ts';
import { type DataDirectory, openDataDirectory } from '../bootstrap/index.ts';
import { buildServer } from '../server/index.ts';
import { type Logger, type LogStream, openLogger, SlowSteps } from '../telemetry/index.ts';
import { formatKubeconfig } from '../tls/index.ts';
import { VERSION } from '../version.ts';
import { runDiskJobs } from './background/scheduled-jobs.ts';
import {
  type OpenListener,
  openListener,
  openTls,
  type Tls,
  urlHost,
  warnOfLocalUrls,
} from './network/listener.ts';
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
  /** Link that signs the first administrator in once; undefined: other computers reach the listener. */
  readonly signInLink: string | undefined;
  /** Reason why the platform has no object of its own. */
  readonly emptiness: string | undefined;
  /** Answers requests in flight, flushes, and closes everything. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly options: DaemonOptions;
  readonly clock?: Clock;
  /** Sink of log lines; standard error when absent. */
  readonly log?: LogStream;
}

/** Throws an error whose one line names the place and the remedy when a part cannot be started. */
export async function startDaemon(start: StartOptions): Promise<Daemon> {
  const { options, clock = systemClock } = start;
  const logger = await openLogger(options, start.log ?? process.stderr);
  const data = openDataDirectory(options.dataDir);
  const { host, port } = options.listen;
  const address = new BaseUrl(host, port);
  const steps = new SlowSteps(logger, 'The start');
  const { parts, close } = await PARTS.start({ options, clock, logger, data, address, steps });
  const { platform, dependencies } = parts.service;
  const stop = async (): Promise<void> => {
    await close((err) => logger.error({ err }, 'A component did not stop cleanly'));
    logger.info('Stopped');
  };
  const { revision } = platform.branch.state;
  warnOfLocalUrls(options, { url: address.url, logger });
  logger.info({ url: address.url, revision, version: VERSION }, 'Serving');
  const { root } = dependencies;
  const signInLink = isLoopback(host) ? linkOf(parts.service, address.url) : undefined;
  const { emptiness } = parts.service;
  const { caFile } = parts.tls;
  return { url: address.url, root, data, platform, caFile, signInLink, emptiness, stop };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** Undefined: this daemon has no key of the first administrator. */
function linkOf({ token, dependencies }: Service, url: string): string | undefined {
  const holder = token === undefined ? undefined : dependencies.authenticate(token);
  if (holder === undefined || !('user' in holder)) return undefined;
  const code = dependencies.signIn.links.issue(holder.user.name);
  return `${url}/auth/link?code=${code}`;
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
  readonly steps: SlowSteps;
}

const PARTS = StartOrder.with<DaemonContext>()
  .make('tls', openTls)
  .open('pushes', ({ data, logger }) => openPushReception(data.root, logger))
  .make('progress', ({ steps }) => steps.progress)
  .open('https', async (given) => {
    const https = await openListener(given, given.options.listen, { secure: true });
    given.address.port = https.port;
    return https;
  })
  .open('http', async (given) => {
    const { listenHttp } = given.options;
    return listenHttp && (await openListener(given, listenHttp, { secure: false }));
  })
  .open('service', startService)
  .open('serving', serve)
  .open('stateJobs', ({ service }) => service.start())
  .open('diskJobs', startDiskJobs)
  .make('kubeconfig', writeKubeconfig);

async function startService(
  given: DaemonContext & { readonly pushes: PushReception },
): Promise<Service & { close(): Promise<void> }> {
  const { options, logger, address, steps } = given;
  const base = (): string => address.url;
  const issuer = options.publicUrl ?? base();
  const service = await openService({ ...given, issuer, base }).finally(() => steps.end());
  const onError = (err: unknown): void => logger.error({ err }, 'A component did not stop cleanly');
  return { ...service, close: () => service.close(onError) };
}

/** Until here the listeners have answered with the progress of the start. */
async function serve(
  given: ServiceParts & {
    readonly https: OpenListener;
    readonly http: OpenListener | undefined;
  },
): Promise<{ close(): Promise<void> }> {
  const { service, https, http } = given;
  const closing: (() => Promise<void>)[] = [];
  for (const one of [https, http]) {
    const close = await one?.serve((listener) => buildServer(service.dependencies, { listener }));
    if (close !== undefined) closing.push(close);
  }
  return {
    close: async () => {
      await Promise.all(closing.map((close) => close()));
    },
  };
}

interface ServiceParts extends Omit<DaemonContext, 'address'> {
  readonly tls: Tls;
  readonly service: Pick<Service, 'dependencies' | 'platform' | 'token'>;
}

async function startDiskJobs(given: ServiceParts): Promise<{ close(): Promise<void> }> {
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
}: ServiceParts & Pick<DaemonContext, 'address'>): Promise<void> {
  const { token, dependencies } = service;
  if (token === undefined) return;
  const server = `${address.url}${dependencies.root}`;
  await replaceFile(data.kubeconfig, formatKubeconfig({ server, caPem: tls.ca, token }));
}

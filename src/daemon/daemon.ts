/** The daemon: the platform with its network. Starts everything in order and stops it in reverse. */
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
import { followCertificate, listenOn, openTls, urlHost } from './network/listener.ts';
import { openPushReception } from './network/push-reception.ts';
import type { DaemonOptions } from './options.ts';
import type { Platform } from './platform.ts';
import { openService } from './service.ts';

export interface Daemon {
  /** `https://127.0.0.1:8443`. */
  readonly url: string;
  /** Where the API lives below it: `/kubernetes/management`. */
  readonly root: string;
  readonly data: DataDirectory;
  readonly platform: Platform;
  /** What clients must trust; undefined with a certificate of the operator's. */
  readonly caFile: string | undefined;
  /** Answers what is in flight, flushes, and lets go of everything. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly options: DaemonOptions;
  readonly clock?: Clock;
  /** Where log lines go; standard error when absent. */
  readonly log?: { write(line: string): void };
}

/** Throws with one line that names the place and the remedy when something is in the way. */
export async function startDaemon(start: StartOptions): Promise<Daemon> {
  const { options, clock = systemClock } = start;
  const logger = createLogger(options.logLevel, start.log ?? process.stderr);
  const data = openDataDirectory(options.dataDir);
  const undo: (() => Promise<void>)[] = [];
  try {
    return await startAll({ options, clock, logger, data, undo });
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(() => undefined);
    throw error;
  }
}

interface Starting {
  readonly options: DaemonOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly data: DataDirectory;
  /** What to do, last first, to stop what was started. */
  readonly undo: (() => Promise<void>)[];
}

async function startAll(starting: Starting): Promise<Daemon> {
  const { options, logger, data, undo } = starting;
  let base = `https://${urlHost(options.listen)}:${options.listen.port}`;
  const tls = await openTls(starting);
  const pushes = await openPushReception(data.root, logger);
  undo.push(() => pushes.close());
  const issuer = options.publicUrl ?? base;
  const steps = new SlowSteps(logger, 'The start');
  const parts = { ...starting, pushes, issuer, base: () => base, steps };
  const service = await openService(parts).finally(() => steps.end());
  const { dependencies, platform, token } = service;
  const listen = async (address: Address, server: ServerOptions): Promise<number> => {
    const app = buildServer(dependencies, server);
    undo.push(() => app.close());
    const { server: listener } = app;
    if (listener instanceof TlsServer) {
      const stop = followCertificate({ ...starting, tls }, listener);
      undo.push(async () => stop());
    }
    return await listenOn(app, address);
  };
  const port = await listen(options.listen, { tls: { cert: tls.cert, key: tls.key } });
  if (options.listenHttp !== undefined) await listen(options.listenHttp, {});
  base = `https://${urlHost(options.listen)}:${port}`;
  await service.start();
  const { config, repository } = platform;
  const { metrics } = dependencies;
  const maintain = async (signal: AbortSignal): Promise<void> => {
    await repository.maintainFully(signal);
  };
  undo.push(await runDiskJobs({ options, data, config, metrics, logger, maintain }));
  const { root } = dependencies;
  if (token !== undefined)
    await writeKubeconfig(data, { server: `${base}${root}`, caPem: tls.ca, token });
  const { revision } = platform.branch.state;
  logger.info({ url: base, revision, version: VERSION }, 'Serving');
  return { url: base, root, data, platform, caFile: tls.caFile, stop: () => stopAll(starting) };
}

async function writeKubeconfig(
  data: DataDirectory,
  of: Parameters<typeof formatKubeconfig>[0],
): Promise<void> {
  await replaceFile(data.kubeconfig, formatKubeconfig(of));
}

async function stopAll({ undo, logger }: Starting): Promise<void> {
  for (const step of undo.splice(0).reverse()) {
    await step().catch((error: unknown) =>
      logger.error({ err: error }, 'A part did not stop cleanly'),
    );
  }
  logger.info('Stopped');
}

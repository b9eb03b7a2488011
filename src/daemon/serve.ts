/** `gitplane serve`: starts the daemon, prints the next steps, and stops it on a signal. */
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shrinkBufferPool } from '../concurrency/index.ts';
import { limitGitMemory, startLauncher } from '../git/index.ts';
import type { ParsedOptions } from '../options/index.ts';
import { allowAddresses } from '../outbound/index.ts';
import { VERSION } from '../version.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { type DaemonOptions, readDaemonOptions } from './options.ts';
import { inlineLess } from './runtime/inlining.ts';
import { notifyReady } from './runtime/service-manager.ts';
import { pinNextTickShape } from './runtime/v8-nexttick-workaround.ts';

/** Time limit for a start to complete after a signal. */
const START_WITHIN_MS = 4_000;
/** Time limit of the stop: shorter than the grace period of orchestrators, so that they need not kill. */
const STOP_WITHIN_MS = 9_500;

export async function serve(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  pinNextTickShape();
  shrinkBufferPool();
  const read = readDaemonOptions(options);
  allowAddresses(read.allowOutbound);
  limitGitMemory(read.gitMemoryMib);
  // Before the first listener: an unhandled signal would reset the requests in flight.
  const ended = signalled();
  const starting = start(read);
  const begun = await Promise.race([starting, ended]);
  if (begun !== undefined) {
    // Later than the start, which they would slow down.
    inlineLess();
    void startLauncher();
    out.write(banner(begun, read));
    notifyReady(read.environment, begun.url);
    await ended;
  }
  const limit = setTimeout(() => process.exit(1), STOP_WITHIN_MS);
  const daemon = begun ?? (await startedWithin(starting));
  // The start acknowledged nothing yet: it is abandoned as by a crash.
  if (daemon === undefined) process.exit(0);
  await daemon.stop();
  clearTimeout(limit);
  return 0;
}

/** Waits for an interrupted start, since only a complete start can be stopped. Undefined: it takes too long. */
async function startedWithin(starting: Promise<Serving>): Promise<Serving | undefined> {
  return await Promise.race([starting, sleep(START_WITHIN_MS, undefined, { ref: false })]);
}

/** Loads the replica code only if needed, to keep the start of a single daemon short. */
async function start(options: DaemonOptions): Promise<Serving> {
  const { replica } = options;
  if (replica !== undefined) {
    const { startReplica } = await import('./replicated/replica.ts');
    return await startReplica({ options, replica });
  }
  const daemon = await startDaemon({ options });
  const { platform, data } = daemon;
  const source = platform.following?.url ?? data.repository;
  return { ...daemon, objects: platform.branch.state.catalog.size, source };
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve();
      });
    }
  });
}

/** Facts about a started daemon for the banner. */
type Serving = Pick<Daemon, 'url' | 'root' | 'data' | 'caFile' | 'stop'> & {
  readonly signInLink?: string | undefined;
  readonly emptiness?: string | undefined;
  readonly objects: number;
  /** Location of the manifests: a folder or a URL. */
  readonly source: string;
};

function banner(serving: Serving, { apiGroup }: DaemonOptions): string {
  const { url, root, data, caFile, objects, signInLink, emptiness } = serving;
  const file = (path: string): string => {
    const shown = relative(process.cwd(), path);
    return shown.startsWith('..') ? path : shown;
  };
  const token = `$(cat ${file(data.adminToken)})`;
  const trust = caFile === undefined ? '' : ` --cacert ${file(caFile)}`;
  // The variable overrides the environment for this command; the setting is stored in the clone.
  const [variable, setting] =
    caFile === undefined ? ['', ''] : [`GIT_SSL_CAINFO=${caFile} `, ` -c http.sslCAInfo=${caFile}`];
  const isFolder = serving.source === data.repository;
  const source = isFolder ? file(serving.source) : serving.source;
  const opened =
    signInLink === undefined
      ? ''
      : `\nOpen in a browser (signs in once, within ten minutes):\n  ${signInLink}\n`;
  const warning = emptiness === undefined ? '' : `\nWARNING: the platform is empty: ${emptiness}\n`;
  return `gitplane ${VERSION}: ${objects} objects at ${url} from ${source}
${warning}${opened}
Try next, in another shell:
  kubectl --kubeconfig ${file(data.kubeconfig)} get users,teams,sharedsecrets -A
  ${variable}git clone${setting} ${url.replace('://', `://admin:${token}@`)}/git/platform.git
  curl${trust} -H "Authorization: Bearer ${token}" ${url}${root}/apis/${apiGroup}/v1/teams
`;
}

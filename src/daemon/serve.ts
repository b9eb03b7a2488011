/** `gitplane serve`: starts, says what to try next, and ends on a signal. */
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitGitMemory } from '../git/index.ts';
import type { ParsedOptions } from '../options/index.ts';
import { allowAddresses } from '../outbound/index.ts';
import { VERSION } from '../version.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { type DaemonOptions, readDaemonOptions } from './options.ts';
import { pinNextTickShape } from './runtime/v8-nexttick-workaround.ts';

/** A start that is told to stop is waited for so long. */
const START_WITHIN_MS = 4_000;
/** A stop that takes longer than this is cut off, so that an orchestrator need not kill. */
const STOP_WITHIN_MS = 9_500;

export async function serve(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  pinNextTickShape();
  const read = readDaemonOptions(options);
  allowAddresses(read.allowOutbound);
  limitGitMemory(read.gitMemoryMib);
  // Before anything serves: a signal that nobody handles would reset the requests in flight.
  const ended = signalled();
  const starting = start(read);
  const begun = await Promise.race([starting, ended]);
  if (begun !== undefined) {
    out.write(banner(begun, read));
    await ended;
  }
  const limit = setTimeout(() => process.exit(1), STOP_WITHIN_MS);
  const daemon = begun ?? (await startedWithin(starting));
  // It acknowledged nothing yet, and is abandoned as by a crash.
  if (daemon === undefined) process.exit(0);
  await daemon.stop();
  clearTimeout(limit);
  return 0;
}

/** A start that a signal interrupts goes on: only whole parts can be stopped. Undefined: it takes too long. */
async function startedWithin(starting: Promise<Serving>): Promise<Serving | undefined> {
  return await Promise.race([starting, sleep(START_WITHIN_MS, undefined, { ref: false })]);
}

/** Replicas are loaded when they are wanted: a daemon alone should not wait for them. */
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

/** What is said of a daemon that has started. */
type Serving = Pick<Daemon, 'url' | 'root' | 'data' | 'caFile' | 'stop'> & {
  readonly objects: number;
  /** Where the manifests are: a folder, or a URL. */
  readonly source: string;
};

function banner(serving: Serving, { apiGroup }: DaemonOptions): string {
  const { url, root, data, caFile, objects } = serving;
  const file = (path: string): string => {
    const shown = relative(process.cwd(), path);
    return shown.startsWith('..') ? path : shown;
  };
  const token = `$(cat ${file(data.adminToken)})`;
  const trust = caFile === undefined ? '' : ` --cacert ${file(caFile)}`;
  // The variable wins over whatever the environment says; the setting goes into the clone.
  const [variable, setting] =
    caFile === undefined ? ['', ''] : [`GIT_SSL_CAINFO=${caFile} `, ` -c http.sslCAInfo=${caFile}`];
  const isFolder = serving.source === data.repository;
  const source = isFolder ? file(serving.source) : serving.source;
  return `gitplane ${VERSION}: ${objects} objects at ${url} from ${source}

Try next, in another shell:
  kubectl --kubeconfig ${file(data.kubeconfig)} get teams,sharedsecrets -A
  ${variable}git clone${setting} ${url.replace('://', `://admin:${token}@`)}/git/platform.git
  curl${trust} -H "Authorization: Bearer ${token}" ${url}${root}/apis/${apiGroup}/v1/teams
`;
}

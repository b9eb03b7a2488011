/** `gitplane serve`: starts, says what to try next, and ends on a signal. */
import { relative } from 'node:path';
import type { ParsedOptions } from '../options/parse-options.ts';
import { VERSION } from '../version.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { type DaemonOptions, readDaemonOptions } from './options.ts';
import { holdTickShape } from './tick-shape.ts';

/** A stop that takes longer than this is cut off, so that an orchestrator need not kill. */
const STOP_WITHIN_MS = 9_500;

export async function serve(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  holdTickShape();
  const read = readDaemonOptions(options);
  const daemon = await start(read);
  // Before the banner: whoever reads it may end the daemon at once, and cleanly.
  const ended = signalled();
  out.write(banner(daemon, read));
  await ended;
  const limit = setTimeout(() => process.exit(1), STOP_WITHIN_MS);
  await daemon.stop();
  clearTimeout(limit);
  return 0;
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

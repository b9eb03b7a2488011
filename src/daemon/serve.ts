/** `gitplane serve`: starts, says what to try next, and ends on a signal. */
import { relative } from 'node:path';
import type { ParsedOptions } from '../options.ts';
import { VERSION } from '../version.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { readDaemonOptions } from './options.ts';

/** A stop that takes longer than this is cut off, so that an orchestrator need not kill. */
const STOP_WITHIN_MS = 9_500;

export async function serve(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  const daemon = await startDaemon({ options: readDaemonOptions(options) });
  // Before the banner: whoever reads it may end the daemon at once, and cleanly.
  const ended = signalled();
  out.write(banner(daemon));
  await ended;
  const limit = setTimeout(() => process.exit(1), STOP_WITHIN_MS);
  await daemon.stop();
  clearTimeout(limit);
  return 0;
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

function banner({ url, root, data, platform, caFile }: Daemon): string {
  const file = (path: string): string => {
    const shown = relative(process.cwd(), path);
    return shown.startsWith('..') ? path : shown;
  };
  const token = `$(cat ${file(data.adminToken)})`;
  const trust = caFile === undefined ? '' : ` --cacert ${file(caFile)}`;
  // The variable wins over whatever the environment says; the setting goes into the clone.
  const [variable, setting] =
    caFile === undefined ? ['', ''] : [`GIT_SSL_CAINFO=${caFile} `, ` -c http.sslCAInfo=${caFile}`];
  const [group = ''] = platform.kinds.groups;
  const { catalog } = platform.branch.state;
  const source = platform.following?.url ?? file(data.repository);
  return `gitplane ${VERSION}: ${catalog.size} objects at ${url} from ${source}

Try next, in another shell:
  kubectl --kubeconfig ${file(data.kubeconfig)} get teams,sharedsecrets -A
  ${variable}git clone${setting} ${url.replace('://', `://admin:${token}@`)}/git/platform.git
  curl${trust} -H "Authorization: Bearer ${token}" ${url}${root}/apis/${group}/v1/teams
`;
}

/** The way to a repository elsewhere, for a process that is alone and for one of several. */
import { FencedRemote } from '../../git/remote/fenced-remote.ts';
import { Remote, type RemoteOptions } from '../../git/remote/remote.ts';
import { assertHeld, type Term } from '../../replication/term.ts';
import type { Logger } from '../../telemetry/logger.ts';

export function openRemote(
  options: RemoteOptions,
  { term, logger }: { readonly term: Term | undefined; readonly logger: Logger },
): Remote {
  if (term === undefined) return new Remote(options);
  const remote = new FencedRemote({
    ...options,
    logger,
    name: `gitplane term ${term.number}`,
    assertMayAct: () => assertHeld(term),
  });
  // Nobody waits for a remote that does not answer: it is claimed before the first push at the latest.
  remote.claim().catch((err: unknown) => logger.debug({ err }, 'The remote is not claimed yet'));
  return remote;
}

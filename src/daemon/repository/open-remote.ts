/** Opens a remote repository: fenced by the term for a replica, plain for a single daemon. */
import { FencedRemote, Remote, type RemoteOptions } from '../../git/index.ts';
import { assertHeld, type Term } from '../../replication/index.ts';
import type { Logger } from '../../telemetry/index.ts';

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
  // The start does not wait for a slow remote; the first push claims it at the latest.
  remote.startTerm().catch((err: unknown) => logger.debug({ err }, 'The remote is not fenced yet'));
  return remote;
}

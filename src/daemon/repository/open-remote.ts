/** The way to a repository elsewhere, for a process that is alone and for one of several. */
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
  // Nobody waits for a remote that does not answer: it is claimed before the first push at the latest.
  remote.claim().catch((err: unknown) => logger.debug({ err }, 'The remote is not claimed yet'));
  return remote;
}

/** Fetches of the followed remote: at intervals, on webhooks, and on request. */

import { hookSecret } from '../../bootstrap/index.ts';
import { type RepositoryFollower, startFetching } from '../../controllers/index.ts';
import { RemoteError } from '../../git/index.ts';
import type { HookService } from '../../server/index.ts';
import type { RemoteNews } from '../network/sync-service.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';

export interface RemoteFetching {
  readonly hooks: HookService;
  readonly news: RemoteNews;
  /** Adds a listener for webhooks. */
  readonly onHook: (listener: () => void) => void;
  close(): Promise<void>;
}

/** Undefined for a hosted repository. */
export async function followRemote(
  parts: PlatformContext & { readonly platform: Platform; readonly follower: RepositoryFollower },
): Promise<RemoteFetching | undefined> {
  const { options, data, logger, platform, follower } = parts;
  const { following: source, pending } = platform;
  if (source === undefined || options.remote === undefined) return undefined;
  const { intervalMs, hookSecretFile } = options.remote;
  const secret = await hookSecret({ given: hookSecretFile, own: data.hookSecret });
  const catchUp = async (): Promise<void> => {
    await follower.catchUp();
    // A fetch resolves with the served branch, without waiting for the review branch.
    pending
      ?.sync()
      .catch((err: unknown) => logger.warn({ err }, 'The review branch cannot be updated'));
  };
  const fetching = startFetching({ source, follower: { catchUp }, intervalMs, logger });
  const forget = platform.suspensions.subscribe(({ suspension, is }) => {
    if (suspension.part === 'remote' && is !== 'suspended') fetching.trigger();
  });
  const listeners: (() => void)[] = [];
  const notice = (): void => {
    fetching.trigger();
    for (const listener of listeners) listener();
  };
  return {
    hooks: { secret, notice },
    onHook: (listener) => listeners.push(listener),
    news: {
      refresh: () => fetching.refresh().catch(unlessUntrusted),
      look: () => fetching.trigger(),
    },
    close: async () => {
      forget();
      await fetching.close();
    },
  };
}

/** The remote has answered with commits that are not trusted: the sync report shows them as held. */
function unlessUntrusted(error: unknown): void {
  if (!(error instanceof RemoteError) || error.problem !== 'untrusted') throw error;
}

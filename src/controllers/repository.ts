/**
 * Follows branch moves that did not come from the API: pushes over HTTP and by path. A failure is
 * retried with growing backoff until it succeeds; readers keep the last good state.
 */
import { RetryDelay } from '../concurrency/index.ts';
import { type BareRepository, watchRef } from '../git/index.ts';
import type { Branch, Hold } from '../registry/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface RepositoryFollower {
  /** Catches up now; resolves when readers see the present branch. Never rejects. */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

export interface FollowOptions {
  readonly repository: BareRepository;
  readonly branch: Branch;
  readonly observation: {
    report(check: 'repository', problem: string | undefined): void;
  };
  readonly logger: Logger;
}

const BACKOFF = { firstMs: 200, lastMs: 30_000 };

export async function followRepository(options: FollowOptions): Promise<RepositoryFollower> {
  const { branch, observation, logger } = options;
  let closed = false;
  const delay = new RetryDelay(BACKOFF);
  let retry: NodeJS.Timeout | undefined;
  let reported: Hold | undefined;

  async function catchUp(): Promise<void> {
    clearTimeout(retry);
    if (closed) return;
    try {
      await branch.sync();
      await options.repository.afterExternalMove();
      delay.reset();
      observation.report('repository', undefined);
      reportHold();
    } catch (error) {
      const retryInMs = delay.next();
      logger.error({ err: error, retryInMs }, 'Cannot follow the branch');
      observation.report('repository', 'the branch cannot be read; serving the last good state');
      retry = setTimeout(() => void catchUp(), retryInMs).unref();
    }
  }

  function reportHold(): void {
    const { hold } = branch;
    if (hold === reported) return;
    reported = hold;
    if (hold === undefined) logger.info({ revision: branch.state.revision }, 'Branch released');
    else {
      const { reason, revision, served, message, prunes, remedy } = hold;
      const fields = { reason, revision, served, prunes: prunes.length, why: message, remedy };
      logger.warn(fields, 'Branch held');
    }
  }

  reportHold();
  const known = branch.state.revision;
  const isOwn = (head: string | undefined): boolean => branch.isOwn(head);
  const watcher = await watchRef(options.repository, catchUp, { known, logger, isOwn });
  return {
    catchUp,
    close: async () => {
      closed = true;
      clearTimeout(retry);
      await watcher.close();
    },
  };
}

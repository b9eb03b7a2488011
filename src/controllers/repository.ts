/**
 * Follows branch moves that did not come from the API: pushes over HTTP and by path. A failure is
 * retried with growing backoff until it succeeds; readers keep the last good state.
 */
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

const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 30_000;

export async function followRepository(options: FollowOptions): Promise<RepositoryFollower> {
  const { branch, observation, logger } = options;
  let closed = false;
  let backoff = FIRST_RETRY_MS;
  let retry: NodeJS.Timeout | undefined;
  let reported: Hold | undefined;

  async function catchUp(): Promise<void> {
    clearTimeout(retry);
    if (closed) return;
    try {
      await branch.sync();
      await options.repository.noteForeignWrite();
      backoff = FIRST_RETRY_MS;
      observation.report('repository', undefined);
      reportHold();
    } catch (error) {
      logger.error({ err: error, retryInMs: backoff }, 'Cannot follow the branch');
      observation.report('repository', 'the branch cannot be read; serving the last good state');
      retry = setTimeout(() => void catchUp(), backoff).unref();
      backoff = Math.min(backoff * 2, LAST_RETRY_MS);
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

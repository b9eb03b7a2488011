/** What `/sync` tells and does, put together from the platform and what follows the branch. */
import type { RepositoryFollower } from '../controllers/repository.ts';
import { SyncReport } from '../registry/sync-report.ts';
import type { SyncService } from '../server/sync.ts';
import type { Platform } from './platform.ts';

export function syncService(
  { branch, repository, judge, observation }: Platform,
  follower: RepositoryFollower,
  /** Looks for news where the branch comes from; absent where that is here. */
  refresh?: () => Promise<void>,
): SyncService {
  return {
    report: new SyncReport({ branch, repository, verdicts: judge.verdicts }),
    ...(refresh === undefined ? {} : { refresh }),
    catchUp: () => follower.catchUp(),
    approve: (approval) => branch.approve(approval),
    lastApplied: () => observation.lastApplied(),
    problem: () => observation.health.ready['repository']?.(),
  };
}

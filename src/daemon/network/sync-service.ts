/** Report and actions of `/sync`. */
import type { RepositoryFollower } from '../../controllers/index.ts';
import { type Hold, SyncReport, unsignedHold } from '../../registry/index.ts';
import type { SyncService } from '../../server/index.ts';
import type { Platform } from '../platform.ts';

/** Fetches the branch from its remote. */
export type RemoteNews = Required<Pick<SyncService, 'refresh' | 'look'>>;

export function syncService(
  { branch, repository, judge, observation, following }: Platform,
  follower: RepositoryFollower,
  /** Absent for a hosted repository. */
  news?: RemoteNews,
): SyncService {
  const outside = (): Hold | undefined => {
    const untrusted = following?.untrusted;
    if (untrusted === undefined) return undefined;
    const { to: head, reasons } = untrusted;
    return unsignedHold({ head, served: branch.state.shown, reasons });
  };
  return {
    report: new SyncReport({ branch, repository, verdicts: judge.verdicts, outside }),
    ...news,
    catchUp: () => follower.catchUp(),
    approve: (approval) => branch.approve(approval),
    lastApplied: () => observation.lastApplied(),
    problem: () => observation.health.ready['repository']?.(),
  };
}

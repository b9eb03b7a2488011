/** A followed remote repository: its mirror on disk, and the fetches and pushes. */
import { StartError } from '../../bootstrap/index.ts';
import type { Counter } from '../../concurrency/index.ts';
import {
  type BareRepository,
  Following,
  type Gate,
  initRepository,
  openRepository,
  Reader,
  RemoteError,
} from '../../git/index.ts';
import type { Term } from '../../replication/index.ts';
import type { CommitRange, SignatureJudge } from '../../signatures/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { openRemote } from './open-remote.ts';
import type { RemoteObservation } from './remote-observation.ts';
import type { RemoteSource } from './remote-options.ts';
import type { Signatures } from './signatures.ts';

export interface FollowedRepository {
  readonly repository: BareRepository;
  readonly following: Following;
}

/** Throws StartError when neither the remote nor an earlier mirror is available. */
export async function openFollowed(of: {
  source: RemoteSource;
  gitDir: string;
  branch: string;
  observation: RemoteObservation;
  signatures: Pick<Signatures, 'sign' | 'judge'>;
  logger: Logger;
  /** Undefined: no replica, so pushes need no fencing. */
  term: Term | undefined;
  maxPaths: number;
  /** Counts the objects of the first fetch. */
  counter: Counter;
  /** Reason why an operator has stopped following; undefined: none did. */
  suspended: () => string | undefined;
}): Promise<FollowedRepository> {
  const { source, gitDir, branch, observation, signatures, logger, term, maxPaths, counter } = of;
  const { suspended } = of;
  const { address, access, writeBranch } = source;
  const ref = `refs/heads/${branch}`;
  await initRepository({ gitDir, branch });
  const trackingRef = `refs/gitplane/remote/${branch}`;
  const where = { address, access, gitDir, ref, trackingRef };
  const remote = openRemote(where, { term: writeBranch === undefined ? term : undefined, logger });
  const { sign, judge } = signatures;
  const following = new Following({
    remote,
    gitDir,
    ref,
    logger,
    counter,
    suspended,
    observer: observation.observer,
    ...(judge === undefined
      ? {}
      : { distrust: (range) => judgeIn({ gitDir, maxPaths }, judge, range) }),
  });
  if (address.protocol === 'http' && (access.token ?? access.tokenFile ?? address.password)) {
    logger.warn({ url: address.url }, 'Credentials go to the remote repository without encryption');
  }
  try {
    const problem = await following.start();
    if (problem !== undefined) {
      logger.warn({ url: address.url }, 'Starting without the remote, from its last known state');
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`Cannot follow ${address.url}: ${why}`, { cause: error });
  }
  const gate = writeBranch === undefined ? following.admit.bind(following) : shut(writeBranch);
  const mirror = { gitDir, branch, logger, gate, sign, maxPaths };
  return { repository: await openRepository(mirror), following };
}

/** Refuses to push to the followed branch itself. */
function shut(writeBranch: string): Gate {
  return () => {
    throw new RemoteError('refused', `writes go to the branch ${writeBranch}`);
  };
}

/** Reads the fetched commits with a reader of their own, since they are not on the branch yet. */
async function judgeIn(
  { gitDir, maxPaths }: { readonly gitDir: string; readonly maxPaths: number },
  judge: SignatureJudge,
  range: CommitRange,
): Promise<readonly string[]> {
  const reader = new Reader({ gitDir }, { maxPaths });
  try {
    return await judge.judge(reader, range);
  } finally {
    await reader.close();
  }
}

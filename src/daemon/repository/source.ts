/** The repository with the manifests: hosted here, or the mirror of a remote one. */
import { StartError, seedRepository } from '../../bootstrap/index.ts';
import { Counter } from '../../concurrency/index.ts';
import {
  type BareRepository,
  type Following,
  initRepository,
  openRepository,
  stopFollowing,
} from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { describeSuspension, type Suspensions } from '../../registry/index.ts';
import { otherBranches } from '../observability/empty-platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import { openFollowed } from './followed-repository.ts';
import type { RemoteObservation } from './remote-observation.ts';
import type { Secrets } from './secrets.ts';
import type { Signatures } from './signatures.ts';

export interface Source {
  readonly repository: BareRepository;
  /** Undefined: the repository is hosted here. */
  readonly following: Following | undefined;
  close(): Promise<void>;
}

interface SourceContext extends PlatformContext {
  readonly remote: RemoteObservation | undefined;
  readonly signatures: Signatures;
  readonly suspensions: Suspensions;
}

export async function openSource(context: SourceContext): Promise<Source> {
  const { options, data, logger, remote, signatures, steps, suspensions } = context;
  if (options.remote === undefined || remote === undefined) {
    steps.begin('opening the repository');
    stopFollowing(data.repository);
    const repository = await openHosted(context);
    return { repository, following: undefined, close: () => repository.close() };
  }
  const counter = new Counter();
  steps.begin('fetching the repository', { unit: 'objects of git', counter });
  const { repository, following } = await openFollowed({
    source: options.remote,
    gitDir: data.repository,
    branch: options.branch,
    observation: remote,
    signatures,
    logger,
    term: context.replicated?.term,
    maxPaths: options.maxPaths,
    counter,
    suspended: () => {
      const found = suspensions.find('remote');
      return found && describeSuspension(found);
    },
  });
  const close = async (): Promise<void> => {
    await following.close().finally(() => repository.close());
  };
  return { repository, following, close };
}

async function openHosted(context: SourceContext): Promise<BareRepository> {
  const { options, data, logger, signatures, replicated } = context;
  const where = { gitDir: data.repository, branch: options.branch };
  await initRepository(where);
  const led = replicated?.repository;
  return await openRepository({
    ...where,
    logger,
    sign: signatures.sign,
    maxPaths: options.maxPaths,
    workerThread: true,
    agree: led,
    resolveHead: led?.settle.bind(led),
  });
}

interface FirstCommitContext extends PlatformContext {
  readonly kinds: KindTable;
  readonly secrets: Pick<Secrets, 'reader' | 'sealer'>;
  readonly source: Pick<Source, 'repository' | 'following'>;
}

const NO_BRANCH = 'The platform is empty, and its first commit would make another branch';

/** Fills an empty hosted repository, from `--seed` if it is given. */
export async function makeFirstCommit(context: FirstCommitContext): Promise<void> {
  const { options, clock, kinds, secrets, source, steps } = context;
  const { repository, following } = source;
  if (following !== undefined || (await repository.head()) !== undefined) return;
  const others = await otherBranches(repository.gitDir, options.branch);
  if (others !== undefined && !options.allowEmpty) {
    throw new StartError(
      `${NO_BRANCH}: ${others}. Where a new branch is meant, start with --allow-empty`,
    );
  }
  const { reader, sealer } = secrets;
  steps.begin('making the first commit');
  await seedRepository({
    repository,
    reader,
    sealer,
    kinds,
    folder: options.seed,
    under: options.under,
    time: Math.floor(clock.now() / 1000),
  });
}

/** Where the manifests are: a repository that is hosted here, or the mirror of one elsewhere. */
import { seedRepository } from '../../bootstrap/index.ts';
import type { FileReader } from '../../catalog/index.ts';
import {
  type BareRepository,
  type Following,
  initRepository,
  openRepository,
  stopFollowing,
} from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Sealer } from '../../registry/index.ts';
import type { Opened, PlatformContext } from '../platform-context.ts';
import { openFollowed } from './followed-repository.ts';
import type { RemoteObservation } from './remote-observation.ts';
import type { Signatures } from './signatures.ts';

interface SourceParts extends PlatformContext {
  readonly kinds: KindTable;
  readonly opened: Opened;
  readonly remote: RemoteObservation | undefined;
  readonly signatures: Signatures;
  readonly reader: FileReader;
  readonly sealer: Sealer;
}

/** The hosted repository, or the mirror of one elsewhere. */
export async function openSource(
  parts: SourceParts,
): Promise<{ repository: BareRepository; following: Following | undefined }> {
  const { options, data, logger, opened, remote, signatures, steps } = parts;
  steps.begin('the repository');
  if (options.remote === undefined || remote === undefined) {
    stopFollowing(data.repository);
    return { repository: await openHosted(parts), following: undefined };
  }
  const followed = await openFollowed({
    source: options.remote,
    gitDir: data.repository,
    branch: options.branch,
    observation: remote,
    signatures,
    logger,
    term: parts.replicated?.term,
    maxPaths: options.maxPaths,
  });
  opened.push(followed.repository, followed.following);
  return followed;
}

async function openHosted(parts: SourceParts): Promise<BareRepository> {
  const { options, data, clock, logger, kinds, opened, reader, sealer } = parts;
  const { sign } = parts.signatures;
  const where = { gitDir: data.repository, branch: options.branch };
  await initRepository(where);
  const led = parts.replicated?.repository;
  const repository = await openRepository({
    ...where,
    logger,
    sign,
    maxPaths: options.maxPaths,
    ownThread: true,
    agree: led,
    settle: led?.settle.bind(led),
  });
  opened.push(repository);
  if ((await repository.head()) !== undefined) return repository;
  parts.steps.begin('the first commit');
  await seedRepository({
    repository,
    reader,
    sealer,
    kinds,
    folder: options.seed,
    under: options.under,
    time: Math.floor(clock.now() / 1000),
  });
  return repository;
}

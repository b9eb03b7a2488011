/** The object as a commit left it, for a client that retries a write. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import { runGit } from '../../git/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { Committed } from '../../registry/index.ts';
import type { Platform } from '../platform.ts';

type Parts = Pick<Platform, 'branch' | 'history' | 'repository'>;

/** Throws 404 for a commit that is not on the branch. */
export async function objectAtCommit(
  { branch, history, repository }: Parts,
  of: { readonly kind: Kind; readonly key: ObjectKey; readonly commit: string },
): Promise<Committed> {
  const { kind, key, commit } = of;
  // A write that was interrupted after its commit is not applied yet.
  await branch.sync();
  const { catalog, revision } = branch.state;
  const now = catalog.object(key);
  // The index of the whole history is built only if the object has changed since.
  if (now !== undefined && revision !== undefined) {
    const { birth } = now.identity;
    const last = await lastChange(repository, revision, now.place.path);
    const isNewest = last === commit && branch.state.catalog.object(key) === now;
    if (isNewest) return { object: undefined, isFirst: birth.id === commit, isNewest };
  }
  const past = await history.objectAt(kind, key, await history.find({ revision: commit }));
  const isFirst = past?.source.identity.birth.id === commit;
  return { object: past?.object, isFirst, isNewest: false };
}

async function lastChange(
  repository: Parts['repository'],
  revision: string,
  path: string,
): Promise<string> {
  const args = ['--literal-pathspecs', 'log', '-1', '--format=%H', revision, '--', path];
  return (await runGit(repository, args)).toString().trim();
}

/** Writes of objects that follow another one, beside writes that delete that one. */
import { describeKey, type ObjectKey, StatusError, sameKey } from '../../apimachinery/index.ts';
import type { Catalog, FileEntry } from '../../catalog/index.ts';
import { bondOf, isBindable } from '../../kinds/index.ts';
import type { Store } from '../../state/index.ts';

/**
 * Throws 409 if an object would begin to follow another life than the one that its guard saw: a write
 * before it in the same group can have deleted that one.
 */
export function refuseAnotherSource(
  { catalog, store }: { readonly catalog: Catalog; readonly store: Pick<Store, 'get'> },
  key: ObjectKey,
  entry: FileEntry | undefined,
): void {
  // Manifests are parsed at each access.
  if (!isBindable(key)) return;
  const document = entry?.documents.find((one) => one.key !== undefined && sameKey(one.key, key));
  const bond = document?.manifest && bondOf(key, document.manifest);
  if (bond === undefined || bond.owner.namespace === '') return;
  const { owner } = bond;
  const before = catalog.object(key)?.ownerBinding?.owner;
  if (before !== undefined && sameKey(before, owner)) return;
  const seen = store.get(owner);
  // The right to follow what is not there is the right to every name.
  if (seen === undefined || seen.terminating) return;
  if (catalog.object(owner)?.identity.uid === seen.object.metadata.uid) return;
  const { group, kind, name } = key;
  const message = `Cannot write ${describeKey(key)}: ${describeKey(owner)}, which it follows, was deleted meanwhile; try again`;
  throw new StatusError(409, 'Conflict', message, { group, kind, name });
}

/** The events that turn one state into another, when the real ones are not known. */
import { KeyMap } from '../../apimachinery/index.ts';
import type { JournalEvent } from '../store.ts';
import { ObjectHandle, withResourceVersion } from './object-handle.ts';
import { OwnVersion } from './own-version.ts';

/** Removals first, at the version of the new state; then the rest in order of version. */
export function difference(
  before: Iterable<ObjectHandle>,
  { objects, head }: { readonly objects: readonly ObjectHandle[]; readonly head: number },
): JournalEvent[] {
  const old = new KeyMap<ObjectHandle>();
  for (const stored of before) old.set(stored.key, stored);
  const news: JournalEvent[] = [];
  for (const current of objects) {
    const previous = old.get(current.key);
    const { resourceVersion } = current;
    if (previous !== undefined) old.delete(current.key);
    if (previous?.resourceVersion === resourceVersion) continue;
    const type = previous === undefined ? 'ADDED' : 'MODIFIED';
    news.push({ type, resourceVersion, current, previous });
  }
  news.sort((a, b) => a.resourceVersion - b.resourceVersion);
  const gone = Array.from(old.values(), (previous): JournalEvent => {
    const current = removedAt(previous, head);
    return { type: 'DELETED', resourceVersion: head, current, previous };
  });
  return [...gone, ...news];
}

/** The last state of an object, at the version of its removal. */
export function removedAt(previous: ObjectHandle, version: number): ObjectHandle {
  const object = withResourceVersion(previous.object, version);
  return new ObjectHandle(previous.key, new OwnVersion(object, { hidden: previous.hidden }), 0);
}

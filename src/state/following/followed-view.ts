/** Applies received states and steps to a view. */
import { runAtOnce } from '../../apimachinery/index.ts';
import { difference } from '../objects/difference.ts';
import type { ObjectHandle } from '../objects/object-handle.ts';
import type { View } from '../objects/view.ts';
import { documentRecordKey } from '../records/record.ts';
import type { SavedState } from '../records/saved-state.ts';
import { BatchMismatchError, type ReceivedBatch, type ReceivedDocument } from './received-batch.ts';

/** Replaces the contents of the view. Returns false for an incomplete state, which is not shown. */
export function installState(view: View, { meta, objects, packs, documents }: SavedState): boolean {
  if (meta === undefined || meta.filling !== undefined) return false;
  for (const pack of packs) pack.release();
  const now = { objects, documents, head: meta.head ?? meta.last };
  view.replaceAll(now, difference(view.objects(), now));
  return true;
}

/** Applies a step at once for every reader. Throws UnfittingBatchError. */
export function applyStep(view: View, { events, documents, packed }: ReceivedBatch): void {
  const [first] = events;
  if (first !== undefined && first.resourceVersion <= view.head) {
    throw new BatchMismatchError(`version ${first.resourceVersion} comes twice`);
  }
  if (first !== undefined) view.skip(first.resourceVersion);
  const touched = view.show(runAtOnce(view.step(events)));
  for (const held of packed) moveToPack(view, held);
  for (const note of documents) setDocument(view, note);
  view.announce(touched, events);
}

/** Objects are packed as in the followed store, so that its dead packs can be freed here. */
function moveToPack(view: View, { key, resourceVersion, container, at }: ObjectHandle): void {
  const held = view.get(key);
  if (held?.resourceVersion === resourceVersion) held.move(container, at);
}

function setDocument(view: View, note: ReceivedDocument): void {
  if ('text' in note) {
    view.setDocument(note.name, note.text);
    return;
  }
  const gone = [...view.documents('')].find(([name]) => documentRecordKey(name) === note.record);
  if (gone !== undefined) view.setDocument(gone[0], undefined);
}

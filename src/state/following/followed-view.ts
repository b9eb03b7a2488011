/** Applies received states and steps to a view. */
import { runAtOnce } from '../../apimachinery/index.ts';
import { difference } from '../objects/difference.ts';
import type { HeldObject } from '../objects/held-object.ts';
import type { View } from '../objects/view.ts';
import { noteRecordKey } from '../records/record.ts';
import type { SavedState } from '../records/saved-state.ts';
import { type ReceivedBatch, type ReceivedNote, UnfittingBatchError } from './received-batch.ts';

/** Replaces the contents of the view. Returns false for an incomplete state, which is not shown. */
export function install(view: View, { meta, objects, packs, notes }: SavedState): boolean {
  if (meta === undefined || meta.filling !== undefined) return false;
  for (const pack of packs) pack.release();
  const now = { objects, notes, head: meta.head ?? meta.last };
  view.become(now, difference(view.objects(), now));
  return true;
}

/** Applies a step at once for every reader. Throws UnfittingBatchError. */
export function takeStep(view: View, { events, notes, packed }: ReceivedBatch): void {
  const [first] = events;
  if (first !== undefined && first.resourceVersion <= view.head) {
    throw new UnfittingBatchError(`version ${first.resourceVersion} comes twice`);
  }
  if (first !== undefined) view.skip(first.resourceVersion);
  const touched = view.show(runAtOnce(view.step(events)));
  for (const held of packed) move(view, held);
  for (const note of notes) keep(view, note);
  view.announce(touched, events);
}

/** Objects are packed as in the followed store, so that its dead packs can be freed here. */
function move(view: View, { key, resourceVersion, home, at }: HeldObject): void {
  const held = view.get(key);
  if (held?.resourceVersion === resourceVersion) held.move(home, at);
}

function keep(view: View, note: ReceivedNote): void {
  if ('text' in note) {
    view.keepNote(note.name, note.text);
    return;
  }
  const gone = [...view.notes('')].find(([name]) => noteRecordKey(name) === note.record);
  if (gone !== undefined) view.keepNote(gone[0], undefined);
}

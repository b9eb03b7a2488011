/** A view that is moved on by what was received: whole states, and steps from one to the next. */
import { runAtOnce } from '../../apimachinery/index.ts';
import { difference } from '../objects/difference.ts';
import type { HeldObject } from '../objects/held-object.ts';
import type { View } from '../objects/view.ts';
import { noteRecordKey } from '../records/record.ts';
import type { SavedState } from '../records/saved-state.ts';
import { type ReceivedBatch, type ReceivedNote, UnfittingBatchError } from './received-batch.ts';

/** Takes the place of what is shown. A state that is not whole is not shown: false. */
export function install(view: View, { meta, objects, packs, notes }: SavedState): boolean {
  if (meta === undefined || meta.filling !== undefined) return false;
  for (const pack of packs) pack.release();
  const now = { objects, notes, head: meta.head ?? meta.last };
  view.become(now, difference(view.objects(), now));
  return true;
}

/** All of a step is there at once for every reader. Throws UnfittingBatchError. */
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

/** Objects share the bytes that they share there: so what is dead there is garbage here. */
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

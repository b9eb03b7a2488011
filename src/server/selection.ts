/** Selectors of lists and watches: the objects that match, and the events of a watch with a selector. */
import {
  type FieldSelector,
  type KubeObject,
  type LabelSelector,
  Yielding,
} from '../apimachinery/index.ts';
import type { EventType, JournalEvent, StoredObject } from '../state/index.ts';

export interface Selection {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
}

export function selectsAll({ labels, fields }: Selection): boolean {
  return labels.empty && fields.empty;
}

/** Checks the cheapest part first: the key, then labels, then the whole object. */
export function selects({ labels, fields }: Selection, stored: StoredObject): boolean {
  if (!fields.fitsKey(stored.key)) return false;
  if (!labels.empty && !labels.matches(stored.labels)) return false;
  return fields.isOfKey || fields.matches(stored.object);
}

const BETWEEN_LOOKS = 256;
/** With more distinct labels than this, memoizing costs more than matching. */
const MOST_VERDICTS = 4096;

type Labels = StoredObject['labels'];

/** Memoizes the match of labels. The store has one value for equal labels. */
function judgeOf({ labels }: Selection): (of: Labels) => boolean {
  if (labels.empty) return () => true;
  const verdicts = new Map<Labels, boolean>();
  return (of) => {
    const known = verdicts.get(of);
    if (known !== undefined) return known;
    const verdict = labels.matches(of);
    if (verdicts.size < MOST_VERDICTS) verdicts.set(of, verdict);
    return verdict;
  };
}

/** Returns the selected items in their order. Yields to other work in between. */
export async function selected(
  selection: Selection,
  items: readonly StoredObject[],
): Promise<readonly StoredObject[]> {
  if (selectsAll(selection)) return items;
  const found: StoredObject[] = [];
  const { fields } = selection;
  const fits = judgeOf(selection);
  const pauses = new Yielding();
  let looked = 0;
  for (const stored of items) {
    if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
    if (!fields.fitsKey(stored.key) || !fits(stored.labels)) continue;
    if (fields.isOfKey || fields.matches(stored.object)) found.push(stored);
  }
  return found;
}

/** `/watch/<plural>/<name>`: the request was authorized for the name in the path. */
export function onlyNamed(fields: FieldSelector, name: string): FieldSelector {
  const isIt = ({ metadata }: KubeObject): boolean => metadata.name === name;
  return {
    empty: false,
    name,
    fitsKey: (key) => key.name === name && fields.fitsKey(key),
    isOfKey: fields.isOfKey,
    matches: (object) => isIt(object) && fields.matches(object),
  };
}

/** An event for a watch with a selector. */
export interface SeenEvent {
  readonly type: EventType;
  readonly resourceVersion: number;
  readonly stored: StoredObject;
}

/**
 * An object that begins to match is ADDED, one that stops matching is DELETED with its last
 * matching state and the new version; undefined when the watcher sees nothing.
 */
export function seenEvent(selection: Selection, event: JournalEvent): SeenEvent | undefined {
  const { previous, resourceVersion } = event;
  const current = event.type === 'DELETED' ? lastState(event) : event.current;
  if (selectsAll(selection)) return { type: event.type, resourceVersion, stored: current };
  const before = previous !== undefined && selects(selection, previous);
  if (event.type === 'DELETED') {
    return before || selects(selection, current)
      ? { type: 'DELETED', resourceVersion, stored: current }
      : undefined;
  }
  const now = selects(selection, current);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', resourceVersion, stored: current };
  if (!before || previous === undefined) return undefined;
  return { type: 'DELETED', resourceVersion, stored: atVersion(previous, resourceVersion) };
}

/** Event of each deletion, shared by all watches. */
const lastStates = new WeakMap<JournalEvent, StoredObject>();

/** The last state of an object. It is in git if the state before it was. */
function lastState(event: JournalEvent): StoredObject {
  const { current, previous } = event;
  if (previous === undefined || current.provenance() !== undefined) return current;
  let known = lastStates.get(event);
  if (known === undefined) {
    const { key, resourceVersion, terminating, object, labels, hidden } = current;
    const json = (): Buffer => current.json();
    const provenance = (): ReturnType<StoredObject['provenance']> => previous.provenance();
    known = { key, resourceVersion, terminating, object, labels, hidden, json, provenance };
    lastStates.set(event, known);
  }
  return known;
}

/** The same object with a later version, for a watch whose selector stopped matching. */
function atVersion(stored: StoredObject, resourceVersion: number): StoredObject {
  const object = {
    ...stored.object,
    metadata: { ...stored.object.metadata, resourceVersion: String(resourceVersion) },
  };
  return {
    key: stored.key,
    labels: stored.labels,
    resourceVersion,
    terminating: stored.terminating,
    object,
    hidden: stored.hidden,
    json: () => Buffer.from(JSON.stringify(object)),
    provenance: () => stored.provenance(),
  };
}

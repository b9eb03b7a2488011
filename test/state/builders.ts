/** Objects and changes of two small kinds, for tests of the state store. */
import type { ObjectKey } from '../../src/apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { Change, Collection, JournalEvent, ObjectList } from '../../src/state/store.ts';

export const GROUP = 'management.gitplane.dev';
export const TEAMS: Collection = { group: GROUP, kind: 'Team' };
export const SECRETS: Collection = { group: GROUP, kind: 'SharedSecret' };

export function secretsIn(namespace: string): Collection {
  return { ...SECRETS, namespace };
}

/** `ops` is a Team, `payments/registry` a SharedSecret. */
export function keyOf(path: string): ObjectKey {
  const [first = '', second] = path.split('/');
  return second === undefined
    ? { group: GROUP, kind: 'Team', namespace: '', name: first }
    : { group: GROUP, kind: 'SharedSecret', namespace: first, name: second };
}

export function objectOf(path: string, spec: JsonObject = {}): KubeObject {
  const { group, kind, namespace, name } = keyOf(path);
  const metadata = namespace === '' ? { name } : { name, namespace };
  return { apiVersion: `${group}/v1`, kind, metadata, spec };
}

export function put(path: string, spec: JsonObject = {}, hidden?: JsonObject): Change {
  return { type: 'put', key: keyOf(path), object: objectOf(path, spec), hidden };
}

export function remove(path: string): Change {
  return { type: 'remove', key: keyOf(path) };
}

export function pathOf({ namespace, name }: ObjectKey): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function paths(list: ObjectList): string[] {
  return list.items.map(({ key }) => pathOf(key));
}

/** `ADDED payments/registry`. */
export function describeEvent({ type, current }: JournalEvent): string {
  return `${type} ${pathOf(current.key)}`;
}

/** A clock that stands still until it is set. Starts in the year 2026. */
export class SetClock {
  #milliseconds = Date.UTC(2026, 0, 1);

  now(): number {
    return this.#milliseconds;
  }

  advance(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }
}

/** The next `count` events of a watch; fails the test if it ends before. */
export async function take(
  events: AsyncIterator<JournalEvent>,
  count: number,
): Promise<JournalEvent[]> {
  const taken: JournalEvent[] = [];
  while (taken.length < count) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the watch ended after ${taken.length} of ${count} events`);
    taken.push(value);
  }
  return taken;
}

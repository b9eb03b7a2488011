/**
 * Blame: the commit that set each field of a living object. It follows the life of the object, so that
 * moves and merges keep the commit, and knows no values of fields that the object has lost.
 */
import { createHash } from 'node:crypto';
import { formatPath, isRecord, type KubeObject, Yielding } from '../apimachinery/index.ts';
import type { CatalogObject } from '../catalog/index.ts';
import type { CommitIndex } from './commit-index.ts';
import { withoutHead } from './field-changes.ts';
import type { Moment, Timeline } from './timeline.ts';

export interface BlamedField {
  /** `spec.displayName`, or `spec.users[1]`. */
  readonly path: string;
  /** Absent: the field is older than the commits that were examined. */
  readonly revision?: string;
}

export interface Blame {
  readonly uid: string;
  readonly fields: readonly BlamedField[];
  /** Commits of the blamed fields, with their time in seconds since the epoch. */
  readonly times: ReadonlyMap<string, number>;
  /** Number of older commits that were not examined. */
  readonly unread: number;
  /** True if the object has more fields. */
  readonly truncated: boolean;
}

/** Ordinal of the commit; -1: older than the examined ones. */
type Ordinals = ReadonlyMap<string, Leaf>;

interface Leaf {
  readonly path: string;
  readonly ordinal: number;
}

const OLDER = -1;
const MOST_FIELDS = 2000;

/** Examines the newest `most` commits. Undefined: the object is not in git. */
export async function blameOf(
  index: CommitIndex,
  { moments }: Timeline,
  most: number,
): Promise<Blame | undefined> {
  const all = [...moments.values()];
  const living = all.at(-1)?.after;
  if (living === undefined) return undefined;
  const { uid } = living.identity;
  const isOfLife = (view: CatalogObject | undefined): view is CatalogObject =>
    view?.identity.uid === uid;
  const known = new Map<CatalogObject, Ordinals>();
  const pauses = new Yielding();
  const examined = all.slice(-most);
  const children = childrenOf(examined);
  for (const { ordinal, after, before } of examined) {
    await pauses.take();
    if (isOfLife(after) && !known.has(after)) {
      const parents = before.filter(isOfLife);
      // A parent that was not examined had its fields before.
      const fields = parents.map((one) => known.get(one) ?? olderFields(one));
      known.set(after, inherit(after, { ordinal, parents: fields }));
    }
    for (const parent of before) release(parent);
  }
  // The fields of all versions together would be many times the object.
  function release(parent: CatalogObject | undefined): void {
    if (parent === undefined) return;
    const left = (children.get(parent) ?? 1) - 1;
    children.set(parent, left);
    if (left === 0 && parent !== living) known.delete(parent);
  }
  const leaves = [...(known.get(living) ?? olderFields(living)).values()];
  const blamed = leaves.filter(({ ordinal }) => ordinal !== OLDER);
  const unread = all.slice(0, -examined.length).filter(({ after }) => isOfLife(after)).length;
  return {
    uid,
    fields: leaves.slice(0, MOST_FIELDS).map(({ path, ordinal }) => ({
      path,
      ...(ordinal === OLDER ? {} : { revision: index.id(ordinal) }),
    })),
    times: new Map(blamed.map(({ ordinal }) => [index.id(ordinal), index.time(ordinal)])),
    unread,
    truncated: leaves.length > MOST_FIELDS,
  };
}

/** Number of commits that have a version as their parent's. */
function childrenOf(moments: readonly Moment[]): Map<CatalogObject, number> {
  const children = new Map<CatalogObject, number>();
  for (const parent of moments.flatMap(({ before }) => before)) {
    if (parent !== undefined) children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  return children;
}

function inherit(
  after: CatalogObject,
  of: { readonly ordinal: number; readonly parents: readonly Ordinals[] },
): Ordinals {
  const found = new Map<string, Leaf>();
  for (const [id, path] of leavesOf(after.manifest)) {
    const inherited = of.parents.find((parent) => parent.has(id))?.get(id);
    found.set(id, { path, ordinal: inherited?.ordinal ?? of.ordinal });
  }
  return found;
}

function olderFields({ manifest }: CatalogObject): Ordinals {
  return new Map(leavesOf(manifest).map(([id, path]) => [id, { path, ordinal: OLDER }]));
}

/**
 * Fields with an identity that includes their value, and their paths. An item of a list is one field,
 * whatever its place.
 */
function leavesOf(object: KubeObject | undefined): [id: string, path: string][] {
  const found: [string, string][] = [];
  collect(found, [], withoutHead(object));
  return found;
}

function collect(found: [string, string][], path: readonly string[], value: unknown): void {
  if (found.length > MOST_FIELDS) return;
  if (isRecord(value) && Object.keys(value).length > 0) {
    for (const [key, item] of Object.entries(value)) collect(found, [...path, key], item);
  } else if (Array.isArray(value) && value.length > 0) {
    for (const [i, item] of value.entries()) {
      if (found.length > MOST_FIELDS) return;
      found.push([idOf([path, '[]', item]), formatPath([...path, i])]);
    }
  } else if (path.length > 0) {
    found.push([idOf([path, value]), formatPath(path)]);
  }
}

/** A digest: values may be large. */
function idOf(field: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(field)).digest('base64');
}

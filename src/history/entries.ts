/** History entries: the changes of one object, by commit. */
import { jsonEqual } from '../apimachinery/index.ts';
import type { CatalogObject } from '../catalog/index.ts';
import type { CommitIndex } from './commit-index.ts';
import { changedFields } from './field-changes.ts';
import type { Moment, Timeline } from './timeline.ts';

export type HistoryVerb = 'created' | 'updated' | 'deleted' | 'moved';

export interface HistoryEntry {
  readonly revision: string;
  /** Committer time, in seconds since the epoch. */
  readonly time: number;
  readonly verb: HistoryVerb;
  /** Of the incarnation that the change belongs to: a recreated object has another one. */
  readonly uid: string;
  readonly generation: number;
  /** Present or last file of the object. */
  readonly path: string;
  /** Former path of a moved object. */
  readonly previousPath?: string;
  /** Paths of the changed fields; never a value. */
  readonly fields: readonly string[];
  /** The manifest of this commit is not valid: the last good one stayed in effect. */
  readonly degraded?: true;
}

/** Newest first. */
export function historyEntries(index: CommitIndex, { moments }: Timeline): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  for (const moment of moments.values()) {
    const change = changeOf(moment);
    if (change === undefined) continue;
    const { ordinal } = moment;
    entries.push({ revision: index.id(ordinal), time: index.time(ordinal), ...change });
  }
  return entries.reverse();
}

type Change = Omit<HistoryEntry, 'revision' | 'time'>;

/** Undefined if one of the parents has the same object. */
function changeOf({ before, after }: Moment): Change | undefined {
  const views = before.length === 0 ? [undefined] : before;
  if (views.some((view) => isSame(view, after))) return undefined;
  if (after === undefined) {
    const ended = views.find((view) => view !== undefined);
    return ended && { ...lifeOf(ended), verb: 'deleted', fields: [] };
  }
  const earlier = views.find((view) => view?.identity.uid === after.identity.uid);
  const fields = changedFields(earlier?.manifest, after.manifest);
  const degraded = after.problems.length > 0 ? { degraded: true as const } : {};
  const life = lifeOf(after);
  if (earlier === undefined) return { ...life, verb: 'created', fields, ...degraded };
  const moved = earlier.place.path !== after.place.path;
  const from = moved ? { previousPath: earlier.place.path } : {};
  const verb = moved && fields.length === 0 ? 'moved' : 'updated';
  return { ...life, verb, ...from, fields, ...degraded };
}

function lifeOf({ identity, place }: CatalogObject): Pick<Change, 'uid' | 'generation' | 'path'> {
  return { uid: identity.uid, generation: identity.generation, path: place.path };
}

/** Compares the facts that history shows; the index of a document in its file does not count. */
function isSame(a: CatalogObject | undefined, b: CatalogObject | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.identity.uid === b.identity.uid &&
    a.place.path === b.place.path &&
    a.problems.length === b.problems.length &&
    (a.source === b.source || jsonEqual(a.manifest, b.manifest))
  );
}

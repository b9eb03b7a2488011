/**
 * Ownership of fields after a write (reference: Kubernetes API, section 2.14). An update takes over
 * the fields that it changes. An apply states all fields that its manager wants: it releases fields
 * that it no longer states, and conflicts with other managers unless it is forced.
 */
import type { JsonValue } from '../apimachinery/index.ts';
import { FieldSet } from './field-set.ts';
import { type Manager, type Managers, managerId, type Owned } from './managers.ts';
import { type Shape, UNMANAGED_META } from './shape.ts';
import {
  type Comparison,
  checkApplied,
  compare,
  fieldsOf,
  merge,
  withDeclared,
  withoutFields,
} from './walk.ts';

/** Fields of another manager that an apply would change. */
export interface FieldConflict {
  readonly owner: Owned;
  readonly fields: FieldSet;
}

export class FieldConflictError extends Error {
  override name = 'FieldConflictError';
  readonly conflicts: readonly FieldConflict[];

  constructor(conflicts: readonly FieldConflict[], options?: ErrorOptions) {
    super('Fields of other managers would change', options);
    this.conflicts = conflicts;
  }
}

export interface UpdateOfFields {
  readonly shape: Shape;
  readonly before: JsonValue;
  readonly after: JsonValue;
  readonly managers: Managers;
  readonly manager: Manager;
  readonly time: string;
}

/** Managers and their fields after an update. */
export function updateManagers(update: UpdateOfFields): Map<string, Owned> {
  const { shape, before, after, manager, time } = update;
  const changes = ownChanges(compare(shape, before, after));
  const managers = takeFromOthers(update.managers, changes, undefined);
  const taken = changes.modified.union(changes.added);
  const id = managerId(manager);
  const own = managers.get(id);
  if (taken.isEmpty) {
    const lost = update.managers.get(id)?.fields.intersection(changes.removed);
    // A field that its manager removes changes the time of the entry (spec section 2.2).
    if (own !== undefined && lost?.isEmpty === false) managers.set(id, { ...own, time });
    return managers;
  }
  const had = own?.fields ?? new FieldSet();
  managers.set(id, { manager, fields: had.union(taken), time });
  return managers;
}

export interface ApplyOfFields {
  readonly shape: Shape;
  readonly live: JsonValue;
  readonly applied: JsonValue;
  readonly managers: Managers;
  readonly manager: Manager;
  readonly force: boolean;
  readonly time: string;
}

/** Throws DuplicateItemError, and FieldConflictError unless forced. `managers` carry the new time only where the object changed. */
export function applyManagers(apply: ApplyOfFields): {
  object: JsonValue;
  managers: Map<string, Owned>;
} {
  const { shape, live, applied, manager } = apply;
  checkApplied(shape, applied);
  const id = managerId(manager);
  const last = apply.managers.get(id);
  const managers = new Map(apply.managers);
  const fields = stripped(fieldsOf(shape, applied));
  managers.set(id, { manager, fields, time: last?.time });
  const merged = merge(shape, live, applied);
  const object =
    last === undefined ? merged : prune(shape, merged, { managers, last: last.fields });
  const changes = ownChanges(compare(shape, live, object));
  if (!apply.force) refuseConflicts(managers, changes, id);
  const left = takeFromOthers(managers, changes, id);
  const own = left.get(id);
  const changed = !(changes.added.isEmpty && changes.modified.isEmpty && changes.removed.isEmpty);
  if (own !== undefined && changed) left.set(id, { ...own, time: apply.time });
  return { object, managers: left };
}

function refuseConflicts(managers: Managers, changes: Comparison, except: string): void {
  const taken = changes.modified.union(changes.added);
  const conflicts = [...managers]
    .filter(([id]) => id !== except)
    .map(([, owner]) => ({ owner, fields: owner.fields.intersection(taken) }))
    .filter(({ fields }) => !fields.isEmpty);
  if (conflicts.length > 0) throw new FieldConflictError(conflicts);
}

/** Removes changed fields from all other managers, and removed fields from every manager. */
function takeFromOthers(
  managers: Managers,
  { added, modified, removed }: Comparison,
  except: string | undefined,
): Map<string, Owned> {
  const left = new Map<string, Owned>();
  if (managers.size === 0) return left;
  const taken = modified.union(added).union(removed);
  for (const [id, owned] of managers) {
    const fields = id === except ? owned.fields : owned.fields.difference(taken);
    if (!fields.isEmpty) left.set(id, { ...owned, fields });
  }
  return left;
}

/** Removes fields that the manager applied last and no longer states, unless another manager owns them. */
function prune(
  shape: Shape,
  merged: JsonValue,
  { managers, last }: { managers: Managers; last: FieldSet },
): JsonValue {
  const lastAll = withDeclared(shape, last);
  const pruned = withoutFields(shape, merged, lastAll);
  const all = withDeclared(shape, fieldsOf(shape, merged));
  const sets = [...managers.values()].map(({ fields }) => withDeclared(shape, fields));
  const owned = FieldSet.unionOf(sets);
  const kept = withDeclared(shape, fieldsOf(shape, pruned)).union(owned);
  const withOwned = withoutFields(shape, merged, all.difference(kept));
  // Fields below a removed one that this manager never owned come back.
  const left = withDeclared(shape, fieldsOf(shape, withOwned));
  return withoutFields(shape, merged, all.difference(left).intersection(lastAll));
}

const UNMANAGED = unmanaged();

function unmanaged(): FieldSet {
  const set = new FieldSet();
  for (const name of ['apiVersion', 'kind', 'metadata']) set.insert([`f:${name}`]);
  for (const name of UNMANAGED_META) set.insert(['f:metadata', `f:${name}`]);
  return set;
}

function stripped(set: FieldSet): FieldSet {
  return set.difference(UNMANAGED);
}

function ownChanges({ added, modified, removed }: Comparison): Comparison {
  return { added: stripped(added), modified: stripped(modified), removed: stripped(removed) };
}

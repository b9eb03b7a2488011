/**
 * Parser and formatter of `metadata.managedFields`. Manager, operation, apiVersion and subresource
 * identify an entry.
 */
import type { ManagedFieldsEntry } from '../apimachinery/index.ts';
import { FieldSet } from './field-set.ts';

export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty: the object itself. */
  readonly subresource: string;
}

export interface Owned {
  readonly manager: Manager;
  readonly fields: FieldSet;
  /** RFC 3339, whole seconds; undefined: unknown. */
  readonly time: string | undefined;
}

/** Fields per manager, by `managerId`. */
export type Managers = ReadonlyMap<string, Owned>;

export function managerId({ name, operation, apiVersion, subresource }: Manager): string {
  return JSON.stringify([operation, name, apiVersion, subresource]);
}

/** Undefined if an entry is malformed. */
export function readManagers(entries: unknown): Map<string, Owned> | undefined {
  if (!Array.isArray(entries)) return undefined;
  const managers = new Map<string, Owned>();
  for (const entry of entries) {
    const fields = entry.fieldsType === 'FieldsV1' && FieldSet.fromFieldsV1(entry.fieldsV1);
    const { operation, manager = '', apiVersion = '', subresource = '', time } = entry;
    if (!fields || (operation !== 'Apply' && operation !== 'Update')) return undefined;
    const owner = { name: manager, operation, apiVersion, subresource };
    managers.set(managerId(owner), { manager: owner, fields, time });
  }
  return managers;
}

/** Apply before Update, then by time, name, apiVersion and subresource. */
export function writeManagers(managers: Managers): ManagedFieldsEntry[] {
  return [...managers.values()].sort(compareOwned).map(({ manager, fields, time }) => ({
    manager: manager.name,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields.toFieldsV1(),
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
  }));
}

function compareOwned(a: Owned, b: Owned): number {
  return (
    compareText(a.manager.operation, b.manager.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager.name, b.manager.name) ||
    compareText(a.manager.apiVersion, b.manager.apiVersion) ||
    compareText(a.manager.subresource, b.manager.subresource)
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Limit of managers with updates. The oldest beyond it are merged into one entry. */
const MOST_UPDATERS = 10;
const ANCIENT = 'ancient-changes';

/** Merges the oldest entries of updates, so that controllers with changing names do not accumulate. */
export function capUpdaters(managers: Managers): Map<string, Owned> {
  const capped = new Map(managers);
  const updaters = [...capped.values()]
    .filter(({ manager }) => manager.operation === 'Update')
    .sort(compareOwned);
  const surplus = updaters.length - MOST_UPDATERS;
  if (surplus <= 0) return capped;
  const groups = new Map<string, Owned[]>();
  for (const owned of updaters.slice(0, surplus + 1)) {
    const manager = { ...owned.manager, name: ANCIENT };
    const id = managerId(manager);
    const group = groups.get(id) ?? [];
    group.push({ ...owned, manager });
    groups.set(id, group);
    capped.delete(managerId(owned.manager));
  }
  for (const [id, group] of groups) {
    const last = group.at(-1);
    if (last === undefined) continue;
    const before = capped.get(id);
    const all = before === undefined ? group : [before, ...group];
    capped.set(id, { ...last, fields: FieldSet.unionOf(all.map(({ fields }) => fields)) });
  }
  return capped;
}

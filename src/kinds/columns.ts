/** Printer columns that several kinds share. The generic code puts the name before them. */
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import type { PrinterColumn } from './kind.ts';

/** A text at a path; an empty one prints as absent. */
export function textAt(object: KubeObject, path: readonly (string | number)[]): string | undefined {
  const value = valueAt(object, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The entries of a list at a path that are texts. */
export function textsAt(object: KubeObject, path: readonly (string | number)[]): string[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A cell that is the text at a path, which Kubernetes can be told as well. */
export function textFrom(
  path: readonly string[],
): Required<Pick<PrinterColumn, 'jsonPath' | 'value'>> {
  return { jsonPath: `.${path.join('.')}`, value: (object) => textAt(object, path) };
}

export const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: 'Time since the object was created.',
  jsonPath: '.metadata.creationTimestamp',
  value: (object) => object.metadata.creationTimestamp ?? undefined,
};

/** The column of kinds that Kubernetes shows without an age. */
export const CREATED_AT: PrinterColumn = {
  name: 'Created At',
  type: 'string',
  description: 'Time at which the object was created.',
  value: (object) => object.metadata.creationTimestamp ?? undefined,
};

export const DISPLAY_NAME: PrinterColumn = {
  name: 'Display Name',
  type: 'string',
  description: 'Name shown in the user interface.',
  ...textFrom(['spec', 'displayName']),
};

/** Every kind has it whose manifests are in git: one that is not valid degrades its object. */
export const HEALTH: PrinterColumn = {
  name: 'Health',
  type: 'string',
  description: 'Degraded while the newest manifest in git is not served.',
  priority: 1,
  value: (object) => (isDegraded(object) ? 'Degraded' : 'Healthy'),
};

function isDegraded(object: KubeObject): boolean {
  const conditions = valueAt(object, ['status', 'conditions']);
  const isTrue = (one: unknown): boolean =>
    isRecord(one) && one['type'] === 'Degraded' && one['status'] === 'True';
  return Array.isArray(conditions) && conditions.some(isTrue);
}

export const OWNER: PrinterColumn = {
  name: 'Owner',
  type: 'string',
  description: 'The user or team that owns the object.',
  value: (object) => ownerText(object),
};

function ownerText(object: KubeObject): string | undefined {
  const user = textAt(object, ['spec', 'owner', 'user']);
  const team = textAt(object, ['spec', 'owner', 'team']);
  if (user !== undefined) return `user/${user}`;
  return team === undefined ? undefined : `team/${team}`;
}

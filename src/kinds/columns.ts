/** Printer columns that several kinds share. The generic code puts the name before them. */
import { type KubeObject, valueAt } from '../apimachinery/index.ts';
import type { PrinterColumn } from './kind.ts';
import { healthOf } from './readiness.ts';

/** The text at a path. An empty one counts as absent. */
export function textAt(object: KubeObject, path: readonly (string | number)[]): string | undefined {
  const value = valueAt(object, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The texts in the list at a path. */
export function textsAt(object: KubeObject, path: readonly (string | number)[]): string[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The text at a path as a cell. CustomResourceDefinitions can state it too. */
export function textFrom(
  path: readonly string[],
): Required<Pick<PrinterColumn, 'jsonPath' | 'value'>> {
  return { jsonPath: `.${path.join('.')}`, value: (object) => textAt(object, path) };
}

export function textColumn(
  name: string,
  description: string,
  value: (object: KubeObject) => string | undefined,
): PrinterColumn {
  return { name, type: 'string', description, value };
}

export const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: 'Time since the object was created.',
  jsonPath: '.metadata.creationTimestamp',
  value: (object) => object.metadata.creationTimestamp ?? undefined,
};

/** Column in place of the age, for kinds that Kubernetes shows without one. */
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

/** Column of every kind whose manifests are in git. Those of Kubernetes show it with `-o wide` alone. */
export const HEALTH: PrinterColumn = {
  name: 'Health',
  type: 'string',
  description:
    'Ready; Degraded while the newest manifest in git is not served; OutOfSync while the secret store or the source of a copy differs; NotReady for other problems.',
  value: healthOf,
};

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

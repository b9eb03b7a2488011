/** Rules of data maps that ConfigMaps and Secrets share. */
import {
  type FieldError,
  forbidden,
  isRecord,
  jsonEqual,
  type KubeObject,
} from '../../apimachinery/index.ts';

/** Removes empty maps, as the Go types of Kubernetes do. Mutates `object`. */
export function dropEmptyMaps(object: KubeObject, fields: readonly string[]): void {
  for (const field of fields) {
    if (isRecord(object[field]) && keysOf(object, field).length === 0) delete object[field];
  }
}

export function keysOf(object: KubeObject, field: string): string[] {
  const data = object[field];
  return isRecord(data) ? Object.keys(data) : [];
}

/** Once `immutable` is true, neither the data nor `immutable` can change. */
export function immutableProblems(
  object: KubeObject,
  old: KubeObject | undefined,
  fields: readonly string[],
): FieldError[] {
  if (old?.['immutable'] !== true) return [];
  const words = 'field is immutable when `immutable` is set';
  const isOpen = object['immutable'] === true ? [] : ['immutable'];
  const changed = fields.filter((field) => !jsonEqual(object[field], old[field]));
  return [...isOpen, ...changed].map((field) => forbidden([field], words));
}

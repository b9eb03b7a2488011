/** The words by which secrets are copied from one object to another. */
import type { KubeObject } from '../apimachinery/object.ts';
import type { Kind } from './kind.ts';

/** On a source or a copy: nothing is copied. */
const DISABLE_SYNC = 'gitplane.dev/disable-sync';

export function isCopyingDisabled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[DISABLE_SYNC] === 'true';
}

/** The object without what it copies. */
export function ownPart(kind: Kind, object: KubeObject): KubeObject {
  if (kind.follows?.(object) === undefined || object.spec?.['data'] === undefined) return object;
  const { data: _copy, ...spec } = object.spec;
  const { spec: _all, ...rest } = object;
  return Object.keys(spec).length === 0 ? (rest as KubeObject) : { ...object, spec };
}

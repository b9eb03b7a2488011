/** The words by which secrets are copied from one object to another. */
import { isRecord, type KubeObject, type ObjectKey, valueAt } from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';

/** Label of a project secret: the shared secret that it follows. */
export const SOURCE_NAME = 'gitplane.dev/sharedsecret-name';

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

export const PROJECT_SECRET_KIND = 'ProjectSecret';

/** On a Secret of a cluster: the project secret, of its project, whose data it is to have. */
const PROJECT_SECRET = 'gitplane.dev/project-secret-name';
/** On such a Secret, by the server: where that was found when whoever wrote it was asked for the right. */
export const PROJECT_NAMESPACE = 'gitplane.dev/project-secret-namespace';

/** What a Secret asks to be a copy of, in the namespace of its project. */
export function wantedProjectSecret(
  group: string,
  { metadata }: KubeObject,
  namespace: string | undefined,
): ObjectKey | undefined {
  const name = metadata.labels?.[PROJECT_SECRET];
  if (name === undefined || name === '' || namespace === undefined) return undefined;
  return { group, kind: PROJECT_SECRET_KIND, namespace, name };
}

/** What a Secret was allowed to be a copy of. */
export function grantedProjectSecret(group: string, secret: KubeObject): ObjectKey | undefined {
  const namespace = secret.metadata.annotations?.[PROJECT_NAMESPACE];
  return wantedProjectSecret(group, secret, namespace);
}

/** Notes what a Secret is a copy of; undefined: of nothing. Changes the object. */
export function noteProjectSecret({ metadata }: KubeObject, source: ObjectKey | undefined): void {
  const { [PROJECT_NAMESPACE]: _before, ...annotations } = metadata.annotations ?? {};
  if (source !== undefined) annotations[PROJECT_NAMESPACE] = source.namespace;
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}

/**
 * The data that copies of a project secret have; undefined where they keep what they have, since
 * there is nothing to copy: no such object, or one that has not what it should.
 */
export function dataToCopy(source: KubeObject | undefined): Record<string, unknown> | undefined {
  if (source === undefined || isCopyingDisabled(source)) return undefined;
  const conditions = valueAt(source, ['status', 'conditions']);
  // Of one that is tied to the secret store the condition is about the store: git has its data.
  const isCopy = source.metadata.labels?.[SOURCE_NAME] !== undefined;
  const lacks = (condition: unknown): boolean =>
    isRecord(condition) &&
    ((isCopy && condition['type'] === 'Synced' && condition['status'] === 'False') ||
      condition['reason'] === 'Unreadable');
  if (Array.isArray(conditions) && conditions.some(lacks)) return undefined;
  const data = source.spec?.['data'];
  return isRecord(data) ? data : {};
}

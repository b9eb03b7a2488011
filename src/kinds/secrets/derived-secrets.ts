/** Labels and annotations of derived secrets, which copy their data from another object. */
import {
  isRecord,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  valueAt,
} from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';

/** Label of a project secret: name of the shared secret that it follows. */
export const SOURCE_NAME = 'gitplane.dev/sharedsecret-name';
/** Label of a project secret: namespace of that shared secret. */
export const SOURCE_NAMESPACE = 'gitplane.dev/sharedsecret-namespace';

export const SHARED_SECRET_KIND = 'SharedSecret';

/** The shared secret that the labels of a project secret name. */
export function sharedSecretOf(group: string, { metadata }: KubeObject): ObjectKey | undefined {
  const { [SOURCE_NAME]: name, [SOURCE_NAMESPACE]: namespace } = metadata.labels ?? {};
  if (name === undefined || namespace === undefined) return undefined;
  return { group, kind: SHARED_SECRET_KIND, namespace, name };
}

/** Annotation of a source or a derived secret that stops the copying. */
const DISABLE_SYNC = 'gitplane.dev/disable-sync';

export function isCopyingDisabled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[DISABLE_SYNC] === 'true';
}

/** The object without the data that it copies. */
export function ownPart(kind: Kind, object: KubeObject): KubeObject {
  if (kind.follows?.(object) === undefined || object.spec?.['data'] === undefined) return object;
  const { data: _copy, ...spec } = object.spec;
  const { spec: _all, ...rest } = object;
  return Object.keys(spec).length === 0 ? rest : { ...object, spec };
}

export const PROJECT_SECRET_KIND = 'ProjectSecret';

/** Label of a Secret of a cluster: name of the project secret that it copies. */
const PROJECT_SECRET = 'gitplane.dev/project-secret-name';
/** Annotation of such a Secret, which the server sets: namespace in which its writer was authorized. */
export const PROJECT_NAMESPACE = 'gitplane.dev/project-secret-namespace';

/** Annotation of such a Secret, which the server sets: uid of the project secret that it copies. */
export const PROJECT_SECRET_UID = 'gitplane.dev/project-secret-uid';

/** The project secret that a Secret asks to copy, in the namespace of its project. */
export function wantedProjectSecret(
  group: string,
  { metadata }: KubeObject,
  namespace: string | undefined,
): ObjectKey | undefined {
  const name = metadata.labels?.[PROJECT_SECRET];
  if (name === undefined || name === '' || namespace === undefined) return undefined;
  return { group, kind: PROJECT_SECRET_KIND, namespace, name };
}

/** The project secret that the writer of a Secret was allowed to copy. */
export function grantedProjectSecret(group: string, secret: KubeObject): ObjectKey | undefined {
  const namespace = secret.metadata.annotations?.[PROJECT_NAMESPACE];
  return wantedProjectSecret(group, secret, namespace);
}

/** Sets the annotations for the source of a Secret, or removes them. Mutates the object. */
export function annotateProjectSecret(
  { metadata }: KubeObject,
  source: ObjectKey | undefined,
  uid: string | undefined,
): void {
  const {
    [PROJECT_NAMESPACE]: _namespace,
    [PROJECT_SECRET_UID]: _uid,
    ...annotations
  } = metadata.annotations ?? {};
  if (source !== undefined) annotations[PROJECT_NAMESPACE] = source.namespace;
  if (source !== undefined && uid !== undefined) annotations[PROJECT_SECRET_UID] = uid;
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}

/**
 * The data for secrets derived from a project secret. Undefined if there is none to copy (the source
 * is missing, or lacks its own data): then they stay unchanged.
 */
export function dataToCopy(source: KubeObject | undefined): JsonObject | undefined {
  if (source === undefined || isCopyingDisabled(source)) return undefined;
  const conditions = valueAt(source, ['status', 'conditions']);
  // In a source with a store link, `Synced` is about the store; its data is in git.
  const isCopy = source.metadata.labels?.[SOURCE_NAME] !== undefined;
  const lacks = (condition: unknown): boolean =>
    isRecord(condition) &&
    ((isCopy && condition['type'] === 'Synced' && condition['status'] === 'False') ||
      condition['reason'] === 'Unreadable');
  if (Array.isArray(conditions) && conditions.some(lacks)) return undefined;
  const data = source.spec?.['data'];
  return isRecord(data) ? data : {};
}

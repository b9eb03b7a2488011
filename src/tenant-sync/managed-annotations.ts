/** What the sync writes on its objects, by which it knows them again and others can tell. */
import type { KubeObject } from '../apimachinery/index.ts';

const PREFIX = 'gitplane.dev/';

export const MARKS = {
  managedBy: `${PREFIX}managed-by`,
  namespace: `${PREFIX}namespace`,
  objectName: `${PREFIX}object-name`,
  objectNamespace: `${PREFIX}object-namespace`,
  objectUid: `${PREFIX}object-uid`,
  objectKind: `${PREFIX}object-kind`,
  hostName: `${PREFIX}object-host-name`,
  hostNamespace: `${PREFIX}object-host-namespace`,
  managedAnnotations: `${PREFIX}managed-annotations`,
  /** Hashes of the values that may flow back, as they were written: see flow-back.ts. */
  syncedValues: `${PREFIX}synced-values`,
} as const;

/** Leader election writes it all the time, and it means nothing elsewhere. */
export const LEADER = 'control-plane.alpha.kubernetes.io/leader';

export interface SourceName {
  readonly namespace: string;
  readonly name: string;
}

/** The tenant object that an object of a target says it is made from; undefined: not of this tenant. */
export function sourceOf(object: KubeObject, tenant: string): SourceName | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  const name = annotations[MARKS.objectName];
  const namespace = annotations[MARKS.objectNamespace];
  if (labels[MARKS.managedBy] !== tenant || !name || !namespace) return undefined;
  return { namespace, name };
}

/**
 * Whether the sync wrote the object where it is. Copies carry the marks of what they were copied
 * from, and are not ours.
 */
export function isWhereItWasPut({ metadata }: KubeObject): boolean {
  const { annotations = {}, name, namespace } = metadata;
  return annotations[MARKS.hostName] === name && annotations[MARKS.hostNamespace] === namespace;
}

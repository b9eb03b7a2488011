/** Labels and annotations by which the sync recognises its objects. */
import type { KubeObject } from '../apimachinery/index.ts';

const PREFIX = 'gitplane.dev/';

export const MANAGED_ANNOTATIONS = {
  managedBy: `${PREFIX}managed-by`,
  namespace: `${PREFIX}namespace`,
  objectName: `${PREFIX}object-name`,
  objectNamespace: `${PREFIX}object-namespace`,
  objectUid: `${PREFIX}object-uid`,
  objectKind: `${PREFIX}object-kind`,
  hostName: `${PREFIX}object-host-name`,
  hostNamespace: `${PREFIX}object-host-namespace`,
  managedAnnotations: `${PREFIX}managed-annotations`,
  /** Hashes of the values that may flow back, at the time of writing: see reverse-sync.ts. */
  syncedValues: `${PREFIX}synced-values`,
} as const;

/** Leader election updates it constantly, and it has no meaning on another cluster. */
export const LEADER = 'control-plane.alpha.kubernetes.io/leader';

export interface SourceName {
  readonly namespace: string;
  readonly name: string;
}

/** The source object that a target names; undefined: not of this tenant. */
export function sourceOf(object: KubeObject, tenant: string): SourceName | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  const name = annotations[MANAGED_ANNOTATIONS.objectName];
  const namespace = annotations[MANAGED_ANNOTATIONS.objectNamespace];
  if (labels[MANAGED_ANNOTATIONS.managedBy] !== tenant || !name || !namespace) return undefined;
  return { namespace, name };
}

/**
 * True if the sync wrote the object under this name. Copies carry the annotations of their
 * original, and do not belong to the sync.
 */
export function isAtOwnName({ metadata }: KubeObject): boolean {
  const { annotations = {}, name, namespace } = metadata;
  return (
    annotations[MANAGED_ANNOTATIONS.hostName] === name &&
    annotations[MANAGED_ANNOTATIONS.hostNamespace] === namespace
  );
}

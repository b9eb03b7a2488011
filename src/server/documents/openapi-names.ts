/** Names of models in the documents, and the kinds that they stand for. */
import type { JsonObject } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** `dev.gitplane.management.v1.Team`, as the apiserver names the models of custom resources. */
export function modelName({ group, version, kind }: GroupVersionKind): string {
  const named = group === '' ? 'core.api.k8s.io' : group;
  return `${named.split('.').reverse().join('.')}.${version}.${kind}`;
}

export function refTo(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export function gvkOf({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind };
}

export function listOf(kind: Kind): GroupVersionKind {
  return { group: kind.group, version: kind.version, kind: `${kind.kind}List` };
}

/** A kind of a subresource in the group of the kind that has it. */
export function subresourceKind(
  { group, version }: Pick<GroupVersionKind, 'group' | 'version'>,
  kind: string,
): GroupVersionKind {
  return { group, version, kind };
}

/** The identity of an object: (kind, namespace, name). A path is never part of it (invariant 7). */
export interface ObjectKey {
  /** Group of the kind, as in `management.gitplane.dev`. */
  readonly group: string;
  readonly kind: string;
  /** Empty for kinds that have no namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** The identity as text. No part can hold `/`, so it is unambiguous. */
export function keyString(key: ObjectKey): string {
  return `${key.group}/${key.kind}/${key.namespace}/${key.name}`;
}

/** Inverse of `keyString`. */
export function parseKey(text: string): ObjectKey {
  const [group = '', kind = '', namespace = '', name = ''] = text.split('/');
  return { group, kind, namespace, name };
}

/** The identity for display: `Team "ops"` or `SharedSecret "payments/registry"`. */
export function describeKey(key: ObjectKey): string {
  return `${key.kind} "${key.namespace === '' ? '' : `${key.namespace}/`}${key.name}"`;
}

export function sameKey(a: ObjectKey, b: ObjectKey): boolean {
  return (
    a.name === b.name && a.namespace === b.namespace && a.kind === b.kind && a.group === b.group
  );
}

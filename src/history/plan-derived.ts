/** Derived objects that a planned change makes, changes and removes: roles, bindings and copies of secrets. */

import { type KubeObject, keyString, type ObjectKey } from '../apimachinery/index.ts';
import { apiVersionOf, type Kind, type KindTable, RBAC_GROUP } from '../kinds/index.ts';
import { type DerivedSecretChange, roleChanges } from '../registry/index.ts';

export interface DerivedChange {
  readonly verb: 'create' | 'update' | 'delete';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Of a copied secret: the message of its condition after the change. */
  readonly message?: string;
}

export interface DerivedChanges {
  /** Number of changed objects; `items` has the first of these. */
  readonly count: number;
  readonly items: readonly DerivedChange[];
}

const MOST_LISTED = 200;

/** Derived secrets by the key of their source. */
export type SecretsBySource = ReadonlyMap<string, readonly DerivedSecretChange[]>;

export function bySource(derived: readonly DerivedSecretChange[]): SecretsBySource {
  const found = new Map<string, DerivedSecretChange[]>();
  for (const one of derived) {
    const id = keyString(one.source);
    const known = found.get(id);
    if (known === undefined) found.set(id, [one]);
    else known.push(one);
  }
  return found;
}

/** Undefined: none. */
export function derivedChanges(
  kinds: KindTable,
  of: {
    readonly kind: Kind;
    readonly key: ObjectKey;
    readonly before: KubeObject | undefined;
    readonly after: KubeObject | undefined;
    readonly secrets: SecretsBySource;
  },
): DerivedChanges | undefined {
  const { kind, key, before, after } = of;
  const roles = roleChanges(kind, before, after).map(
    (role): DerivedChange => ({
      verb: role.verb,
      apiVersion: `${RBAC_GROUP}/v1`,
      ...namesIn(role.key),
    }),
  );
  const copies = (of.secrets.get(keyString(key)) ?? []).map((copy): DerivedChange => {
    const found = kinds.kinds.find(
      ({ group, kind: name }) => group === copy.key.group && name === copy.key.kind,
    );
    const { message } = copy;
    return {
      verb: 'update',
      apiVersion: found === undefined ? copy.key.group : apiVersionOf(found),
      ...namesIn(copy.key),
      ...(message === undefined ? {} : { message }),
    };
  });
  const items = [...roles, ...copies];
  if (items.length === 0) return undefined;
  return { count: items.length, items: items.slice(0, MOST_LISTED) };
}

function namesIn({ kind, namespace, name }: ObjectKey) {
  return { kind, ...(namespace === '' ? {} : { namespace }), name };
}

/**
 * Roles and bindings that follow from the owners and access rules of objects. They live in the
 * state store only, change in the same step as the object they belong to, and go with it: no
 * request ever sees an object without its rights or rights without their object.
 */
import { v5 as uuidV5 } from 'uuid';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import { jsonEqual, type KubeObject } from '../apimachinery/object.ts';
import { type AccessGrant, accessGrants, GRANT_PREFIX } from '../kinds/access-grants.ts';
import { apiVersionOf, type Kind, RBAC_GROUP } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Change, Store, StoredObject } from '../state/store.ts';

type Derived = Extract<Change, { type: 'put' }>;

interface Parts {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list'>;
}

/** Namespace of the uids of derived objects: a function of their owner's uid and their own key. */
const UID_NAMESPACE = uuidV5('https://gitplane.dev/derived/v1', uuidV5.URL);

const RBAC_KINDS = {
  Namespaced: { role: 'Role', binding: 'RoleBinding' },
  Cluster: { role: 'ClusterRole', binding: 'ClusterRoleBinding' },
} as const;

export function isDerivedAccess({ group, name }: Pick<ObjectKey, 'group' | 'name'>): boolean {
  return group === RBAC_GROUP && name.startsWith(GRANT_PREFIX);
}

/** The changes, each followed by those of the roles and bindings that follow from its object. */
export function withDerivedAccess(parts: Parts, changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>();
  for (const change of changes) last.set(keyString(change.key), change);
  const derived = [...last.values()].flatMap((change) => derivedChanges(parts, change));
  return derived.length === 0 ? [...changes] : [...changes, ...derived];
}

/** What the store holds of an earlier version's making and no object has any more. */
export function leftoverAccess({ kinds, store }: Parts, changes: readonly Change[]): Change[] {
  const after = new Map<string, KubeObject | undefined>();
  for (const change of changes) {
    after.set(keyString(change.key), change.type === 'put' ? change.object : undefined);
  }
  const ownerOf = ({ object, key }: StoredObject): KubeObject | undefined => {
    const [reference] = object.metadata.ownerReferences ?? [];
    const kind = reference && kinds.byKind(reference.apiVersion, reference.kind);
    if (reference === undefined || kind === undefined) return undefined;
    const { namespace } = key;
    const owner = { group: kind.group, kind: kind.kind, namespace, name: reference.name };
    const id = keyString(owner);
    return after.has(id) ? after.get(id) : store.get(owner)?.object;
  };
  return derivedIn(store)
    .filter((stored) => {
      const owner = ownerOf(stored);
      const kind = owner && kinds.byKind(owner.apiVersion, owner.kind);
      if (owner === undefined || kind === undefined) return true;
      return !derive(kind, owner).some(({ key }) => keyString(key) === keyString(stored.key));
    })
    .map(({ key }) => ({ type: 'remove', key }));
}

function derivedIn(store: Pick<Store, 'list'>): StoredObject[] {
  return Object.values(RBAC_KINDS)
    .flatMap(({ role, binding }) => [role, binding])
    .flatMap((kind) => store.list({ group: RBAC_GROUP, kind }).items)
    .filter(({ key }) => isDerivedAccess(key));
}

function derivedChanges({ kinds, store }: Parts, change: Change): Change[] {
  const before = store.get(change.key)?.object;
  const after = change.type === 'put' ? change.object : undefined;
  const sample = after ?? before;
  const kind = sample && kinds.byKind(sample.apiVersion, sample.kind);
  if (kind?.hasAccessRules !== true) return [];
  const old = before === undefined ? [] : derive(kind, before);
  const wanted = after === undefined ? [] : derive(kind, after);
  const kept = new Set(wanted.map(({ key }) => keyString(key)));
  const known = new Map(old.map((put) => [keyString(put.key), put.object]));
  return [
    ...old
      .filter(({ key }) => !kept.has(keyString(key)))
      .map(({ key }): Change => ({ type: 'remove', key })),
    ...wanted.filter(
      ({ key, object }) =>
        !jsonEqual(known.get(keyString(key)), object) || store.get(key) === undefined,
    ),
  ];
}

function derive(kind: Kind, owner: KubeObject): Derived[] {
  return accessGrants(kind, owner).flatMap((grant) => roleAndBinding(kind, owner, grant));
}

function roleAndBinding(kind: Kind, owner: KubeObject, grant: AccessGrant): Derived[] {
  const names = RBAC_KINDS[kind.scope];
  const { rule, subjects } = grant;
  const mutable = { apiGroups: [...rule.apiGroups], resources: [...rule.resources] };
  const rules = [{ ...mutable, resourceNames: [...rule.resourceNames], verbs: [...rule.verbs] }];
  const roleRef = { apiGroup: RBAC_GROUP, kind: names.role, name: grant.name };
  const shape = { kind, owner, grant };
  return [
    put(shape, names.role, { rules }),
    put(shape, names.binding, { roleRef, subjects: subjects.map((subject) => ({ ...subject })) }),
  ];
}

/** Everything in it follows from the owner, so that a rebuild gives the same object. */
function put(
  { kind, owner, grant }: { kind: Kind; owner: KubeObject; grant: AccessGrant },
  derivedKind: string,
  fields: Record<string, unknown>,
): Derived {
  const { name: ownerName = '', namespace = '', uid = '', creationTimestamp } = owner.metadata;
  const key = { group: RBAC_GROUP, kind: derivedKind, namespace, name: grant.name };
  const metadata = {
    name: grant.name,
    ...(namespace === '' ? {} : { namespace }),
    uid: uuidV5(`${uid}/${keyString(key)}`, UID_NAMESPACE),
    generation: 1,
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    labels: { 'app.kubernetes.io/managed-by': 'gitplane' },
    annotations: { 'gitplane.dev/access-rule': grant.title },
    ownerReferences: [
      { apiVersion: apiVersionOf(kind), kind: kind.kind, name: ownerName, uid, controller: true },
    ],
  };
  const apiVersion = `${RBAC_GROUP}/v1`;
  const object = { apiVersion, kind: derivedKind, metadata, ...fields } as unknown as KubeObject;
  return { type: 'put', key, object };
}

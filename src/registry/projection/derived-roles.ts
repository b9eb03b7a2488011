/**
 * Roles and bindings that follow from the owners and access rules of objects. They are stored
 * nowhere: the authorizer (`auth/authorizer.ts`) reads the grants from the object itself, and
 * readers get RBAC objects built on demand. So they cannot disagree with their object, and a
 * platform of many objects pays nothing for them.
 */
import { v5 as uuidV5 } from 'uuid';
import { type KubeObject, keyString, nameUuids, type ObjectKey } from '../../apimachinery/index.ts';
import {
  type AccessGrant,
  accessGrants,
  apiVersionOf,
  GRANT_PREFIX,
  grantName,
  type Kind,
  type KindTable,
  RBAC_GROUP,
} from '../../kinds/index.ts';
import {
  type Collection,
  type JournalEvent,
  ObjectVersion,
  type StoredObject,
} from '../../state/index.ts';

/** RBAC kinds that show the grants of namespaced objects, and those for the others. */
const SHOWN_AS: Readonly<Record<string, { scope: Kind['scope']; isBinding: boolean }>> = {
  Role: { scope: 'Namespaced', isBinding: false },
  RoleBinding: { scope: 'Namespaced', isBinding: true },
  ClusterRole: { scope: 'Cluster', isBinding: false },
  ClusterRoleBinding: { scope: 'Cluster', isBinding: true },
};

/** Namespace of the uids of these objects: a function of their owner's uid and their own key. */
const derivedUid = nameUuids(uuidV5('https://gitplane.dev/derived/v1', uuidV5.URL));

export function isAccessRole({ group, name }: Pick<ObjectKey, 'group' | 'name'>): boolean {
  return group === RBAC_GROUP && name.startsWith(GRANT_PREFIX);
}

/** Kinds whose objects appear in a collection; none for most collections. */
export function ownerKinds(kinds: KindTable, { group, kind }: Collection): Kind[] {
  const shown = group === RBAC_GROUP ? SHOWN_AS[kind] : undefined;
  if (shown === undefined) return [];
  return kinds.kinds.filter((one) => one.hasAccessRules && one.scope === shown.scope);
}

/** Key of the object that a role or binding is derived from, parsed from its name. */
export function sourceOfRole(kinds: KindTable, key: ObjectKey): ObjectKey | undefined {
  if (!isAccessRole(key)) return undefined;
  const [singular, name] = key.name.slice(GRANT_PREFIX.length).split(':');
  const kind = ownerKinds(kinds, key).find((one) => one.singular === singular);
  if (kind === undefined || name === undefined) return undefined;
  return { group: kind.group, kind: kind.kind, namespace: key.namespace, name };
}

/**
 * RBAC objects of `rbacKind` for one owner, by name. The last one has the owner's resourceVersion,
 * the others the one before. A watch that ends between two of them and resumes from the last one
 * gets all of them again and misses none.
 */
export function shownOf(kind: Kind, rbacKind: string, owner: StoredObject): ObjectVersion[] {
  const grants = accessGrants(kind, owner.object)
    .map((grant) => ({ grant, name: grantName(kind, owner.object.metadata.name ?? '', grant) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return grants.map(({ grant, name }, index) => {
    const version = owner.resourceVersion - (index === grants.length - 1 ? 0 : 1);
    const shown = { kind, rbacKind, owner: owner.object, grant, name };
    const { key, object } = SHOWN_AS[rbacKind]?.isBinding
      ? binding(shown)
      : build(shown, { rules: [grant.rule] });
    object.metadata.resourceVersion = String(version);
    return new ObjectVersion(key, object, undefined);
  });
}

/** Roles and bindings that come and go with a change of their owner, sorted by name. */
export function roleChanges(
  kind: Kind,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): { readonly verb: 'create' | 'delete'; readonly key: ObjectKey }[] {
  const [had, has] = [before, after].map((owner) => new Set(roleNames(kind, owner)));
  const namespace = (after ?? before)?.metadata.namespace ?? '';
  const kinds = Object.keys(SHOWN_AS).filter((name) => SHOWN_AS[name]?.scope === kind.scope);
  return [...new Set([...(had ?? []), ...(has ?? [])])].sort().flatMap((name) => {
    if (had?.has(name) === has?.has(name)) return [];
    const verb = has?.has(name) === true ? 'create' : 'delete';
    return kinds.map((one) => ({
      verb,
      key: { group: RBAC_GROUP, kind: one, namespace, name },
    }));
  });
}

function roleNames(kind: Kind, owner: KubeObject | undefined): string[] {
  if (owner === undefined) return [];
  return accessGrants(kind, owner).map((grant) =>
    grantName(kind, owner.metadata.name ?? '', grant),
  );
}

/** Events of a collection for one change of an owner: removals first. */
export function shownEvents(kind: Kind, rbacKind: string, event: JournalEvent): JournalEvent[] {
  const { previous, current, type, resourceVersion } = event;
  const before = previous === undefined ? [] : shownOf(kind, rbacKind, previous);
  const after = type === 'DELETED' ? [] : shownOf(kind, rbacKind, current);
  const known = new Map(before.map((one) => [one.key.name, one]));
  const stays = new Set(after.map(({ key }) => key.name));
  const gone = before.filter(({ key }) => !stays.has(key.name));
  return [
    ...gone.map((one, index): JournalEvent => {
      const isLast = after.length === 0 && index === gone.length - 1;
      const version = resourceVersion - (isLast ? 0 : 1);
      const metadata = { ...one.object.metadata, resourceVersion: String(version) };
      const last = new ObjectVersion(one.key, { ...one.object, metadata }, undefined);
      return { type: 'DELETED', resourceVersion: version, current: last, previous: one };
    }),
    ...after.map((one): JournalEvent => {
      const old = known.get(one.key.name);
      const kindOfChange = old === undefined ? 'ADDED' : 'MODIFIED';
      return {
        type: kindOfChange,
        resourceVersion: one.resourceVersion,
        current: one,
        previous: old,
      };
    }),
  ];
}

interface Shown {
  readonly kind: Kind;
  readonly rbacKind: string;
  readonly owner: KubeObject;
  readonly grant: AccessGrant;
  /** Name of the role and of the binding. */
  readonly name: string;
}

interface Built {
  readonly key: ObjectKey;
  readonly object: KubeObject;
}

function binding(shown: Shown): Built {
  const { grant, kind, name } = shown;
  const kindOfRole = kind.scope === 'Namespaced' ? 'Role' : 'ClusterRole';
  const roleRef = { apiGroup: RBAC_GROUP, kind: kindOfRole, name };
  return build(shown, { roleRef, subjects: grant.subjects });
}

/** Every field follows from the owner, so that a rebuild gives the same object. */
function build(
  { kind, rbacKind, owner, grant, name }: Shown,
  fields: Record<string, unknown>,
): Built {
  const { name: ownerName = '', namespace = '', uid = '', creationTimestamp } = owner.metadata;
  const key = { group: RBAC_GROUP, kind: rbacKind, namespace, name };
  const metadata = {
    name,
    ...(namespace === '' ? {} : { namespace }),
    uid: derivedUid(`${uid}/${keyString(key)}`),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    labels: { 'app.kubernetes.io/managed-by': 'gitplane' },
    annotations: { 'gitplane.dev/access-rule': grant.title },
    ownerReferences: [
      { apiVersion: apiVersionOf(kind), kind: kind.kind, name: ownerName, uid, controller: true },
    ],
  };
  const apiVersion = `${RBAC_GROUP}/v1`;
  const object = { apiVersion, kind: rbacKind, metadata, ...fields };
  return { key, object };
}

/**
 * The first administrator: a user, bound to all rights by RBAC objects like any other, and its
 * access key. They are written to git through the registry, once; later they are the platform
 * team's to change. Deleting the token file makes the next start issue a new key.
 */

import { type JsonObject, jsonEqual } from '../apimachinery/object.ts';
import { ADMIN_KEY_TYPE, readAdminToken } from '../auth/admin-token.ts';
import { createFile } from '../auth/secret-file.ts';
import { accessKeyPrefix, mintAccessKey } from '../kinds/access-key-secret.ts';
import { type Kind, RBAC_GROUP } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import { ownChange, ownCreate, ownOptions } from '../registry/own-writes.ts';
import type { ObjectRegistry } from '../registry/registry.ts';
import type { Store, StoredObject } from '../state/store.ts';

const NAME = 'admin';
const ROLE = 'cluster-admin';

const OPTIONS = ownOptions({ reason: 'First start: somebody has to be able to sign in.' });

interface Parts {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: ObjectRegistry;
}

/**
 * The first access key, from its file; made, with the objects that give it its rights, when there
 * is no file. The file is written last: a crash before it leaves no key that nobody has, and an
 * administrator who removed the key on purpose does not get it back.
 */
export async function administratorToken(parts: Parts, file: string): Promise<string> {
  const existing = await readAdminToken(file);
  if (existing !== undefined) return existing;
  const token = mintAccessKey(accessKeyPrefix(ADMIN_KEY_TYPE));
  await ensureAdministrator(parts, token);
  await createFile(file, `${token}\n`);
  return token;
}

async function ensureAdministrator(parts: Parts, key: string): Promise<void> {
  const everything = [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ];
  const roles = { plural: 'clusterroles', group: RBAC_GROUP };
  const role = await ensure(parts, roles, { name: ROLE, fields: { rules: everything } });
  const bindings = { plural: 'clusterrolebindings', group: RBAC_GROUP };
  const fields = {
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: RBAC_GROUP, kind: 'User', name: NAME }],
  };
  await ensure(parts, bindings, { name: `${ROLE}-${NAME}`, fields });
  const [group = ''] = parts.kinds.groups;
  await ensureUser(parts, { plural: 'users', group });
  await giveKey(parts, { plural: 'ownedaccesskeys', group }, key);
}

interface Resource {
  readonly plural: string;
  readonly group: string;
}

/** Returns the name of an object that says this: a new one where somebody made the first another. */
async function ensure(
  parts: Parts,
  resource: Resource,
  { name, fields }: { name: string; fields: JsonObject },
): Promise<string> {
  const found = find(parts, resource, name)?.object;
  const same = Object.entries(fields).every(([field, value]) => jsonEqual(found?.[field], value));
  if (found !== undefined && same) return name;
  return await create(
    parts,
    resource,
    found === undefined ? { name } : { generateName: `${name}-` },
    fields,
  );
}

async function create(
  parts: Parts,
  resource: Resource,
  metadata: JsonObject,
  fields: JsonObject,
): Promise<string> {
  const kind = kindOf(parts, resource);
  const body = { metadata, ...fields };
  const { object } = await parts.registry.create(ownCreate(kind, body, OPTIONS));
  return object.metadata.name ?? '';
}

function find(parts: Parts, resource: Resource, name: string): StoredObject | undefined {
  const { group, kind } = kindOf(parts, resource);
  return parts.store.get({ group, kind, namespace: '', name });
}

/** Whoever removes the token file has the data directory, and so the last word on who gets in. */
async function ensureUser(parts: Parts, users: Resource): Promise<void> {
  const found = find(parts, users, NAME)?.object;
  const spec = {
    displayName: 'Administrator',
    description: 'The first user, made on the first start',
  };
  if (found === undefined) await create(parts, users, { name: NAME }, { spec });
  if (found?.spec?.['disabled'] !== true) return;
  const target = { kind: kindOf(parts, users), namespace: '', name: NAME };
  const enabled = ownChange(target, AGAIN, (current) => ({
    ...structuredClone(current),
    spec: { ...current.spec, disabled: false },
  }));
  await parts.registry.update(enabled);
}

const AGAIN = ownOptions({
  reason: 'The token file was gone: a new key replaces the old one.',
});

/** A new object: the life of a key counts from when it was made, and the old one may be over. */
async function giveKey(parts: Parts, keys: Resource, key: string): Promise<void> {
  const spec = { displayName: 'First access key', user: NAME, type: ADMIN_KEY_TYPE, key };
  if (find(parts, keys, NAME) !== undefined) {
    const kind = kindOf(parts, keys);
    await parts.registry.delete({ kind, namespace: '', name: NAME, delete: {}, options: AGAIN });
  }
  // Finalizers may hold the old one, which does not work any more.
  const isHeld = find(parts, keys, NAME) !== undefined;
  await create(parts, keys, isHeld ? { generateName: `${NAME}-` } : { name: NAME }, { spec });
}

function kindOf(parts: Parts, { plural, group }: Resource): Kind {
  const kind = parts.kinds.byPlural(group, plural);
  if (kind === undefined) throw new Error(`The table of kinds has no ${plural}.${group}`);
  return kind;
}

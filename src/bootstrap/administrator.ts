/**
 * The first administrator: a user, bound to all rights by RBAC objects like any other, and its
 * access key. They are written to git through the registry, once; later they are the platform
 * team's to change. Deleting the token file makes the next start issue a new key.
 *
 * The administrator belongs to the repository. Several daemons may follow one that is elsewhere:
 * none of them takes the key of another one away.
 */
import { rename, unlink } from 'node:fs/promises';
import { type JsonObject, jsonEqual, StatusError } from '../apimachinery/index.ts';
import { ADMIN_KEY_TYPE, ensureAdminToken, readAdminToken } from '../auth/index.ts';
import { concealAccessKey, type Kind, type KindTable, RBAC_GROUP } from '../kinds/index.ts';
import { type ObjectRegistry, ownChange, ownCreate, ownOptions } from '../registry/index.ts';
import type { Store, StoredObject } from '../state/index.ts';

const NAME = 'admin';
const ROLE = 'cluster-admin';

const OPTIONS = ownOptions({ reason: 'First start: creates the first administrator.' });

interface Parts {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: ObjectRegistry;
  /** True if other daemons may write to the repository. */
  readonly isShared?: boolean;
}

/** The repository has an administrator, and this data directory does not have the key. */
export class OtherAdministratorError extends Error {
  readonly remedy: string;

  constructor(file: string) {
    super(`The repository has a first administrator already, and ${file} is not here`);
    this.name = 'OtherAdministratorError';
    this.remedy = `copy admin.token from the data directory of the daemon that made it to ${file} (mode 0600), or use any other access key of the repository. If the key is lost, remove the manifest of OwnedAccessKey "${NAME}" from the branch and start again: a new key is made`;
  }
}

/**
 * The first access key, from its file; made, with the objects that give it its rights, when there
 * is no file. An administrator who removed the key on purpose does not get it back. Throws
 * OtherAdministratorError where another daemon has the key.
 */
export async function administratorToken(parts: Parts, file: string): Promise<string> {
  const existing = await readAdminToken(file);
  if (existing !== undefined) return existing;
  // A crash, or a remote that does not respond, must not leave a key without its token file.
  const unconfirmed = `${file}.unconfirmed`;
  const { token } = await ensureAdminToken(unconfirmed);
  if (await makeAdministrator(parts, token)) {
    await rename(unconfirmed, file);
    return token;
  }
  await unlink(unconfirmed);
  throw new OtherAdministratorError(file);
}

/** False: another daemon has made one. */
async function makeAdministrator(parts: Parts, token: string): Promise<boolean> {
  for (let left = MOST_RACES; ; left--) {
    const held = find(parts, keysOf(parts), NAME)?.hidden?.['spec.key'];
    if (held === concealAccessKey(token)) return true;
    if (held !== undefined && parts.isShared === true) return false;
    try {
      await ensureAdministrator(parts, token);
      return true;
    } catch (error) {
      const isRace = error instanceof StatusError && error.reason === 'AlreadyExists';
      if (!isRace || parts.isShared !== true || left === 0) throw error;
    }
  }
}

/** Objects that another daemon may make while this one makes them. */
const MOST_RACES = 4;

function keysOf({ kinds }: Parts): Resource {
  const [group = ''] = kinds.groups;
  return { plural: 'ownedaccesskeys', group };
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
  await giveKey(parts, keysOf(parts), key);
}

interface Resource {
  readonly plural: string;
  readonly group: string;
}

/** Returns the name of an object with these fields. Creates one with another name where the first was changed. */
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

/** Enables a disabled user again: removing the token file takes access to the data directory, which outranks any right. */
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
  // Another daemon may make its own at any moment: a create finds that out, and takes nothing away.
  if (parts.isShared !== true && find(parts, keys, NAME) !== undefined) {
    const kind = kindOf(parts, keys);
    await parts.registry.delete({ kind, namespace: '', name: NAME, delete: {}, options: AGAIN });
  }
  // Finalizers may hold the old one, which does not work any more.
  const isHeld = parts.isShared !== true && find(parts, keys, NAME) !== undefined;
  await create(parts, keys, isHeld ? { generateName: `${NAME}-` } : { name: NAME }, { spec });
}

function kindOf(parts: Parts, { plural, group }: Resource): Kind {
  const kind = parts.kinds.byPlural(group, plural);
  if (kind === undefined) throw new Error(`The table of kinds has no ${plural}.${group}`);
  return kind;
}

/**
 * The first administrator: a user, bound to all rights by RBAC objects like any other, and its
 * access key. They are written to git through the registry, once; later they are the platform
 * team's to change. Deleting the token file makes the next start issue a new key.
 */

import { isRecord, type JsonObject } from '../apimachinery/object.ts';
import { SUPERUSER_GROUP, type User } from '../apimachinery/request.ts';
import { ADMIN_KEY_TYPE, readAdminToken } from '../auth/admin-token.ts';
import { createFile } from '../auth/secret-file.ts';
import { accessKeyPrefix, mintAccessKey } from '../kinds/access-key-secret.ts';
import { type Kind, RBAC_GROUP } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import type { ObjectRegistry } from '../registry/registry.ts';
import type { WriteOptions } from '../registry/write-context.ts';
import type { Store } from '../state/store.ts';

const NAME = 'admin';
const ROLE = 'cluster-admin';

/** The daemon acting for itself, before anyone else can. */
const SYSTEM: User = {
  name: 'gitplane',
  email: 'gitplane@noreply.gitplane.dev',
  groups: [SUPERUSER_GROUP],
};

const OPTIONS: WriteOptions = {
  user: SYSTEM,
  dryRun: false,
  fieldValidation: 'Strict',
  reason: 'First start: somebody has to be able to sign in.',
};

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
  await ensure(parts, { plural: 'clusterroles', group: RBAC_GROUP }, ROLE, { rules: everything });
  await ensure(parts, { plural: 'clusterrolebindings', group: RBAC_GROUP }, `${ROLE}-${NAME}`, {
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: ROLE },
    subjects: [{ apiGroup: RBAC_GROUP, kind: 'User', name: NAME }],
  });
  const [group = ''] = parts.kinds.groups;
  await ensure(parts, { plural: 'users', group }, NAME, {
    spec: { displayName: 'Administrator', description: 'The first user, made on the first start' },
  });
  await giveKey(parts, group, key);
}

async function ensure(
  parts: Parts,
  resource: { plural: string; group: string },
  name: string,
  fields: JsonObject,
): Promise<boolean> {
  const kind = kindOf(parts, resource);
  const key = { group: kind.group, kind: kind.kind, namespace: '', name };
  if (parts.store.get(key) !== undefined) return false;
  const body = { metadata: { name }, ...fields };
  await parts.registry.create({ kind, namespace: '', body, duplicates: [], options: OPTIONS });
  return true;
}

async function giveKey(parts: Parts, group: string, key: string): Promise<void> {
  const resource = { plural: 'ownedaccesskeys', group };
  const spec = { displayName: 'First access key', user: NAME, type: ADMIN_KEY_TYPE, key };
  if (await ensure(parts, resource, NAME, { spec })) return;
  await parts.registry.update({
    verb: 'patch',
    kind: kindOf(parts, resource),
    namespace: '',
    name: NAME,
    duplicates: [],
    options: { ...OPTIONS, reason: 'The token file was gone: a new key replaces the old one.' },
    change: (current) => ({
      ...structuredClone(current),
      spec: { ...(isRecord(current.spec) ? current.spec : {}), key, disabled: false },
    }),
  });
}

function kindOf(parts: Parts, { plural, group }: { plural: string; group: string }): Kind {
  const kind = parts.kinds.byPlural(group, plural);
  if (kind === undefined) throw new Error(`The table of kinds has no ${plural}.${group}`);
  return kind;
}

/** The kinds of the platform, in the order of lists and docs. */

import type { ObjectKey } from '../apimachinery/index.ts';
import { config } from './config.ts';
import { directClusterEndpointToken } from './direct-cluster-endpoint-token.ts';
import { apiVersionOf, type Kind } from './kind.ts';
import { ownedAccessKey } from './owned-access-key.ts';
import { projectSecret } from './project-secret.ts';
import { CLUSTER_ROLE } from './rbac/cluster-role.ts';
import { CLUSTER_ROLE_BINDING } from './rbac/cluster-role-binding.ts';
import { ROLE } from './rbac/role.ts';
import { ROLE_BINDING } from './rbac/role-binding.ts';
import { type CompiledSchema, compileSchema } from './schema/compiled-schema.ts';
import { closest } from './schema/did-you-mean.ts';
import { sharedSecret } from './shared-secret.ts';
import { team } from './team.ts';
import { tenant } from './tenant.ts';
import { user } from './user.ts';

export interface KindTable {
  readonly kinds: readonly Kind[];
  /** API groups, the management group first. */
  readonly groups: readonly string[];
  /** Looks up the words of a manifest: `management.gitplane.dev/v1` and `Team`. */
  byKind(apiVersion: string, kind: string): Kind | undefined;
  /** Looks up the kind of an object by its key. */
  byKey(key: Pick<ObjectKey, 'group' | 'kind'>): Kind | undefined;
  /** Looks up the words of a URL: `management.gitplane.dev` and `teams`, or an alias of it. */
  byPlural(group: string, plural: string): Kind | undefined;
  /** Looks up the path of a file that is the spec of an object, relative to the manifests. */
  byFile(path: string): FileClaim | undefined;
  schemaOf(kind: Kind): CompiledSchema;
  /** Error text for a failed `byKind`, with the most likely intended kind. */
  explainUnknown(apiVersion: string, kind: string): string;
}

/** Kind and name of the object that a file is the spec of. */
export interface FileClaim {
  readonly kind: Kind;
  readonly name: string;
}

/** `apiGroup` is the management group, such as `management.gitplane.dev`. */
export function buildKindTable(apiGroup: string): KindTable {
  return tableOf([
    config(apiGroup),
    user(apiGroup),
    team(apiGroup),
    ownedAccessKey(apiGroup),
    directClusterEndpointToken(apiGroup),
    sharedSecret(apiGroup),
    projectSecret(apiGroup),
    tenant(apiGroup),
    ROLE,
    CLUSTER_ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE_BINDING,
  ]);
}

export function tableOf(kinds: readonly Kind[]): KindTable {
  const fileKinds = kinds.filter(({ storedIn }) => storedIn === 'file');
  const byKind = new Map(kinds.map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, kind]));
  const byPlural = pluralsByGroup(kinds);
  return {
    kinds,
    groups: [...new Set(kinds.map((kind) => kind.group))],
    byKind: (apiVersion, kind) => byKind.get(`${apiVersion} ${kind}`),
    byKey: (key) => kinds.find(({ group, kind }) => group === key.group && kind === key.kind),
    byPlural: (group, plural) => byPlural.get(group)?.get(plural),
    byFile: (path) => {
      for (const kind of fileKinds) {
        const name = kind.fileName(path);
        if (name !== undefined) return { kind, name };
      }
      return undefined;
    },
    schemaOf: (kind) => compileSchema(kind.schema),
    explainUnknown: (apiVersion, kind) => explainUnknown(kinds, apiVersion, kind),
  };
}

/** By group, then by plural or alias, so that a request builds no key. */
function pluralsByGroup(kinds: readonly Kind[]): ReadonlyMap<string, ReadonlyMap<string, Kind>> {
  const groups = new Map<string, Map<string, Kind>>();
  for (const kind of kinds) {
    const plurals = groups.get(kind.group) ?? new Map<string, Kind>();
    groups.set(kind.group, plurals);
    for (const plural of [kind.plural, ...kind.aliases]) plurals.set(plural, kind);
  }
  return groups;
}

function explainUnknown(kinds: readonly Kind[], apiVersion: string, kind: string): string {
  const versions = [...new Set(kinds.map(apiVersionOf))];
  if (!versions.includes(apiVersion)) {
    const group = apiVersion.split('/')[0];
    const meant =
      versions.find((version) => version.split('/')[0] === group) ??
      closest(apiVersion, versions) ??
      kinds.filter((known) => known.kind === kind).map(apiVersionOf)[0];
    return meant === undefined
      ? `Unknown API version "${apiVersion}"; this platform serves ${versions.join(' and ')}`
      : `Unknown API version "${apiVersion}", did you mean "${meant}"?`;
  }
  const here = kinds.filter((known) => apiVersionOf(known) === apiVersion);
  const elsewhere = kinds.find((known) => known.kind === kind);
  if (elsewhere !== undefined) {
    return `${kind} is not part of ${apiVersion}; its apiVersion is ${apiVersionOf(elsewhere)}`;
  }
  const names = here.map((known) => known.kind);
  const meant = closest(kind, [...names, ...here.map((known) => known.plural)]);
  const name = here.find((known) => known.plural === meant)?.kind ?? meant;
  return name === undefined
    ? `Unknown kind "${kind}" in ${apiVersion}; it has ${names.join(', ')}`
    : `Unknown kind "${kind}" in ${apiVersion}, did you mean "${name}"?`;
}

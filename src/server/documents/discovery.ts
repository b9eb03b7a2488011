/**
 * Groups, versions and resources of the API in the three forms of Kubernetes clients: aggregated
 * (v2, v2beta1) and legacy (reference: Kubernetes API, section 1.1). Aliases of a plural answer
 * requests but are not listed.
 */
import { createHash } from 'node:crypto';
import type { Kind, KindTable } from '../../kinds/index.ts';
import {
  type DiscoveryForm,
  type MediaChoice,
  negotiateDiscovery,
  YAML_TYPE,
} from '../output/negotiation.ts';
import { toYaml } from '../output/yaml-output.ts';
import { subresourcesOf } from './openapi-tenants.ts';
import { memoized, type ReadyDocument, readyDocument } from './ready-document.ts';

/** A resource as `/apis/<group>/<version>` lists it; `teams/status` is a subresource. */
export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

/** One version of a group; the group `''` is the core group, served below `/api`. */
export interface ApiGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

export interface Discovery {
  /** `/api`. Throws 406, as the others do. */
  api(accept: string | undefined): ReadyDocument;
  /** `/apis`. */
  apis(accept: string | undefined): ReadyDocument;
  /** `/apis/<group>`; undefined for a group that does not exist. */
  group(name: string, accept: string | undefined): ReadyDocument | undefined;
  /** `/apis/<group>/<version>`, `/api/v1` with group `''`; undefined for what does not exist. */
  resources(gv: GroupVersion, accept: string | undefined): ReadyDocument | undefined;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * `virtual`: groups that are served beside the kinds, such as `authorization.k8s.io`. A version
 * without resources is left out: kubectl takes an empty list for a failure and stops.
 */
export function buildDiscovery(
  table: KindTable,
  virtual: readonly ApiGroupVersion[] = [],
): Discovery {
  const all = [...groupsOf(table), ...virtual].filter(({ resources }) => resources.length > 0);
  const named = all.filter(({ group }) => group !== '');
  const unnamed = all.filter(({ group }) => group === '');
  const encode = memoized(newEncoder);
  const apiLegacy = apiVersions(unnamed);
  const apisLegacy = { kind: 'APIGroupList', apiVersion: 'v1', groups: apiGroups(named) };
  const groups = new Map(apiGroups(named).map((group) => [group.name, versioned(group)]));
  const lists = new Map(all.map((entry) => [groupVersionText(entry), resourceList(entry)]));
  const roots = { api: aggregatedRoot(unnamed), apis: aggregatedRoot(named) };

  function root(accept: string | undefined, part: 'api' | 'apis', legacy: object): ReadyDocument {
    const { form, mediaType } = negotiateDiscovery(accept);
    return encode(form === 'legacy' ? legacy : roots[part][form])({ form, mediaType });
  }
  function plain(accept: string | undefined, value: object | undefined) {
    if (value === undefined) return undefined;
    const { mediaType } = negotiateDiscovery(accept);
    return encode(value)({ form: 'legacy', mediaType });
  }
  return {
    api: (accept) => root(accept, 'api', apiLegacy),
    apis: (accept) => root(accept, 'apis', apisLegacy),
    group: (name, accept) => plain(accept, groups.get(name)),
    resources: (gv, accept) => plain(accept, lists.get(groupVersionText(gv))),
  };
}

/** The kinds as the resources of their groups. */
function groupsOf({ groups, kinds }: KindTable): ApiGroupVersion[] {
  return groups.map((group) => ({
    group,
    version: 'v1',
    resources: kinds.filter((kind) => kind.group === group).flatMap(resourcesOf),
  }));
}

function resourcesOf(kind: Kind): ApiResource[] {
  const main = resourceOf(kind);
  const all = subresourcesOf(kind);
  const below = [...new Map(all.map((one) => [one.name, one])).values()].map(({ name, kind }) => ({
    name: `${main.name}/${name}`,
    singularName: '',
    namespaced: main.namespaced,
    kind,
    verbs: all.filter((one) => one.name === name).map(({ verb }) => verb),
  }));
  return [main, ...below];
}

/** In the order in which Kubernetes lists those of custom resources; its own kinds are in the order of the alphabet. */
const VERBS = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
] as const;

function verbsOf({ verbs, strategicMerge }: Kind): string[] {
  const listed = VERBS.filter((verb) => verbs.includes(verb));
  return strategicMerge ? listed.toSorted() : listed;
}

function resourceOf(kind: Kind): ApiResource {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.scope === 'Namespaced',
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
    ...(kind.storedIn === 'nowhere' ? {} : { storageVersionHash: storageVersionHash(kind) }),
  };
}

/** As in Kubernetes: a change tells clients that the stored version changed. */
function storageVersionHash({ group, version, kind }: Kind): string {
  const stored = `${group}/${version}/${kind}`;
  const digest = createHash('sha256').update(stored).digest();
  return digest.subarray(0, 8).toString('base64');
}

interface Form {
  readonly form: DiscoveryForm;
  readonly mediaType: MediaChoice['mediaType'];
}

function newEncoder(value: object): (form: Form) => ReadyDocument {
  const encode = memoized((contentType: string) => {
    const isYaml = contentType.startsWith(YAML_TYPE);
    return readyDocument(contentType, Buffer.from(isYaml ? toYaml(value) : JSON.stringify(value)));
  });
  return ({ form, mediaType }) => encode(contentTypeOf(form, mediaType));
}

/** kubectl ignores a document whose parameters are spelled differently. */
function contentTypeOf(form: DiscoveryForm, mediaType: MediaChoice['mediaType']): string {
  const parameters = `;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;
  return form === 'legacy' ? mediaType : mediaType + parameters;
}

function groupVersionText({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`;
}

function apiVersions(unnamed: readonly ApiGroupVersion[]): object {
  return {
    kind: 'APIVersions',
    versions: unnamed.map(({ version }) => version),
    serverAddressByClientCIDRs: [],
  };
}

interface ApiGroup {
  readonly name: string;
  readonly versions: readonly { readonly groupVersion: string; readonly version: string }[];
  readonly preferredVersion: object | undefined;
}

/** In order of first mention; of several versions the first is preferred. */
function apiGroups(named: readonly ApiGroupVersion[]): ApiGroup[] {
  return [...new Set(named.map(({ group }) => group))].map((name) => {
    const versions = named
      .filter(({ group }) => group === name)
      .map((entry) => ({ groupVersion: groupVersionText(entry), version: entry.version }));
    return { name, versions, preferredVersion: versions[0] };
  });
}

function versioned(group: ApiGroup): object {
  return { kind: 'APIGroup', apiVersion: 'v1', ...group };
}

function resourceList(entry: ApiGroupVersion): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: groupVersionText(entry),
    resources: entry.resources,
  };
}

function aggregatedRoot(entries: readonly ApiGroupVersion[]): Record<'v2' | 'v2beta1', object> {
  const items = [...new Set(entries.map(({ group }) => group))].map((name) => ({
    metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
    versions: entries.filter(({ group }) => group === name).map(aggregatedVersion),
  }));
  const document = (version: string) => ({
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items,
  });
  return { v2: document('v2'), v2beta1: document('v2beta1') };
}

function aggregatedVersion({ group, version, resources }: ApiGroupVersion): object {
  const main = resources.filter(({ name }) => !name.includes('/'));
  return {
    version,
    resources: main.map((resource) => ({
      resource: resource.name,
      responseKind: { group, version, kind: resource.kind },
      scope: resource.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: resource.singularName,
      verbs: resource.verbs,
      ...(resource.shortNames === undefined ? {} : { shortNames: resource.shortNames }),
      ...(resource.categories === undefined ? {} : { categories: resource.categories }),
      ...subresources(resource.name, resources, { group, version }),
    })),
    freshness: 'Current',
  };
}

function subresources(of: string, all: readonly ApiResource[], gv: GroupVersion): object {
  const below = all.filter(({ name }) => name.startsWith(`${of}/`));
  if (below.length === 0) return {};
  return {
    subresources: below.map(({ name, kind, verbs }) => ({
      subresource: name.slice(of.length + 1),
      responseKind: { ...gv, kind },
      verbs,
    })),
  };
}

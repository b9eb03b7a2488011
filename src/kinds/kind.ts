/**
 * What a kind is: a value that generic code asks, never the other way round. A new kind is one
 * file that exports one of these and one line in `table.ts`; routes, discovery, OpenAPI, printer
 * columns, validation, the layout in git, authorization and docs follow from it.
 */
import {
  cloneJson,
  dnsSubdomainProblems,
  type FieldError,
  type FieldPath,
  type JsonObject,
  type KubeObject,
  type NameRule,
  type ObjectKey,
  type Verb,
} from '../apimachinery/index.ts';
import { deprecations } from './deprecation.ts';

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly description: string;
  /** 1: shown only by `-o wide`. */
  readonly priority?: 0 | 1;
  /** Where the value of the cell is, for cells that are the value at a path and no more. */
  readonly jsonPath?: string;
  /** The cell; undefined prints as `<none>`. Dates are RFC 3339 and shown as an age. */
  value(object: KubeObject): string | number | boolean | undefined;
}

/** A value that enters with a write and is never served again, such as the text of a key. */
export interface WriteOnlyField {
  readonly path: FieldPath;
  /** What git holds instead of the value; called once per new value. Values that are already in
   * the concealed form come back unchanged. */
  conceal(value: string): string;
  /** Git holds the value itself, and so has to hold it sealed. */
  readonly sealed?: true;
  /** Problems of a value before it is concealed. Must not repeat the value. */
  validate(value: unknown): string[];
  /** A value for a create that brings none; the answer to that create shows it, once. */
  generate?(object: KubeObject): string;
}

/** Names of users and groups, as authorization knows them. */
export interface ActingNames {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** An object of the same group, without a namespace, that another one names. */
export interface Dependency {
  /** The field that names it. */
  readonly path: readonly string[];
  /** Absent: the group of the object itself. */
  readonly group?: string;
  readonly plural?: string;
  /** In place of the plural, where the object names a kind. The platform may have none of it. */
  readonly kind?: string;
  readonly name: string;
  /** Absent: it has none. */
  readonly namespace?: string;
  /** Consequence of its absence, as the end of a sentence. */
  readonly effect: string;
}

/** That somebody acts with the rights of others because an object says so. */
export interface Membership {
  /** Who gets them, in any words that tell members apart. */
  readonly member: string;
  /** Whose rights they are. */
  readonly rightsOf: ActingNames;
}

export interface Kind {
  readonly group: string;
  readonly version: 'v1';
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Further plurals that the same objects answer to (spec section 4.5: `config`, `configs`). */
  readonly aliases: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  readonly verbs: readonly Verb[];
  /**
   * `git`: manifests. `file`: files of another make in git, whose path names the object; the API
   * reads them only. `cluster`: the state of a cluster that is served here, never git. `nowhere`:
   * made by a create, returned once, never kept.
   */
  readonly storedIn: 'git' | 'file' | 'cluster' | 'nowhere';
  /**
   * The name of the object that the file at a path is the spec of; undefined for every other path.
   * Paths are seen from the folder that holds the manifests. Only where `storedIn` is `file`.
   */
  fileName(path: string): string | undefined;
  /** Name of the JSON Schema below `schemas/`, without `.json`. */
  readonly schema: string;
  readonly nameRule: NameRule;
  /** Whether PUT works without metadata.resourceVersion; custom resources of Kubernetes refuse it. */
  readonly allowUnconditionalUpdate: boolean;
  /** Whether PUT makes what is not there, for who may create it; custom resources never do. */
  readonly createdByUpdate: boolean;
  /** Whether kubectl has a Go type of the kind, and so sends it strategic merge patches. */
  readonly strategicMerge: boolean;
  /** Name of the switch in the platform configuration that closes the kind for writes through the
   * API; git stays open. */
  readonly lockedBy: 'disableConfigEndpoint' | undefined;
  /** True where a create without name and generateName gets a name from the server. */
  readonly namedByServer: boolean;
  readonly columns: readonly PrinterColumn[];
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** Values of such fields that are not at the path that they are named by. */
  fieldText(object: KubeObject, field: string): string | undefined;
  /**
   * What every object has although nobody said it, and nobody owns: structs and times of types of Go
   * that are empty. See `blankFields`.
   */
  readonly blank: JsonObject;
  /** Paths whose values must never reach logs, audit or errors; `*` stands for any step. */
  readonly secretPaths: readonly (readonly string[])[];
  /** The object as it is shown to who may read it and not change it; undefined: as it is. */
  readonly forReaders: ((object: KubeObject) => KubeObject) | undefined;
  readonly writeOnly: readonly WriteOnlyField[];
  /** Whether a value on a secret path is one in fact, and so is sealed in git. */
  holdsSecret(path: FieldPath, value: unknown): boolean;
  /** Puts what a client wrote into the form that git is to hold. May mutate. */
  canonicalize(object: KubeObject): void;
  /** Fills absent fields of an object that passed its schema. May mutate. */
  setDefaults(object: KubeObject): void;
  /** Rules the schema cannot say. Must not mutate. Returns every problem. */
  validate(object: KubeObject, old: KubeObject | undefined): FieldError[];
  /**
   * The object whose `spec.data` an object shows as its own, having none in git; undefined for one
   * that has its own. Absent: no object of the kind does that.
   */
  readonly follows: ((object: KubeObject) => ObjectKey | undefined) | undefined;
  /** Whether `spec.owner` and `spec.access` grant rights on the object. */
  readonly hasAccessRules: boolean;
  /** As whom the object lets its holder act: whoever writes it must be that, or may impersonate. */
  actsAs(object: KubeObject): ActingNames;
  /** Whether objects are keys, with `spec.scope` and `spec.ttl`: those that a key with a scope
   * writes must not reach further than itself. */
  readonly isKey: boolean;
  /** Who gets whose rights by the object: whoever adds to this must hold these rights. */
  memberships(object: KubeObject): Membership[];
  /** Names of the cluster roles that the object gives its holders in clusters. Adding one takes `bind`. */
  assignedRoles(object: KubeObject): string[];
  /** Objects without which this one has no effect; one that is missing is a warning. */
  dependsOn?(object: KubeObject): Dependency[];
  /** A name that no other object of the kind should have; one that is taken is a warning. */
  uniqueName?(object: KubeObject): { readonly path: FieldPath; readonly name: string } | undefined;
  /** Whether objects decide how long keys live, who can sign in and what scopes mean: not for keys
   * with a scope to write. */
  readonly governsAccess: boolean;
  /** Whether annotations can tie `spec.data` to a path of the secret store. */
  readonly followsStore: boolean;
  /** Deprecated or useless fields. Must not mutate. Never a reason to refuse. */
  warnings(object: KubeObject): string[];
  /** The part of `status` that follows from the manifest alone. */
  deriveStatus(object: KubeObject): JsonObject | undefined;
}

type Declared = 'group' | 'kind' | 'plural' | 'singular' | 'scope' | 'schema';

/** Fills what most kinds have in common; a kind states only what is its own. */
export function defineKind(own: Pick<Kind, Declared> & Partial<Kind>): Kind {
  return {
    version: 'v1',
    shortNames: [],
    categories: [],
    aliases: [],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
    storedIn: 'git',
    fileName: () => undefined,
    nameRule: dnsSubdomainProblems,
    allowUnconditionalUpdate: false,
    createdByUpdate: false,
    strategicMerge: false,
    lockedBy: undefined,
    namedByServer: false,
    columns: [],
    selectableFields: [],
    fieldText: () => undefined,
    blank: {},
    secretPaths: [],
    forReaders: undefined,
    writeOnly: [],
    holdsSecret: () => true,
    follows: undefined,
    hasAccessRules: false,
    canonicalize: () => undefined,
    setDefaults: () => undefined,
    validate: () => [],
    actsAs: () => ({ users: [], groups: [] }),
    isKey: false,
    memberships: () => [],
    assignedRoles: () => [],
    governsAccess: false,
    followsStore: false,
    warnings: deprecations([]),
    deriveStatus: () => undefined,
    ...own,
  };
}

/** The blank fields of a kind, which are filled in as its defaults are. */
export function blankFields(blank: JsonObject): Pick<Kind, 'blank' | 'setDefaults'> {
  return {
    blank,
    setDefaults: (object) => {
      for (const [field, value] of Object.entries(blank)) object[field] ??= cloneJson(value);
    },
  };
}

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const DEFAULT_API_GROUP = 'management.gitplane.dev';

/** Kubernetes counts no generations of roles and bindings. */
export function countsGenerations({ group }: Pick<Kind, 'group'>): boolean {
  return group !== RBAC_GROUP;
}

/** `management.gitplane.dev/v1`; the core group has no name. */
export function apiVersionOf({ group, version }: Kind): string {
  return group === '' ? version : `${group}/${version}`;
}

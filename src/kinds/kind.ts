/**
 * The definition of a kind. Generic code reads it; a kind never calls generic code. A new kind is one
 * file that exports a `Kind`, and one line in `table.ts`. Routes, discovery, OpenAPI, printer
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
  /** Path of the value. Absent: the cell is computed. */
  readonly jsonPath?: string;
  /** The cell; undefined prints as `<none>`. Dates are RFC 3339 and shown as an age. */
  value(object: KubeObject): string | number | boolean | undefined;
}

/** A value that clients write and the API never returns, such as the text of a key. */
export interface WriteOnlyField {
  readonly path: FieldPath;
  /** Returns the form that git stores. Called once per new value; a concealed value comes back unchanged. */
  conceal(value: string): string;
  /** True: git stores the value itself, so it has to be encrypted. */
  readonly sealed?: true;
  /** Problems of a value before it is concealed. Must not repeat the value. */
  validate(value: unknown): string[];
  /** Makes a value for a create that has none. Only the response to that create shows it. */
  generate?(object: KubeObject): string;
}

/** Names of users and groups in authorization. */
export interface ActingNames {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** A reference to another object, without which the object has no effect. */
export interface Dependency {
  /** Path of the reference. */
  readonly path: readonly string[];
  /** Absent: the group of the object itself. */
  readonly group?: string;
  readonly plural?: string;
  /** In place of the plural, where the reference has a kind. The platform may not know that kind. */
  readonly kind?: string;
  readonly name: string;
  /** Absent: the kind has no namespaces. */
  readonly namespace?: string;
  /** Consequence if the object is missing, as the end of a sentence. */
  readonly effect: string;
}

/** Grants a member the rights of other users and groups. */
export interface Membership {
  /** Identifies the member; any text that is unique per member. */
  readonly member: string;
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
   * `git`: manifests. `file`: files of another format in git, whose path gives the name; the API
   * only reads them. `cluster`: the state of a cluster that the daemon serves, never git.
   * `nowhere`: a create returns it once, and it is not stored.
   */
  readonly storedIn: 'git' | 'file' | 'cluster' | 'nowhere';
  /**
   * Name of the object whose spec is the file at a path; undefined for every other path. Paths are
   * relative to the folder of the manifests. Only if `storedIn` is `file`.
   */
  fileName(path: string): string | undefined;
  /** Name of the JSON Schema below `schemas/`, without `.json`. */
  readonly schema: string;
  readonly nameRule: NameRule;
  /** True: PUT works without metadata.resourceVersion. Custom resources of Kubernetes refuse it. */
  readonly allowUnconditionalUpdate: boolean;
  /** True: PUT creates a missing object, if the client may create it. Custom resources never do. */
  readonly createdByUpdate: boolean;
  /** True: kubectl has a Go type of the kind, and so sends strategic merge patches. */
  readonly strategicMerge: boolean;
  /** Field of the platform configuration that forbids writes through the API. Pushes still work. */
  readonly lockedBy: 'disableConfigEndpoint' | undefined;
  /** True: the server names an object that is created without name and generateName. */
  readonly namedByServer: boolean;
  readonly columns: readonly PrinterColumn[];
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** Value of a selectable field that is not at the path of its name. */
  fieldText(object: KubeObject, field: string): string | undefined;
  /** Empty structs and times of Go types: every object has them, and no field manager owns them. */
  readonly blank: JsonObject;
  /** Paths whose values must never reach logs, audit or errors. `*` matches any step. */
  readonly secretPaths: readonly (readonly string[])[];
  /** The object as shown to a user who may read it but not change it. Undefined: unchanged. */
  readonly forReaders: ((object: KubeObject) => KubeObject) | undefined;
  readonly writeOnly: readonly WriteOnlyField[];
  /** True if the value on a secret path is a secret, which has to be encrypted in git. */
  holdsSecret(path: FieldPath, value: unknown): boolean;
  /** Brings a written object into the form that git stores. May mutate. */
  canonicalize(object: KubeObject): void;
  /** Fills absent fields of an object that passed its schema. May mutate. */
  setDefaults(object: KubeObject): void;
  /** Checks rules that the schema cannot express. Returns every problem. Must not mutate. */
  validate(object: KubeObject, old: KubeObject | undefined): FieldError[];
  /**
   * The object whose `spec.data` this object shows, because it has none of its own in git.
   * Undefined result: it has its own. Undefined method: every object of the kind has its own.
   */
  readonly follows: ((object: KubeObject) => ObjectKey | undefined) | undefined;
  /** True: `spec.owner` and `spec.access` grant rights on the object. */
  readonly hasAccessRules: boolean;
  /** The identity that the object gives its holder. Its writer must have it, or may impersonate it. */
  actsAs(object: KubeObject): ActingNames;
  /** True: objects are keys, with `spec.scope` and `spec.ttl`. A key with a scope can only write keys
   * within that scope. */
  readonly isKey: boolean;
  /** Rights that the object gives to members. A writer who adds one must hold these rights. */
  memberships(object: KubeObject): Membership[];
  /** Cluster roles that the object gives its members in clusters. A writer who adds one needs `bind`. */
  assignedRoles(object: KubeObject): string[];
  /** Objects that this one needs. A missing one gives a warning. */
  dependsOn?(object: KubeObject): Dependency[];
  /** A name that should be unique in the kind. A duplicate gives a warning. */
  uniqueName?(object: KubeObject): { readonly path: FieldPath; readonly name: string } | undefined;
  /** True: objects decide lifetimes of keys, sign-in and scopes. Keys with a scope cannot write them. */
  readonly governsAccess: boolean;
  /** True: annotations can link `spec.data` to a path of the secret store. */
  readonly followsStore: boolean;
  /** Warnings about deprecated or useless fields. They never reject a write. Must not mutate. */
  warnings(object: KubeObject): string[];
  /** The part of `status` that follows from the manifest alone. */
  deriveStatus(object: KubeObject): JsonObject | undefined;
}

type Declared = 'group' | 'kind' | 'plural' | 'singular' | 'scope' | 'schema';

/** Fills in the defaults of a definition, so that a kind states only its differences. */
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

/** `blank` of a kind, and the `setDefaults` that fills it in. */
export function blankFields(blank: JsonObject): Pick<Kind, 'blank' | 'setDefaults'> {
  return {
    blank,
    setDefaults: (object) => {
      for (const [field, value] of Object.entries(blank)) object[field] ??= cloneJson(value);
    },
  };
}

export const READ_VERBS: readonly Verb[] = ['get', 'list', 'watch'];

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const DEFAULT_API_GROUP = 'management.gitplane.dev';

/** False for roles and bindings, as in Kubernetes. */
export function countsGenerations({ group }: Pick<Kind, 'group'>): boolean {
  return group !== RBAC_GROUP;
}

/** `management.gitplane.dev/v1`; the core group has no name. */
export function apiVersionOf({ group, version }: Kind): string {
  return group === '' ? version : `${group}/${version}`;
}

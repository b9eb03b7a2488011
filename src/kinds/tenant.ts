/**
 * Tenant: a tenant cluster and what is synced from it (spec section 2.9). It is written as the
 * vcluster.yaml that its users know, `tenants/<name>/vcluster.yaml`: the folder gives the name, the
 * file is the spec. What of it is not about endpoint sync is kept and served, and read by nobody
 * but the expressions of patches.
 */
import {
  dnsLabelProblems,
  type FieldError,
  formatFieldError,
  invalid,
  isRecord,
  type KubeObject,
  required,
  valueAt,
} from '../apimachinery/index.ts';
import {
  checkEndpointsSetting,
  checkNamespacesSetting,
  deadReverseExpressions,
} from '../endpoint-patches/index.ts';
import { AGE, textAt, textFrom } from './columns.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';

/** Where a tenant or its control plane is, when it is not one of this daemon's own surfaces. */
export interface KubeconfigSource {
  /** Name of a file in the folder `kubeconfigs` of the data directory. */
  readonly file?: string;
  readonly sharedSecret?: {
    readonly namespace: string;
    readonly name: string;
    readonly key: string;
  };
}

/** What a tenant says about its endpoint sync, with defaults filled in. */
export interface TenantSettings {
  readonly enabled: boolean;
  /** Of all kinds, as written; the patch engine reads them. */
  readonly patches: readonly unknown[];
  /** Namespace of the control-plane cluster that receives the synced objects. */
  readonly targetNamespace: string;
  /** Whether what was synced goes from the control-plane cluster when the tenant does. */
  readonly deletionPolicy: 'Delete' | 'Retain';
  /** The project that it belongs to, by which scopes of keys name it. */
  readonly project: string | undefined;
  /** Name of the surface that stands for the control-plane cluster. */
  readonly cluster: string;
  /** Absent: the surface of the tenant here. */
  readonly source: KubeconfigSource | undefined;
  /** Bindings of `spec.clusterRoles` in a tenant cluster that a kubeconfig reaches. */
  readonly clusterRoles: {
    readonly enabled: boolean;
    /** Prefix that the cluster puts before the groups of a token. */
    readonly groupsPrefix: string;
  };
  /** Absent: the surface `cluster` here. */
  readonly target: KubeconfigSource | undefined;
  /** The whole file, for expressions. */
  readonly config: Readonly<Record<string, unknown>>;
}

const ENDPOINTS = ['spec', 'sync', 'toHost', 'endpoints'] as const;
const SERVICES = ['spec', 'sync', 'toHost', 'services'] as const;
const OURS = ['spec', 'external', 'gitplane'] as const;
export const DEFAULT_CLUSTER = 'local';

export function tenant(group: string): Kind {
  return defineKind({
    group,
    kind: 'Tenant',
    plural: 'tenants',
    singular: 'tenant',
    categories: ['gitplane'],
    scope: 'Cluster',
    schema: 'tenant',
    storedIn: 'file',
    verbs: ['get', 'list', 'watch'],
    nameRule: dnsLabelProblems,
    fileName: (path) => /^tenants\/([^/]+)\/vcluster\.ya?ml$/.exec(path)?.[1],
    // Anything may be in such a file, passwords of databases among it.
    secretPaths: secretPathsOf('tenant'),
    columns: [
      {
        name: 'Endpoints',
        type: 'boolean',
        description:
          'Whether Endpoints, and Services beside them, are synced to the control-plane cluster.',
        value: (object) => settingsOf(object).enabled,
      },
      {
        name: 'Patches',
        type: 'integer',
        description: 'Number of patches on what is synced.',
        value: (object) => settingsOf(object).patches.length,
      },
      {
        name: 'Cluster',
        type: 'string',
        description: 'The control-plane cluster.',
        priority: 1,
        value: (object) => settingsOf(object).cluster,
      },
      {
        name: 'Namespace',
        type: 'string',
        description: 'Namespace of the control-plane cluster that receives the synced objects.',
        priority: 1,
        value: (object) => settingsOf(object).targetNamespace,
      },
      {
        name: 'Sync',
        type: 'string',
        description: 'Synced, Stale, Failed or Disabled.',
        ...textFrom(['status', 'sync', 'state']),
      },
      AGE,
    ],
    warnings: (object) => deadReverseExpressions(object.spec).map(formatFieldError),
    validate: (object) => [
      ...[
        ...checkEndpointsSetting(object.spec),
        ...checkNamespacesSetting(object.spec, {
          name: object.metadata.name ?? '',
          namespace: settingsOf(object).targetNamespace,
        }),
      ].map((error) => ({ ...error, path: ['spec', ...error.path] })),
      ...clusterNameProblems(object),
      ...(['source', 'target'] as const).flatMap((end) => kubeconfigProblems(object, end)),
    ],
  });
}

/** Reads an object that passed the schema; tolerates one that did not. */
export function settingsOf(object: KubeObject): TenantSettings {
  const name = object.metadata.name ?? '';
  const patches = [ENDPOINTS, SERVICES].flatMap((at) => {
    const found = valueAt(object, [...at, 'patches']);
    return Array.isArray(found) ? found : [];
  });
  return {
    enabled: valueAt(object, [...ENDPOINTS, 'enabled']) !== false,
    patches,
    targetNamespace: textAt(object, [...OURS, 'namespace']) ?? `vcluster-${name}`,
    deletionPolicy: textAt(object, [...OURS, 'deletionPolicy']) === 'Retain' ? 'Retain' : 'Delete',
    project: textAt(object, [...OURS, 'project']),
    cluster: textAt(object, [...OURS, 'cluster']) ?? DEFAULT_CLUSTER,
    source: kubeconfigAt(object, 'source'),
    clusterRoles: {
      enabled: valueAt(object, [...OURS, 'source', 'clusterRoles']) !== false,
      groupsPrefix: groupsPrefixOf(object),
    },
    target: kubeconfigAt(object, 'target'),
    config: isRecord(object.spec) ? object.spec : {},
  };
}

/** As the documentation has it for the API servers of tenants (`--oidc-groups-prefix`). */
const DEFAULT_GROUPS_PREFIX = 'gitplane:';

function groupsPrefixOf(object: KubeObject): string {
  const found = valueAt(object, [...OURS, 'source', 'groupsPrefix']);
  return typeof found === 'string' ? found : DEFAULT_GROUPS_PREFIX;
}

function kubeconfigAt(object: KubeObject, end: 'source' | 'target'): KubeconfigSource | undefined {
  const found = valueAt(object, [...OURS, end, 'kubeconfig']);
  return isRecord(found) ? (found as KubeconfigSource) : undefined;
}

function clusterNameProblems(object: KubeObject): FieldError[] {
  return (['cluster', 'namespace', 'project'] as const).flatMap((field) => {
    const path = [...OURS, field];
    const value = textAt(object, path);
    if (value === undefined) return [];
    return dnsLabelProblems(value).map((text) => invalid(path, value, text));
  });
}

/** No path: a commit must not choose which files of the machine the daemon reads. */
const FILE_NAME = /^[\w][\w.-]*$/;

function kubeconfigProblems(object: KubeObject, end: 'source' | 'target'): FieldError[] {
  const path = [...OURS, end, 'kubeconfig'];
  const kubeconfig = kubeconfigAt(object, end);
  if (kubeconfig === undefined) return [];
  const { file, sharedSecret } = kubeconfig;
  if ((file === undefined) === (sharedSecret === undefined)) {
    return [required(path, 'one of file and sharedSecret')];
  }
  if (file === undefined || FILE_NAME.test(file)) return [];
  const rule = 'must be the name of a file in the folder "kubeconfigs" of the data directory';
  return [invalid([...path, 'file'], file, rule)];
}

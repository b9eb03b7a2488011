/**
 * Tenant: a tenant cluster and the endpoint sync from it (spec section 2.9). In git it is a
 * vcluster.yaml, `tenants/<name>/vcluster.yaml`: the folder is the name, the file is the spec. Fields
 * outside endpoint sync are stored and returned; only expressions of patches read them.
 */
import {
  dnsLabelProblems,
  type FieldError,
  formatFieldError,
  invalid,
  isRecord,
  type KubeObject,
  listAt,
  mapAt,
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

/** Kubeconfig of a tenant or its control plane that this daemon does not serve itself. */
export type KubeconfigSource = {
  /** Name of a file in the folder `kubeconfigs` of the data directory. */
  readonly file?: string;
  readonly sharedSecret?: {
    readonly namespace: string;
    readonly name: string;
    readonly key: string;
  };
};

/** Endpoint sync of a tenant, with defaults filled in. */
export interface TenantSettings {
  readonly enabled: boolean;
  /** Patches of all kinds, unparsed. */
  readonly patches: readonly unknown[];
  /** Namespace of the control-plane cluster that receives the synced objects. */
  readonly targetNamespace: string;
  /** `Delete`: synced objects are deleted from the control-plane cluster together with the tenant. */
  readonly deletionPolicy: 'Delete' | 'Retain';
  /** Project of the tenant. Scopes of keys refer to it. */
  readonly project: string | undefined;
  /** Name of the API root of the control-plane cluster. */
  readonly cluster: string;
  /** Absent: the API root of the tenant in this daemon. */
  readonly source: KubeconfigSource | undefined;
  /** Bindings of `spec.clusterRoles` in a tenant cluster behind a kubeconfig. */
  readonly clusterRoles: {
    readonly enabled: boolean;
    /** Prefix that the cluster puts before the groups of a token. */
    readonly groupsPrefix: string;
  };
  /** Absent: the API root `cluster` in this daemon. */
  readonly target: KubeconfigSource | undefined;
  /** The whole file, for expressions. */
  readonly config: Readonly<Record<string, unknown>>;
}

const ENDPOINTS = ['spec', 'sync', 'toHost', 'endpoints'] as const;
const SERVICES = ['spec', 'sync', 'toHost', 'services'] as const;
const OWN = ['spec', 'external', 'gitplane'] as const;
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
    // Such a file may hold any secret, such as a database password.
    secretPaths: secretPathsOf('tenant'),
    columns: [
      {
        name: 'Endpoints',
        type: 'boolean',
        description: 'True if Endpoints and Services are synced to the control-plane cluster.',
        value: (object) => settingsOf(object).enabled,
      },
      {
        name: 'Patches',
        type: 'integer',
        description: 'Number of patches on synced objects.',
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
        description: 'Synced, Stale, Failed, Suspended or Disabled.',
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

/** Settings of an object. Fields of a wrong type count as absent. */
export function settingsOf(object: KubeObject): TenantSettings {
  const name = object.metadata.name ?? '';
  const patches = [ENDPOINTS, SERVICES].flatMap((at) =>
    listAt<unknown>(object, [...at, 'patches']),
  );
  return {
    enabled: valueAt(object, [...ENDPOINTS, 'enabled']) !== false,
    patches,
    targetNamespace: textAt(object, [...OWN, 'namespace']) ?? `vcluster-${name}`,
    deletionPolicy: textAt(object, [...OWN, 'deletionPolicy']) === 'Retain' ? 'Retain' : 'Delete',
    project: textAt(object, [...OWN, 'project']),
    cluster: textAt(object, [...OWN, 'cluster']) ?? DEFAULT_CLUSTER,
    source: kubeconfigAt(object, 'source'),
    clusterRoles: {
      enabled: valueAt(object, [...OWN, 'source', 'clusterRoles']) !== false,
      groupsPrefix: groupsPrefixOf(object),
    },
    target: kubeconfigAt(object, 'target'),
    config: isRecord(object.spec) ? object.spec : {},
  };
}

/** `--oidc-groups-prefix` that the documentation gives for API servers of tenants. */
const DEFAULT_GROUPS_PREFIX = 'gitplane:';

function groupsPrefixOf(object: KubeObject): string {
  const found = valueAt(object, [...OWN, 'source', 'groupsPrefix']);
  return typeof found === 'string' ? found : DEFAULT_GROUPS_PREFIX;
}

function kubeconfigAt(object: KubeObject, end: 'source' | 'target'): KubeconfigSource | undefined {
  const path = [...OWN, end, 'kubeconfig'];
  return isRecord(valueAt(object, path)) ? mapAt<KubeconfigSource>(object, path) : undefined;
}

function clusterNameProblems(object: KubeObject): FieldError[] {
  return (['cluster', 'namespace', 'project'] as const).flatMap((field) => {
    const path = [...OWN, field];
    const value = textAt(object, path);
    if (value === undefined) return [];
    return dnsLabelProblems(value).map((text) => invalid(path, value, text));
  });
}

/** Not a path: a commit must not choose which files of the machine the daemon reads. */
const FILE_NAME = /^[\w][\w.-]*$/;

function kubeconfigProblems(object: KubeObject, end: 'source' | 'target'): FieldError[] {
  const path = [...OWN, end, 'kubeconfig'];
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

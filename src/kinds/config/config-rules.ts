/** Rules of the configuration that its schema cannot express (spec section 2.8). */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  type JsonObject,
  listAt,
  mapAt,
  qualifiedNameProblems,
  required,
} from '../../apimachinery/index.ts';
import { type RequestRule, requestRuleProblems } from '../access/request-rules.ts';
import { type Deprecation, deprecationWarnings } from '../deprecation.ts';
import { MASK } from '../secrets/masking.ts';
import { type AuthConfig, authProblems, authWarnings } from './auth-rules.ts';
import { readDataStoreEndpoint } from './data-store-endpoint.ts';
import { namedVariable, referenceTexts } from './environment-references.ts';
import { type NotificationShape, notificationProblems } from './notification-rules.ts';
import {
  type OidcServerConfig,
  oidcServerProblems,
  oidcServerWarnings,
} from './oidc-server-rules.ts';
import { parseQuantity } from './quantity.ts';
import {
  type SecretStoreShape,
  secretStoreProblems,
  secretStoresProblems,
} from './secret-store-rules.ts';
import { valueProblems } from './value-rules.ts';

interface Audit {
  readonly dataStoreEndpoint?: string;
  readonly dataStoreTTL?: number;
  readonly enabled?: boolean;
  readonly level?: number;
  readonly path?: string;
  readonly policy?: {
    readonly rules?: readonly RequestRule[];
    readonly omitStages?: readonly string[];
  };
}

interface ComputeResources {
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, string | number>>;
}

interface ConfigShape {
  readonly auth?: AuthConfig;
  readonly audit?: Audit;
  readonly oidc?: OidcServerConfig;
  readonly platformHost?: string;
  readonly projectNamespacePrefix?: string;
  readonly secretStore?: SecretStoreShape;
  readonly secretStores?: readonly SecretStoreShape[];
  readonly notifications?: readonly NotificationShape[];
}

/** Problems with paths inside the configuration. The schema has checked its shape. */
export function configProblems(config: JsonObject): FieldError[] {
  const { auth, audit, oidc, secretStore, secretStores, notifications, projectNamespacePrefix } =
    mapAt<ConfigShape>(config, []);
  return [
    ...(auth ? authProblems(auth, ['auth']) : []),
    ...(audit ? auditProblems(audit, ['audit']) : []),
    ...(oidc ? oidcServerProblems(oidc, ['oidc']) : []),
    ...(secretStore ? secretStoreProblems(secretStore, ['secretStore']) : []),
    ...secretStoresProblems(secretStores ?? [], ['secretStores']),
    ...notificationProblems(notifications ?? [], ['notifications']),
    ...valueProblems(config),
    ...prefixProblems(projectNamespacePrefix ?? '', ['projectNamespacePrefix']),
    ...referenceProblems(config),
    ...RESOURCES.flatMap((path) => resourcesProblems(mapAt<ComputeResources>(config, path), path)),
  ];
}

function referenceProblems(config: JsonObject): FieldError[] {
  return [...referenceTexts(config)].flatMap(({ path, text }) => {
    if (text === MASK) return [forbidden(path, 'is the mask of a secret; write the secret itself')];
    const name = namedVariable(text);
    if (name === undefined || !isOwnVariable(name)) return [];
    const detail = `$${name} is a setting of the platform itself; use a variable of another name`;
    return [forbidden(path, detail)];
  });
}

/** True for settings of the daemon itself. They may be secrets, so the configuration cannot refer to them. */
function isOwnVariable(name: string): boolean {
  return name.startsWith('GITPLANE_');
}

const DEPRECATIONS: readonly Deprecation[] = [
  { path: ['oidc'], remedy: 'configure clients in the user interface or in secrets' },
  { path: ['workspaceSubDomain'], remedy: 'leave it out, nothing reads it' },
];

/** Warnings about deprecated fields and likely mistakes. */
export function configWarnings(config: JsonObject): string[] {
  const { auth, audit, oidc, platformHost } = mapAt<ConfigShape>(config, []);
  return [
    ...deprecationWarnings(config, DEPRECATIONS),
    ...idleWarnings(config),
    ...(audit ? auditWarnings(audit) : []),
    ...(auth ? authWarnings(auth, platformHost) : []),
    ...(oidc ? oidcServerWarnings(oidc) : []),
  ];
}

/** Warnings about fields that have no effect in this version. */
function idleWarnings(config: JsonObject): string[] {
  const apps = listAt<{ readonly iconUrl?: string }>(config, ['apps', 'predefinedApps']);
  return apps.flatMap(({ iconUrl = '' }, index) =>
    iconUrl === ''
      ? [`apps.predefinedApps[${index}].iconUrl is not read from the chart; write it to have one`]
      : [],
  );
}

function auditProblems(audit: Audit, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const rules = audit.policy?.rules ?? [];
  if (audit.enabled === true && !audit.path) {
    errors.push(required([...path, 'path'], 'auditing is enabled; set the path of the log'));
  }
  const hasPolicy = rules.length > 0 || (audit.policy?.omitStages ?? []).length > 0;
  if (audit.level !== undefined && hasPolicy) {
    errors.push(
      forbidden([...path, 'level'], 'cannot be used together with policy; keep one of them'),
    );
  }
  const { dataStoreEndpoint: endpoint = '' } = audit;
  // The value of a variable is known only on the machine that has it.
  const read = namedVariable(endpoint) === undefined ? readDataStoreEndpoint(endpoint) : undefined;
  if (endpoint !== '' && typeof read === 'string') {
    errors.push(invalidSecret([...path, 'dataStoreEndpoint'], read));
  }
  for (const [index, rule] of rules.entries()) {
    errors.push(...requestRuleProblems(rule, [...path, 'policy', 'rules', index]));
  }
  return errors;
}

function auditWarnings({ enabled, dataStoreEndpoint, dataStoreTTL = 0 }: Audit): string[] {
  if (!dataStoreEndpoint && dataStoreTTL > 0) {
    return ['audit.dataStoreTTL has no effect without audit.dataStoreEndpoint'];
  }
  if (dataStoreEndpoint && dataStoreTTL === 0 && enabled === true) {
    return ['audit.dataStoreTTL is not set: events stay in the data store for ever'];
  }
  return [];
}

/** The prefix is the beginning of a namespace name. */
function prefixProblems(prefix: string, path: FieldPath): FieldError[] {
  return prefix === '' || /^[a-z0-9][-a-z0-9]*$/.test(prefix)
    ? []
    : [
        invalid(
          path,
          prefix,
          "must begin with a letter or digit and consist of lower case letters, digits and '-'",
        ),
      ];
}

/** Paths of compute resources of containers. */
export const RESOURCES: readonly FieldPath[] = [
  ['costControl', 'global', 'metrics', 'resources'],
  ['costControl', 'cluster', 'metrics', 'resources'],
  ['costControl', 'cluster', 'costBackend', 'resources'],
  ['imageBuilder', 'resources'],
];

function claimProblems({ claims = [] }: ComputeResources, path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return claims.flatMap(({ name, request = '' }, index) => {
    const claim = `${name}/${request}`;
    if (seen.has(claim)) return [duplicate([...path, 'claims', index], claim)];
    seen.add(claim);
    return [];
  });
}

function amountProblems(
  amounts: Readonly<Record<string, string | number>>,
  path: FieldPath,
): FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const problem = resourceNameProblems(name);
    const isAmount = (parseQuantity(amount) ?? -1) >= 0;
    return [
      ...(problem === undefined ? [] : [invalid([...path, name], name, problem)]),
      ...(isAmount
        ? []
        : [invalid([...path, name], amount, 'must be a quantity, as in "500m" or "1Gi"')]),
    ];
  });
}

/** `cpu`, `memory`, `nvidia.com/gpu`. */
function resourceNameProblems(name: string): string | undefined {
  return qualifiedNameProblems(name)[0];
}

function resourcesProblems(resources: ComputeResources, path: FieldPath): FieldError[] {
  const errors = claimProblems(resources, path);
  for (const side of ['limits', 'requests'] as const) {
    errors.push(...amountProblems(resources[side] ?? {}, [...path, side]));
  }
  for (const [name, amount] of Object.entries(resources.requests ?? {})) {
    const limit = resources.limits?.[name];
    if (limit === undefined) continue;
    if ((parseQuantity(amount) ?? 0) > (parseQuantity(limit) ?? Number.POSITIVE_INFINITY)) {
      const detail = `must be less than or equal to ${name} limit of ${limit}`;
      errors.push(invalid([...path, 'requests', name], amount, detail));
    }
  }
  return errors;
}

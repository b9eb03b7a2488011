/**
 * Policy: selection of the recorded requests and of their level (spec section 2.8.9). Rules work as
 * in the audit policy of Kubernetes: the first match decides, no match means no record, and all
 * fields that a rule sets must match.
 */
import type { AuditConfig, AuditRule } from '../config/index.ts';

/** Reviews, and frequent requests without information. */
const UNRECORDED: AuditRule = {
  level: 'None',
  resources: [
    {
      group: '*',
      resources: [
        'selfsubjectaccessreviews',
        'selfsubjectrulesreviews',
        'selfsubjectreviews',
        'subjectaccessreviews',
        'localsubjectaccessreviews',
        'tokenreviews',
        'directclusterendpointtokens',
      ],
    },
  ],
};

/** Requests that relay events are not recorded; the events that they carry are. */
const RELAYED: AuditRule = { level: 'None', verbs: ['post'], nonResourceURLs: ['/audit/events'] };

/** Their bodies are secrets for the most part. */
const SECRETIVE: readonly AuditRule[] = [
  {
    level: 'Metadata',
    resources: [
      {
        group: '*',
        resources: ['ownedaccesskeys', 'sharedsecrets', 'projectsecrets', 'secrets', 'config'],
      },
    ],
  },
  {
    level: 'Metadata',
    resources: [{ group: '*', resources: ['*/log', '*/exec', '*/portforward'] }],
  },
];

const READS = ['get', 'list', 'watch'];

const BY_LEVEL: Readonly<Record<number, readonly AuditRule[]>> = {
  1: [
    { level: 'None', verbs: READS },
    { level: 'Request', verbs: ['create'] },
    { level: 'Metadata' },
  ],
  2: [{ level: 'Request', verbs: ['create'] }, { level: 'Metadata' }],
  3: [{ level: 'Request' }],
  4: [{ level: 'RequestResponse' }],
};

export type AuditLevel = AuditRule['level'];
export type AuditStage = NonNullable<AuditRule['omitStages']>[number];
export type RequestTarget = NonNullable<AuditRule['requestTargets']>[number];

export interface AuditedRequest {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  /** Undefined: no request for a resource. */
  readonly resource:
    | {
        readonly group: string;
        readonly resource: string;
        readonly subresource: string;
        readonly namespace: string;
        readonly name: string;
      }
    | undefined;
  readonly path: string;
  readonly target: RequestTarget;
  /** Undefined: the request is not for a cluster. */
  readonly cluster: string | undefined;
}

export interface Decision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
}

export type AuditPolicy = (request: AuditedRequest) => Decision;

const NOTHING: Decision = { level: 'None', omitStages: new Set() };

/** Non-empty rules replace the presets; the configuration refuses both at once. */
export function auditPolicy({ enabled, level = 0, policy }: AuditConfig): AuditPolicy {
  if (enabled !== true) return () => NOTHING;
  const own = policy?.rules ?? [];
  const isPreset = own.length === 0 && level > 0;
  const rules = isPreset ? presetRules(level) : own;
  const everywhere = isPreset ? (['RequestReceived'] as const) : (policy?.omitStages ?? []);
  const decisions = rules.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: new Set<AuditStage>([...everywhere, ...(rule.omitStages ?? [])]),
    },
  }));
  return (request) => decisions.find(({ rule }) => matches(rule, request))?.decision ?? NOTHING;
}

/** The prepared policies: `audit.level` from 1 (little) to 4 (bodies of requests and answers). */
function presetRules(level: number): readonly AuditRule[] {
  const own = BY_LEVEL[level] ?? [];
  // The first level does not record reads of secrets either.
  const [first, ...rest] = own;
  const isQuiet = first?.level === 'None';
  const silent = [UNRECORDED, RELAYED];
  return isQuiet ? [...silent, first, ...SECRETIVE, ...rest] : [...silent, ...SECRETIVE, ...own];
}

function matches(rule: AuditRule, request: AuditedRequest): boolean {
  const { users = [], userGroups = [], verbs = [], requestTargets = [], clusters = [] } = rule;
  return (
    isAny(users, (name) => name === request.user) &&
    isAny(userGroups, (name) => request.groups.includes(name)) &&
    isAny(verbs, (verb) => verb === request.verb) &&
    isAny(requestTargets, (target) => target === request.target) &&
    isAny(clusters, (cluster) => cluster === request.cluster) &&
    matchesWhat(rule, request)
  );
}

/** An empty list restricts nothing. */
function isAny<T>(list: readonly T[], fits: (item: T) => boolean): boolean {
  return list.length === 0 || list.some(fits);
}

/** A rule applies to resources, or to URLs; a rule that names neither applies to all requests. */
function matchesWhat(rule: AuditRule, request: AuditedRequest): boolean {
  const { resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  if (resources.length > 0 || namespaces.length > 0) {
    const { resource } = request;
    if (resource === undefined) return false;
    return (
      isAny(namespaces, (namespace) => namespace === resource.namespace) &&
      isAny(resources, (entry) => matchesResource(entry, resource))
    );
  }
  if (nonResourceURLs.length === 0) return true;
  return (
    request.resource === undefined && nonResourceURLs.some((url) => matchesUrl(url, request.path))
  );
}

type Entry = NonNullable<AuditRule['resources']>[number];

function matchesResource(
  { group = '', resources = [], resourceNames = [] }: Entry,
  wanted: NonNullable<AuditedRequest['resource']>,
): boolean {
  if (group !== '*' && group !== wanted.group) return false;
  if (!isAny(resourceNames, (name) => name === wanted.name)) return false;
  const { resource, subresource } = wanted;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return isAny(resources, (pattern) => {
    if (pattern === '*' || pattern === combined) return true;
    // As Kubernetes reads it, `pods/*` is for pods as well.
    if (pattern.endsWith('/*')) return resource === pattern.slice(0, -2);
    return pattern.startsWith('*/') && subresource !== '' && subresource === pattern.slice(2);
  });
}

function matchesUrl(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

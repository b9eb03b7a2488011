/** Operations of documents about the platform: overview, history, access, branch, secret stores, audit. */
import {
  AUDIT_EVENTS_PATH,
  BRANCHES_PATH,
  COMMITS_PATH,
  COMPARE_PATH,
  COSTS_PATH,
  EXPLAIN_PATH,
  PLAN_PATH,
  SEARCH_PATH,
  SUMMARY_PATH,
  SUSPENSIONS_PATH,
  WHO_PATH,
} from '../../paths.ts';
import {
  ATTRIBUTES,
  type DocumentOperation,
  PAST,
  type UntaggedOperation as Part,
  PRETTY,
  page,
  SUBJECT,
  tagged,
  WAIT,
} from './operation.ts';
import { count, flag, STATUS_SCHEMA, text } from './schema-parts.ts';

const OVERVIEW: readonly Part[] = [
  {
    path: SUMMARY_PATH,
    method: 'get',
    id: 'readSummary',
    description:
      'State of the platform: health, branch, held commits, pushes, degraded objects. Each section takes the right that shows the same elsewhere. With `since` the answer comes when the summary changes.',
    query: {
      since: text('`metadata.version` of an earlier answer.', { pattern: '^[0-9a-f]{64}$' }),
      ...WAIT,
      ...PAST,
      ...PRETTY,
    },
    answers: { 200: 'Summary' },
    refusals: [400],
  },
  {
    path: SEARCH_PATH,
    method: 'get',
    id: 'search',
    description: 'Objects of all kinds that the caller may list or get, best match first.',
    query: {
      'q!': text(
        'At most eight words that all match; `kind:`, `ns:`, `owner:` and `label:` filter.',
        {
          minLength: 1,
          maxLength: 256,
        },
      ),
      limit: count('Number of items; 20 if absent.', { minimum: 1, maximum: 100 }),
      ...PRETTY,
    },
    answers: { 200: 'SearchResult' },
    refusals: [400],
  },
  {
    path: COSTS_PATH,
    method: 'get',
    id: 'readCosts',
    description:
      'Costs of the tenants that the caller may list or get. Observations are cached for a minute. 404: `costControl` is not enabled.',
    query: PRETTY,
    answers: { 200: 'TenantCosts' },
    refusals: [404],
  },
];

const HISTORY: readonly Part[] = [
  {
    path: COMMITS_PATH,
    method: 'get',
    id: 'listCommits',
    description: 'Commits of the branch, newest first. Takes the right to clone.',
    query: {
      ...page(50, 500),
      team: text('Only commits that changed the team or what it owns.'),
      ...PAST,
      ...PRETTY,
    },
    answers: { 200: 'CommitList' },
    refusals: [400, 410],
  },
  {
    path: BRANCHES_PATH,
    method: 'get',
    id: 'listBranches',
    description: 'Branches that can be planned, newest first. Takes the right to clone.',
    query: {
      limit: count('Number of branches; 100 if absent. Larger values are cut to 1000.', {
        minimum: 0,
      }),
      ...PRETTY,
    },
    answers: { 200: 'BranchList' },
    refusals: [400],
  },
  {
    path: COMPARE_PATH,
    method: 'get',
    id: 'compare',
    description: 'Objects that differ between two moments. Takes the right to clone.',
    query: {
      'from!': text('Commit id of at least four digits, or a time (RFC 3339).'),
      to: text('The same. Absent: the present.'),
      ...PRETTY,
    },
    answers: { 200: 'Comparison' },
    refusals: [400],
  },
  {
    path: PLAN_PATH,
    method: 'post',
    id: 'plan',
    description:
      'Changes that a commit of the repository would make, with the verdict of a push by the caller. Takes the right to clone.',
    query: PRETTY,
    body: 'PlanTarget',
    answers: { 200: 'Plan' },
    refusals: [400, 404],
  },
];

const ACCESS: readonly Part[] = [
  {
    path: EXPLAIN_PATH,
    method: 'get',
    id: 'explainAccess',
    description:
      'Reason why a user, team or key may do something, or not. Questions about others take `create` on `subjectaccessreviews`.',
    query: { ...ATTRIBUTES, ...SUBJECT, ...PRETTY },
    answers: { 200: 'AccessExplanation' },
    refusals: [400, 404],
  },
  {
    path: WHO_PATH,
    method: 'get',
    id: 'listSubjects',
    description:
      'Users and groups that may do something. Takes `create` on `subjectaccessreviews`.',
    query: { ...ATTRIBUTES, ...PRETTY },
    answers: { 200: 'AccessList' },
    refusals: [400],
  },
];

const SYNC: readonly Part[] = [
  {
    path: '/sync',
    method: 'get',
    id: 'readSync',
    description: 'State of the platform relative to its branch.',
    answers: { 200: 'SyncStatus' },
  },
  {
    path: '/sync',
    method: 'post',
    id: 'sync',
    description:
      'Fetches from the remote, and waits until a commit is applied. 409: it is held or refused. 504: it was not seen in time.',
    query: {
      wait: text('Commit to wait for.', { pattern: '^[0-9a-f]{40}$' }),
      ...WAIT,
    },
    answers: { 200: 'SyncStatus', 409: 'SyncStatus', 504: 'SyncStatus' },
    refusals: [400, 503],
  },
  {
    path: '/sync/approve',
    method: 'post',
    id: 'approve',
    description: 'Approves the removals of a held commit.',
    body: 'PruneApproval',
    answers: { 200: 'SyncStatus' },
    refusals: [400, 409],
  },
];

const SECRET_STORE: readonly Part[] = [
  {
    path: '/secret-store',
    method: 'get',
    id: 'readSecretStore',
    description: 'State of the sync with the secret stores.',
    answers: { 200: 'SecretStoreStatus' },
  },
  {
    path: '/secret-store/sync',
    method: 'post',
    id: 'syncSecretStore',
    description: 'Begins a cycle. With `wait` the answer comes after it; 504: it takes longer.',
    query: {
      wait: flag('Wait for the end of the cycle.'),
      ...WAIT,
      store: text('Store of the cycle. Absent: all stores.'),
      allowDeletions: flag('Approve the deletions of the cycle.'),
    },
    answers: { 200: 'SecretStoreStatus', 202: 'SecretStoreStatus', 504: 'SecretStoreStatus' },
    refusals: [400],
  },
];

const PART = { part: text('Part: `remote`, `secret-store` or `tenants`.') };
const PART_OF_NAME = {
  part: text('Part: `secret-store` or `tenants`.'),
  name: text('Name of the store or tenant.', { maxLength: 253 }),
};

const SUSPENSIONS: readonly Part[] = [
  {
    path: SUSPENSIONS_PATH,
    method: 'get',
    id: 'listSuspensions',
    description: 'Suspensions in force.',
    answers: { 200: 'SuspensionList' },
  },
  ...(['', '/{name}'] as const).flatMap((behind): readonly Part[] => {
    const path = `${SUSPENSIONS_PATH}/{part}${behind}`;
    const parts = behind === '' ? PART : PART_OF_NAME;
    const suffix = behind === '' ? '' : 'Named';
    return [
      {
        path,
        method: 'post',
        id: `suspend${suffix}`,
        description: 'Stops a part of the platform for a time.',
        parts,
        body: 'SuspensionRequest',
        answers: { 201: 'Suspension' },
        refusals: [400, 404],
      },
      {
        path,
        method: 'delete',
        id: `resume${suffix}`,
        description: 'Ends a suspension.',
        parts,
        answers: { 200: 'Suspension' },
        refusals: [404],
      },
    ];
  }),
];

const AUDIT: readonly Part[] = [
  {
    path: AUDIT_EVENTS_PATH,
    method: 'get',
    id: 'listAuditEvents',
    description: 'Audit events of the data store, newest first. 404: there is no data store.',
    query: {
      auditID: text('Id of a request.'),
      user: text('Name of the user.'),
      verb: text('Verb.'),
      resource: text('Plural of the kind.'),
      namespace: text('Namespace of the object.'),
      name: text('Name of the object.'),
      revision: text('Commit that the request made.'),
      source: text('Agent that sent the event.'),
      since: text('Earliest time (RFC 3339).', { format: 'date-time' }),
      until: text('Latest time (RFC 3339).', { format: 'date-time' }),
      limit: count('Number of events; 100 if absent.', { minimum: 1, maximum: 1000 }),
    },
    answers: { 200: 'AuditEventList' },
    refusals: [400, 404, 503],
  },
  {
    path: AUDIT_EVENTS_PATH,
    method: 'post',
    id: 'relayAuditEvents',
    description: 'Takes audit events of agents, all or none of them.',
    body: 'AuditEventList',
    answers: { 200: STATUS_SCHEMA },
    refusals: [400],
  },
];

export const PLATFORM_OPERATIONS: readonly DocumentOperation[] = [
  ...tagged('overview', OVERVIEW),
  ...tagged('history', HISTORY),
  ...tagged('access', ACCESS),
  ...tagged('sync', SYNC),
  ...tagged('secret-store', SECRET_STORE),
  ...tagged('suspensions', SUSPENSIONS),
  ...tagged('audit', AUDIT),
];

/** Schemas of documents about many objects: summary, search, explanations of access. */
import type { JsonObject } from '../../../apimachinery/index.ts';
import {
  AUTHOR,
  count,
  described,
  flag,
  head,
  LINKED,
  listOf,
  mapOf,
  nullable,
  oneOf,
  ref,
  shape,
  text,
  time,
} from './schema-parts.ts';

const listed = (items: JsonObject, description: string): JsonObject =>
  shape(description, {
    count: count('Number of all items.'),
    items: listOf(items, 'The first 200 items.'),
  });

const PLACE: Readonly<Record<string, JsonObject>> = {
  path: text('Path of the file.'),
  line: count('Line, from 1.'),
  col: count('Column, from 1.'),
  message: text('Problem at this place.'),
};

const SUMMARY: Readonly<Record<string, JsonObject>> = {
  FileProblem: shape('Problem of a manifest, with its place.', {
    ...PLACE,
    'inClear?': flag('The file has a plaintext secret.'),
    'unreadable?': flag('The file is encrypted for another key.'),
    'object?': text('Object that is served from its last good version.'),
  }),
  DegradedObject: shape('Object whose newest manifest is not valid.', {
    ...LINKED,
    ...PLACE,
    message: text('First problem of the manifest.'),
  }),
  HealthCheck: shape('One check of `/readyz`.', {
    name: text('Name of the check.'),
    level: oneOf(['live', 'ready', 'degraded'], 'Endpoint that the check belongs to.'),
    'message?': text('Problem; absent: the check passes.'),
  }),
  BranchSummary: shape('State of the branch.', {
    state: oneOf(['applied', 'held', 'failing', 'past'], 'State of the newest commit.'),
    'message?': text('Reason of `failing`.'),
    'review?': text('Address of the review of writes.'),
    head: nullable(text('Newest commit of the branch.')),
    revision: nullable(text('Commit that readers see.')),
    'lastAppliedTime?': nullable(time('Time of the last new revision since the start.')),
    'commit?': shape('The commit that readers see; for users who may clone.', {
      revision: text('Id of the commit.'),
      author: AUTHOR,
      message: text('First line of the message.'),
      'time?': time('Committer time.'),
    }),
  }),
  HeldSummary: shape('Move of the branch that waits for an approval.', {
    revision: nullable(text('Held commit.')),
    reason: text('Reason in one word.'),
    message: text('Reason of the hold.'),
    prunes: listOf(ref('PrunedObject'), 'The first objects that the move would remove.'),
    pruneCount: count('Number of all of them.'),
    remedy: text('Way to go on.'),
    'mayApprove?': flag('The caller has the right to approve.'),
  }),
  PrunedObject: shape('Object that a held move would remove.', {
    group: text('API group.'),
    kind: text('Kind of the object.'),
    namespace: text('Namespace; empty: the kind has none.'),
    name: text('Name of the object.'),
    path: text('Path of its file.'),
  }),
  PushSummary: shape('Verdict on a push to the branch.', {
    time: time('Time of the verdict.'),
    user: text('Name of the pusher.'),
    result: oneOf(['accepted', 'refused'], 'Verdict.'),
    revision: text('Pushed commit.'),
    lines: listOf(text('Line that the pusher got.'), 'Lines that the pusher got.'),
    problems: count('Number of problems.'),
  }),
  KindSummary: shape('Number of objects of a kind that the caller may list.', {
    apiVersion: text('Group and version of the kind.'),
    group: text('API group.'),
    version: text('API version.'),
    kind: text('Kind.'),
    plural: text('Plural of the kind, as in URLs.'),
    namespaced: flag('Objects of the kind have a namespace.'),
    objects: count('Number of objects.'),
    degraded: count('Number of degraded objects.'),
    'partial?': flag('Only the namespaces that the caller may list are counted.'),
  }),
  BadConditions: shape('Object with conditions of severity `Error` or `Warning`.', {
    ...LINKED,
    conditions: listOf(
      shape('A status condition.', {
        type: text('Type of the condition.'),
        severity: text('`Error` or `Warning`.'),
        'reason?': text('Reason in one word.'),
        message: text('Reason of the condition.'),
      }),
      'The conditions.',
    ),
  }),
  StoreSummary: shape('State of a secret store.', {
    name: text('Name of the store.'),
    state: oneOf(['disabled', 'available', 'unavailable', 'suspended'], 'State of the store.'),
    'message?': text('Reason why the store is not in use or not available.'),
    counts: mapOf(count('Number of secrets.'), 'Number of secrets by state.'),
    warnings: listOf(text('Warning.'), 'Warnings about the configuration.'),
    attentionCount: count('Number of secrets that need attention.'),
    'stores?': listOf(ref('StoreSummary'), 'Other stores, beside the default store.'),
  }),
  WithheldSection: shape('Section that the caller has no right to.', {
    section: text('Name of the section.'),
    path: text('Path that the right is about.'),
    verb: text('Verb of the right.'),
  }),
  Summary: shape('State of the platform, from the rights of its reader.', {
    ...head('Summary'),
    metadata: shape('Version of the document.', {
      version: text('Digest of the document; `since` waits until it changes.'),
      time: time('Time of the answer.'),
    }),
    version: text('Version of gitplane.'),
    'past?': shape('Moment of a summary of the past.', {
      revision: text('Id of the commit.'),
      time: time('Committer time.'),
    }),
    'health?': shape('Health checks. Absent in the past.', {
      ok: flag('All checks pass.'),
      checks: listOf(ref('HealthCheck'), 'All checks.'),
    }),
    'branch?': described('BranchSummary', 'State of the branch.'),
    'held?': nullable(described('HeldSummary', 'Held move; null: none.')),
    'pushes?': shape('Last pushes to the branch.', {
      since: time('Start of the record.'),
      items: listOf(ref('PushSummary'), 'At most 50 pushes, newest first.'),
    }),
    kinds: listOf(ref('KindSummary'), 'Kinds that the caller may list.'),
    degraded: listed(ref('DegradedObject'), 'Degraded objects that the caller may see.'),
    'problems?': listed(ref('FileProblem'), 'Problems of manifests.'),
    'secretStore?': described('StoreSummary', 'State of the default secret store.'),
    'suspensions?': listOf(ref('Suspension'), 'Parts of the platform that are suspended.'),
    'conditions?': listed(ref('BadConditions'), 'Objects with bad conditions.'),
    'replicas?': shape('Replicas of the platform. Absent: a single daemon.', {
      'leader?': nullable(text('Id of the leader.')),
      items: listOf(
        shape('A replica.', {
          id: text('Id.'),
          url: text('Address for the other replicas.'),
          version: text('Version of gitplane.'),
        }),
        'Replicas that etcd lists now.',
      ),
    }),
    withheld: listOf(ref('WithheldSection'), 'Sections that the caller has no right to.'),
  }),
};

const SEARCH: Readonly<Record<string, JsonObject>> = {
  SearchResult: shape('Objects that match a search, best match first.', {
    kind: oneOf(['SearchResult'], 'Kind of the document.'),
    items: listOf(ref('SearchHit'), 'The best matches.'),
    total: count('Number of all matches that the caller may see.'),
  }),
  SearchHit: shape('Object that matches a search.', {
    ...LINKED,
    'displayName?': text('Display name.'),
    'owner?': text('Owner: `user/ada` or `team/ops`.'),
    'labels?': mapOf(text('Value.'), 'Labels of the object.'),
    rank: count('Rank of the match; larger is better.'),
  }),
};

const number = (description: string): JsonObject => ({ type: 'number', description });
const SUM: Readonly<Record<string, JsonObject>> = {
  perHour: number('Cost of an hour.'),
  perMonth: number('Cost of 730 hours.'),
};
const AMOUNTS: Readonly<Record<string, JsonObject>> = {
  requested: number('Cores or bytes that pods request.'),
  capacity: number('Cores or bytes that the nodes can allocate.'),
};

const COSTS: Readonly<Record<string, JsonObject>> = {
  TenantCosts: shape('Costs of tenants, by name.', {
    ...head('TenantCosts'),
    'currency?': text('Currency of all sums; absent: the configuration names none.'),
    items: listOf(ref('TenantCost'), 'The first 200 tenants.'),
    count: count('Number of tenants that the caller may see.'),
    total: shape('Sum of the tenants that have a total.', {
      ...SUM,
      tenants: count('Number of these tenants.'),
    }),
  }),
  TenantCost: shape('Costs of one tenant.', {
    name: text('Name of the tenant.'),
    'observedAt?': time('Time when its cluster was read; absent: it was not.'),
    'nodes?': count('Number of nodes.'),
    'pods?': count('Number of pods that run on nodes.'),
    'cpu?': described('ResourceCost', 'Cost of CPU; absent: unknown.'),
    'memory?': described('ResourceCost', 'Cost of memory; absent: unknown.'),
    'total?': shape('Cost of CPU and memory; absent: one of them is unknown.', SUM),
    unknown: listOf(
      shape('Part of the costs that is unknown.', {
        what: oneOf(['cpu', 'memory', 'tenant'], 'Cost that is absent or too low.'),
        reason: text('Reason.'),
      }),
      'Parts that are unknown.',
    ),
  }),
  ResourceCost: shape('Cost of one resource.', { ...AMOUNTS, ...SUM }),
};

const ACCESS: Readonly<Record<string, JsonObject>> = {
  AccessSubject: shape('User or group of a grant.', {
    kind: text('`User` or `Group`.'),
    name: text('Name.'),
  }),
  NamedObject: shape('Names of an object.', LINKED),
  AccessGrant: shape('Grant that allows the request.', {
    via: oneOf(
      ['builtin', 'binding', 'object'],
      'Origin: built-in right, binding, or owner and access rules of the object.',
    ),
    'subject?': described('AccessSubject', 'Subject of the grant.'),
    'binding?': described('NamedObject', 'RoleBinding or ClusterRoleBinding.'),
    'role?': described('NamedObject', 'Role or ClusterRole.'),
    'object?': described('NamedObject', 'Object with the access rule.'),
    'rule?': {
      description: 'Rule of the role, or name of the access rule.',
      oneOf: [text('Name of the access rule.'), ref('PolicyRule')],
    },
  }),
  PolicyRule: shape('Rule of a role.', {
    verbs: listOf(text('Verb.'), 'Verbs.'),
    apiGroups: listOf(text('API group.'), 'API groups.'),
    resources: listOf(text('Resource.'), 'Resources.'),
    resourceNames: listOf(text('Name.'), 'Names of objects; empty: all.'),
    nonResourceURLs: listOf(text('Path.'), 'Paths.'),
  }),
  AccessRule: shape('Verbs on an object, or a rule of a changed role.', {
    verbs: listOf(text('Verb.'), 'Verbs.'),
    'resources?': listOf(text('Resource.'), 'Resources.'),
    'resourceNames?': listOf(text('Name.'), 'Names of objects; empty: all.'),
    'nonResourceURLs?': listOf(text('Path.'), 'Paths.'),
  }),
  AccessRequest: shape('Request that the question is about.', {
    verb: text('Verb.'),
    'group?': text('API group.'),
    'resource?': text('Resource.'),
    'subresource?': text('Subresource.'),
    'namespace?': text('Namespace.'),
    'name?': text('Name.'),
    'path?': text('Path of a request that names no object.'),
  }),
  AccessExplanation: shape('Reason why a user, team or key may do something, or not.', {
    kind: oneOf(['AccessExplanation'], 'Kind of the document.'),
    subject: shape('User of the question.', {
      name: text('Name of the user.'),
      groups: listOf(text('Group.'), 'Groups that the caller may see.'),
      'key?': text('Access key.'),
    }),
    request: ref('AccessRequest'),
    allowed: flag('Decision.'),
    'reason?': text('Reason of the decision. Absent while a grant is hidden.'),
    grants: listOf(ref('AccessGrant'), 'Grants that the caller may see.'),
    hidden: count('Number of grants that the caller may not see.'),
    'scope?': shape('Scope of the access key.', { allows: flag('The scope allows the request.') }),
  }),
  AccessList: shape('Subjects that may do something.', {
    kind: oneOf(['AccessList'], 'Kind of the document.'),
    request: ref('AccessRequest'),
    items: listOf(
      shape('A subject with its grants.', {
        subject: ref('AccessSubject'),
        'team?': text('Team whose members have the group.'),
        'members?': listOf(text('User.'), 'The first 100 members.'),
        'memberCount?': count('Number of all members.'),
        'memberGroups?': listOf(text('Group.'), 'Groups that are members.'),
        grants: listOf(ref('AccessGrant'), 'Grants that the caller may see.'),
      }),
      'At most 1000 subjects.',
    ),
    hidden: count('Number of grants that the caller may not see.'),
    'left?': count('Number of grants of further subjects.'),
  }),
};

export const OVERVIEW_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  ...SUMMARY,
  ...SEARCH,
  ...COSTS,
  ...ACCESS,
};

/** Schemas of documents about parts of the platform: branch, secret stores, suspensions, audit, settings, tokens. */
import { isRecord, type JsonObject } from '../../../apimachinery/index.ts';
import { openApiSchema } from '../../../kinds/index.ts';
import {
  count,
  described,
  flag,
  listOf,
  mapOf,
  nullable,
  oneOf,
  openObject,
  ref,
  shape,
  text,
  time,
} from './schema-parts.ts';

const SYNC: Readonly<Record<string, JsonObject>> = {
  SyncStatus: shape('State of the platform relative to its branch.', {
    head: nullable(text('Newest commit of the branch.')),
    revision: nullable(text('Commit that readers see.')),
    state: oneOf(['applied', 'held', 'failing'], 'State of the newest commit.'),
    'message?': text('Reason of `failing`.'),
    'review?': text('Address of the review of writes.'),
    held: nullable(described('HeldSummary', 'Held move of the branch; null: none.')),
    problems: listOf(ref('FileProblem'), 'The first 1000 problems of manifests.'),
    problemCount: count('Number of all problems.'),
    lastAppliedTime: nullable(time('Time of the last new revision since the start.')),
    'waited?': shape('Outcome of the awaited commit.', {
      revision: text('Id of the commit.'),
      result: oneOf(['applied', 'held', 'refused', 'unknown'], 'Outcome.'),
      'message?': text('Reason of `unknown`.'),
      files: listOf(
        shape('File that the commit changed.', {
          path: text('Path of the file.'),
          result: oneOf(['applied', 'invalid', 'removed', 'ignored', 'held'], 'Outcome.'),
          problems: listOf(ref('PlanProblem'), 'Problems of the file.'),
        }),
        'The first 1000 files.',
      ),
      'lines?': listOf(text('Line.'), 'Lines that the pusher got.'),
    }),
  }),
  PruneApproval: shape('Approval of a held commit.', {
    revision: text('Held commit.', { pattern: '^[0-9a-f]{40}$' }),
    reason: text('Reason for the record.', { minLength: 1, maxLength: 1024 }),
  }),
};

const STORE: Readonly<Record<string, JsonObject>> = {
  SecretStoreStatus: shape('State of the secret sync with one store.', {
    name: text('Name of the store.'),
    state: oneOf(['disabled', 'available', 'unavailable', 'suspended'], 'State of the store.'),
    'message?': text('Reason why the store is not in use or not available.'),
    warnings: listOf(text('Warning.'), 'Warnings about the configuration.'),
    'address?': text('Address of the store.'),
    'namespace?': text('Namespace in the store.'),
    'intervalSeconds?': { type: 'number', description: 'Interval between cycles.' },
    counts: mapOf(count('Number of secrets.'), 'Number of secrets by state.'),
    attention: listOf(
      shape('Secret that needs attention.', {
        store: text('Name of the store.'),
        kind: text('Kind of the object.'),
        namespace: text('Namespace of the object.'),
        name: text('Name of the object.'),
        state: text('State of the sync.'),
        reason: text('Reason in one word.'),
        message: text('Reason of the state.'),
      }),
      'The first 1000 secrets that need attention.',
    ),
    attentionCount: count('Number of all of them.'),
    pulls: listOf(
      shape('Path whose secrets become objects.', {
        name: text('Name of the pull.'),
        place: text('Path in the store.'),
        namespace: text('Namespace of the objects.'),
        'problem?': shape('Reason why nothing, or not everything, was listed.', {
          reason: text('Reason in one word.'),
          message: text('Reason.'),
        }),
        tied: count('Number of secrets with a linked object.'),
        untied: count('Number of secrets whose object a user unlinked.'),
        refused: listOf(
          shape('Secret without an object.', {
            path: text('Path below the mount.'),
            reason: text('Reason in one word.'),
            message: text('Reason.'),
          }),
          'The first 1000 secrets without an object.',
        ),
        refusedCount: count('Number of all of them.'),
      }),
      'Paths whose secrets become objects.',
    ),
    lastCycle: nullable(
      shape('Last cycle; null: none since the start.', {
        started: time('Start of the cycle.'),
        milliseconds: { type: 'number', description: 'Duration.' },
        requests: count('Number of requests to the store.'),
        secrets: count('Number of secrets.'),
        pulled: count('Number of secrets that were read from the store.'),
        pushed: count('Number of secrets that were written to the store.'),
      }),
    ),
    'stores?': listOf(ref('SecretStoreStatus'), 'Other stores, beside the default store.'),
  }),
};

const SUSPENSIONS: Readonly<Record<string, JsonObject>> = {
  Suspension: shape('Part of the platform that is stopped for a time.', {
    target: text(
      '`remote`, `secret-store`, `tenants`, or one of these and a name: `tenants/blue`.',
    ),
    part: text('Part of the platform.'),
    'name?': text('Store or tenant. Absent: all of the part.'),
    user: text('User who suspended it.'),
    reason: text('Reason.'),
    since: time('Start.'),
    until: time('End.'),
  }),
  SuspensionList: shape('Suspensions in force.', {
    items: listOf(ref('Suspension'), 'Suspensions.'),
  }),
  SuspensionRequest: shape('Suspension to make.', {
    reason: text('Reason, in one line.', { minLength: 1, maxLength: 1024 }),
    'for?': text('Duration such as `30m`; at most `2160h`.', { default: '24h' }),
  }),
};

/** Agents may send more fields. */
const open = (description: string, fields: Readonly<Record<string, JsonObject>>): JsonObject => ({
  ...shape(description, fields),
  additionalProperties: true,
});

const AUDIT: Readonly<Record<string, JsonObject>> = {
  AuditEventList: shape('Audit events in the form of Kubernetes, newest first.', {
    kind: oneOf(['EventList'], 'Kind of the document.'),
    apiVersion: oneOf(['audit.k8s.io/v1'], 'Group and version.'),
    'metadata?': openObject('Empty.'),
    items: { ...listOf(ref('AuditEvent'), 'Events.'), maxItems: 1000 },
  }),
  AuditEvent: open('Event of `audit.k8s.io/v1`.', {
    level: oneOf(['Metadata', 'Request', 'RequestResponse'], 'Recorded detail.'),
    auditID: text('Id of the request.'),
    stage: text('Stage of the request.'),
    'requestURI?': text('URI; secrets in it are left out.'),
    'verb?': text('Verb.'),
    'user?': open('Caller.', {
      'username?': text('Name of the user.'),
      'groups?': listOf(text('Group.'), 'Groups of the user.'),
    }),
    'objectRef?': open('Object of the request.', {
      'apiGroup?': text('API group.'),
      'apiVersion?': text('API version.'),
      'resource?': text('Plural of the kind.'),
      'subresource?': text('Subresource.'),
      'namespace?': text('Namespace.'),
      'name?': text('Name.'),
    }),
    'responseStatus?': open('Status of the answer.', { 'code?': count('HTTP status code.') }),
    'annotations?': mapOf(text('Value.'), 'Annotations, such as the commit of a write.'),
    'requestReceivedTimestamp?': time('Arrival of the request.'),
    stageTimestamp: time('Time of the event.'),
  }),
};

const CONFIG = openApiSchema('config-status');

function settingsOf(names: readonly string[]): JsonObject {
  const { properties } = CONFIG;
  const all = isRecord(properties) ? properties : {};
  return Object.fromEntries(
    names.flatMap((name) => (name in all ? [[name, all[name] ?? {}]] : [])),
  );
}

const SETTINGS: Readonly<Record<string, JsonObject>> = {
  PlatformSettings: {
    type: 'object',
    description: 'Parts of the configuration that programs act on.',
    properties: {
      ...settingsOf([
        ...['platformHost', 'projectNamespacePrefix', 'cloud', 'costControl', 'imageBuilder'],
        ...['platformDB', 'apps'],
      ]),
      audit: shape('Audit log.', { disableAgentSyncBack: flag('Agents keep their events.') }),
    },
  },
  UISettings: openApiSchema('ui-settings'),
  SignInInfo: shape('Ways to sign in.', {
    methods: shape('Ways to sign in.', {
      sso: listOf(
        shape('An identity provider.', {
          id: text('Part of its URLs.'),
          displayName: text('Name for people.'),
          type: text('Protocol or provider.'),
          loginEndpoint: text('Path that begins a sign-in.'),
          logoutEndpoint: text('Path that ends the session there.'),
        }),
        'Identity providers.',
      ),
      providerE: shape('Provider whose users show a token.', {
        enabled: flag('It is configured.'),
        'host?': text('Its address.'),
      }),
      password: shape('Password of the platform.', { enabled: flag('It is allowed.') }),
    }),
  }),
  VersionInfo: shape('Version, in the form of Kubernetes.', {
    major: text('Major version of Kubernetes.'),
    minor: text('Minor version of Kubernetes.'),
    gitVersion: text('Both, with the version of gitplane behind the plus sign.'),
    gitCommit: text('Always empty.'),
    gitTreeState: text('Always `clean`.'),
    buildDate: text('Always the epoch.'),
    goVersion: text('Version of Node.js.'),
    compiler: text('Always `node`.'),
    platform: text('Operating system and processor.'),
  }),
};

const TOKENS: Readonly<Record<string, JsonObject>> = {
  JsonWebKeySet: shape('Public keys of endpoint tokens (RFC 7517).', {
    keys: listOf(openObject('A key.'), 'Keys.'),
  }),
  IssuerMetadata: shape('Issuer of endpoint tokens (OpenID Connect Discovery 1.0).', {
    issuer: text('Issuer.'),
    jwks_uri: text('URL of the keys.'),
    response_types_supported: listOf(text('Type.'), 'Types of responses.'),
    subject_types_supported: listOf(text('Type.'), 'Types of subjects.'),
    id_token_signing_alg_values_supported: listOf(text('Algorithm.'), 'Algorithms.'),
  }),
  RevocationList: shape('Revoked endpoint tokens that have not expired.', {
    revoked: listOf(
      shape('A token.', { jti: text('Id of the token.'), exp: count('Expiry, in seconds.') }),
      'Tokens.',
    ),
  }),
  TokenToRevoke: {
    ...shape('Token to revoke: `token` or `jti`.', {
      'token?': text('The token.'),
      'jti?': text('Id of the token, for callers who may delete endpoint tokens.'),
    }),
    maxProperties: 1,
    minProperties: 1,
  },
  SessionInfo: shape('Holder of a key or session.', {
    user: text('Name of the user.'),
    username: text('The same name.'),
    groups: listOf(text('Group.'), 'Groups of the user.'),
    'accessKey?': text('Name of the access key.'),
    'csrfToken?': text('Of a browser session: value of `x-csrf-token` for changes.'),
    'apiRoot?': text('Of a key: root of the Kubernetes API.'),
    'expirationTimestamp?': time('Of a key: end.'),
  }),
  KeyToCheck: shape('Access key.', { key: text('The key.') }),
  KeyRevocation: shape('Outcome.', { revoked: flag('The key was a login key, and has ended.') }),
};

export const SERVICE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  ...SYNC,
  ...STORE,
  ...SUSPENSIONS,
  ...AUDIT,
  ...SETTINGS,
  ...TOKENS,
};

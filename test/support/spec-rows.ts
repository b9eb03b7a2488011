/**
 * Every rule of the specification outside of sections 2.8.1 to 2.8.12 (config-fields.ts
 * has those), with its section. Sentences that leave something open are no rules.
 */

export interface SpecRow {
  readonly section: string;
  /** Name of the rule in tests. */
  readonly id: string;
  readonly rule: string;
  /** A field of the configuration that the rule repeats: its tests are those of the rule. */
  readonly field?: string;
}

/** `id: rule` lines, or `id = field: rule` for a rule that a field of the configuration has already. */
function rows(section: string, text: string): SpecRow[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [, id = '', field, rule = ''] = /^\s*(\S+)(?: = (\S+))?: (.+)$/.exec(line) ?? [];
      return { section, id, rule, ...(field === undefined ? {} : { field }) };
    });
}

export const SPEC_ROWS: readonly SpecRow[] = [
  ...rows(
    '1',
    `
    service.verbs: Objects of the group, version v1, are created, read, updated, patched and deleted over HTTP.
    service.kinds: SharedSecret, Team, DirectClusterEndpointToken, OwnedAccessKey and Config are served.
    service.projectSecrets: A shared secret can be synced to a project secret.
    service.teamMembers: Users and groups of an identity provider get access together, as a team.
    service.teamKeys: A team can have access keys of its own.
    service.teamObjects: A team can own objects.
    service.endpointTokens: An endpoint token reaches a connected cluster without the central instance.
    service.accessKeys: An access key authenticates at the API without a person at hand.
    service.accessKeysOfPrograms: An access key authenticates the command-line client.
    service.config: The configuration can be read through the API.
    service.envelope: Every object has kind, apiVersion and metadata, beside spec and status.
    service.kubectl: create, get, edit, patch and delete of a generic client do what the operations of HTTP do.
  `,
  ),
  ...rows(
    '2.1',
    `
    envelope.kind: The kind is written in CamelCase.
    envelope.kind.immutable: An update cannot change the kind.
    envelope.kind.inferred: The server takes the kind from the endpoint where a body has none.
    envelope.apiVersion: apiVersion names the schema, and another one is not taken for it.
    envelope.status: Observed state is the server's: a client cannot write it beside spec.
    envelope.nameRequired: Only metadata.name, or generateName in place of it, is required on create.
  `,
  ),
  ...rows(
    '2.2',
    `
    metadata.name.unique: A name is unique within a namespace.
    metadata.name.required: A create without a name and without generateName is refused.
    metadata.name.immutable: An update cannot change the name.
    metadata.generateName: The server appends a unique suffix to the prefix and returns the name.
    metadata.generateName.ignored: generateName is used only where name is absent.
    metadata.generateName.truncated: A long prefix is cut so that the name fits.
    metadata.namespace: A namespace is a DNS label.
    metadata.namespace.immutable: An update cannot change the namespace.
    metadata.namespace.default: An empty namespace is the namespace default.
    metadata.namespace.none: Objects of kinds without a namespace have none.
    metadata.selfLink: selfLink is never populated.
    metadata.uid: The server gives each object a uid, and a later object of the same name another one.
    metadata.uid.immutable: A PUT cannot change the uid.
    metadata.resourceVersion: The server sets resourceVersion, whatever a create says.
    metadata.resourceVersion.concurrency: An update with an old resourceVersion is refused.
    metadata.resourceVersion.changes: Every change gives another resourceVersion, and no change gives none.
    metadata.resourceVersion.watch: A watch goes on from the resourceVersion that it is given.
    metadata.generation: The server counts desired states, so a change of labels does not count.
    metadata.creationTimestamp: The server sets it in UTC, in RFC 3339.
    metadata.creationTimestamp.readOnly: A client cannot set it.
    metadata.creationTimestamp.lists: It is absent from lists.
    metadata.deletionTimestamp: The server sets it when deletion is requested.
    metadata.deletionTimestamp.readOnly: A client can neither set it nor take it away.
    metadata.deletionTimestamp.shortened: A later deletion never moves it further into the future.
    metadata.deletionGracePeriodSeconds: It is set together with deletionTimestamp.
    metadata.deletionGracePeriodSeconds.readOnly: A client cannot set it.
    metadata.labels: Objects are selected by labels.
    metadata.annotations: Objects are not selected by annotations.
    metadata.annotations.preserved: A modification keeps annotations that it does not name.
    metadata.ownerReferences: An object goes when all of its owners are gone.
    metadata.ownerReferences.oneController: At most one owner is the controller.
    metadata.ownerReferences.apiVersion: The apiVersion is that of the owner.
    metadata.ownerReferences.kind: The kind is that of the owner.
    metadata.ownerReferences.name: The name is that of the owner.
    metadata.ownerReferences.uid: The uid is that of the owner: another life of the name is no owner.
    metadata.ownerReferences.controller: controller marks the owner that manages the object.
    metadata.ownerReferences.blockOwnerDeletion: An owner deleted in the foreground stays while such a reference is there.
    metadata.ownerReferences.blockOwnerDeletion.default: Without it a reference does not hold up the owner.
    metadata.ownerReferences.blockOwnerDeletion.right: Setting it takes the right to delete the owner.
    metadata.finalizers: An object goes when its finalizers are empty.
    metadata.finalizers.onlyRemoved: While an object is deleted, finalizers can only be taken away.
    metadata.finalizers.order: Finalizers are taken away in any order.
    metadata.managedFields: The server keeps who manages which fields.
    metadata.managedFields.manager: manager names the workflow.
    metadata.managedFields.operation: operation is Apply or Update.
    metadata.managedFields.apiVersion: apiVersion is the group and version that the fields are of.
    metadata.managedFields.time: time changes when the manager adds or changes a field.
    metadata.managedFields.time.removed: time changes when the manager removes a field.
    metadata.managedFields.fieldsType: fieldsType is FieldsV1.
    metadata.managedFields.fieldsV1: fieldsV1 is the set of fields in the form FieldsV1.
    metadata.managedFields.subresource: subresource is that of the update, and absent for the object itself.
  `,
  ),
  ...rows(
    '2.3',
    `
    SharedSecret.namespaced: SharedSecrets are in namespaces.
    SharedSecret.spec.displayName: The name for people is what the object is shown with.
    SharedSecret.spec.description: The description is kept and given back.
    SharedSecret.spec.owner.user: The user that owns a secret may do everything with it.
    SharedSecret.spec.owner.team: Members of the team that owns a secret may do everything with it.
    SharedSecret.spec.data.keys: Keys consist of alphanumerics, -, _ and dots.
    SharedSecret.spec.data.values: Values are base64.
    SharedSecret.spec.access: Access rules become roles and role bindings.
    SharedSecret.status.conditions: Conditions say what state the object is in.
    accessRule.name: A rule may have a name.
    accessRule.verbs: Verbs apply to the object, and the star is all of them.
    accessRule.subresources: Subresources limit what a rule allows.
    accessRule.users: Users get the verbs.
    accessRule.teams: Members of teams get the verbs.
  `,
  ),
  ...rows(
    '2.4',
    `
    Team.notNamespaced: Teams are in no namespace.
    Team.spec.displayName: The name for people is what the object is shown with.
    Team.spec.description: The description is kept and given back.
    Team.spec.owner.user: The user that owns a team may do everything with it.
    Team.spec.owner.team: Members of the team that owns a team may do everything with it.
    Team.spec.username: The user name identifies one team: a second team with it is warned.
    Team.spec.users: Users of the list are members.
    Team.spec.groups: Who has a group of the list is a member.
    Team.spec.imagePullSecrets: Group, kind, name and namespace lead to a secret; a reference to none is warned.
    Team.spec.clusterRoles: Members have the roles in clusters.
    Team.spec.access: Access rules become roles and role bindings.
    Team.status: The status is empty.
    Team.verbs.bind: Giving a team roles or access rules takes bind on the team.
    Team.verbs.makeowner: Making a team the owner of an object takes makeowner on the team.
  `,
  ),
  ...rows(
    '2.5',
    `
    scope.roles: A role of a scope allows what the role is for.
    scope.roles.projects: projects limit a role to these.
    scope.roles.virtualClusters: virtualClusters limit a role to these.
    scope.projects: Projects limit the key to these, and a star is all.
    scope.spaces: Spaces limit the key to these, and a star is all of the project.
    scope.virtualClusters: Virtual clusters limit the key to these, and a star is all of the project.
    scope.clusters: Clusters limit the key to these, and a star is all.
    scope.rules: Deprecated rules limit the key to requests that they match.
    scope.allowPlatformCli: The deprecated switch allows the reads of the command-line client, as the role does.
    scope.rules.verbs: An empty list of verbs is every verb.
    scope.rules.resources: Resources match by group, name and wildcard, and an empty list is all.
    scope.rules.resourceNames: Names limit a rule to these objects, and need resources.
    scope.rules.namespaces: Namespaces limit a rule; the empty one is for what has none.
    scope.rules.nonResourceURLs: Paths may end in a star as the whole last step.
    scope.rules.requestTargets: Targets limit a rule, and an empty list is all.
    scope.rules.cluster: A cluster limits a rule to requests to it.
    scope.rules.virtualClusters: Virtual clusters limit a rule to requests to them, and an empty name is all.
  `,
  ),
  ...rows(
    '2.6',
    `
    OwnedAccessKey.spec.displayName: The name for people is what the object is shown with.
    OwnedAccessKey.spec.description: The description is kept and given back.
    OwnedAccessKey.spec.user: The key acts as the user.
    OwnedAccessKey.spec.team: The key acts as the team.
    OwnedAccessKey.spec.subject: The key acts as the subject, in place of a user or team.
    OwnedAccessKey.spec.groups: The key adds the groups.
    OwnedAccessKey.spec.key: The key is what a bearer token holds.
    OwnedAccessKey.spec.disabled: A disabled key does not authenticate.
    OwnedAccessKey.spec.ttl: The key ends after its time to live.
    OwnedAccessKey.spec.ttlAfterLastActivity: The time to live counts from the last use.
    OwnedAccessKey.spec.scope: The key allows no more than its scope.
    OwnedAccessKey.spec.type: Keys of users and keys of the platform are told apart.
    OwnedAccessKey.spec.identity: The key of a login has the identity of the provider.
    OwnedAccessKey.spec.identity.userId: The subject of the user at the provider.
    OwnedAccessKey.spec.identity.username: The user name at the provider.
    OwnedAccessKey.spec.identity.preferredUsername: The preferred user name at the provider.
    OwnedAccessKey.spec.identity.email: The mail address at the provider.
    OwnedAccessKey.spec.identity.emailVerified: The word of the provider that the address is verified.
    OwnedAccessKey.spec.identity.extraClaims: Only claims that the configuration allows.
    OwnedAccessKey.spec.identity.groups: The groups of the provider.
    OwnedAccessKey.spec.identity.connector: The connector of the login.
    OwnedAccessKey.spec.identity.connectorData: Never given by the API.
    OwnedAccessKey.spec.identity.identityRefresh: The last time the provider was asked.
    OwnedAccessKey.spec.oidcProvider: A refresh token has the client, nonce, redirect URI and scopes of its login.
    OwnedAccessKey.spec.parent: Deprecated; a write with it is warned.
    OwnedAccessKey.spec.oidcLogin: Deprecated; a write with it is warned, and its tokens are not given back.
    OwnedAccessKey.status.lastActivity: The last use of the key.
  `,
  ),
  ...rows(
    '2.7',
    `
    DirectClusterEndpointToken.metadata: metadata may be empty.
    DirectClusterEndpointToken.spec: spec may be empty.
    DirectClusterEndpointToken.spec.ttl: The token ends after so many seconds.
    DirectClusterEndpointToken.spec.scope: The token reaches what its scope says.
    DirectClusterEndpointToken.status.token: The token is a signed JWT.
  `,
  ),
  ...rows(
    '2.8',
    `
    Config.spec.raw: The text of the configuration is what people write, and is given back.
    Config.status: The status has what the text says, in structure.
  `,
  ),
  ...rows(
    '2.9',
    `
    sync.toHost.endpoints.enabled: Endpoints are synced, unless the file says otherwise.
    sync.toHost.services.enabled: Services are synced as well, unless the file says otherwise.
    sync.toHost.services.needEndpoints: Services without Endpoints are refused.
    sync.toHost.endpoints.patches: Patches change what is synced.
    patches.path: A patch needs a path.
    patches.path.absent: A path that leads nowhere changes nothing.
    patches.expression: A JavaScript expression gives the value.
    patches.reverseExpression: Another expression gives the value on the way back.
    patches.reference.single: In single-namespace mode a name becomes a generated one that begins with v.
    patches.reference.multi: In multi-namespace mode a name stays.
    patches.reference.apiVersion: A reference needs an apiVersion.
    patches.reference.apiVersionPath: The apiVersion is read at a path, or is apiVersion.
    patches.reference.kind: A reference needs a kind.
    patches.reference.kindPath: The kind is read at a path, or is kind.
    patches.reference.namePath: The name is at a path.
    patches.reference.namespacePath: The namespace is at a path, or is that of the object.
    patches.labels: The value is a label selector, and is translated as one.
  `,
  ),
  ...rows(
    '3',
    `
    states.gracefulDeletion: A deletion that has to wait sets deletionTimestamp and deletionGracePeriodSeconds.
    states.removed: An object that is deleted and has no finalizers is in no list and not found by name.
    states.blocked: Finalizers keep a deleted object, and can only be taken away.
    states.disabledKey: A key that is disabled stays as an object and does not authenticate.
    states.activity: Each use of a key moves the end that counts from the last use.
  `,
  ),
  ...rows(
    '4',
    `
    endpoints.yaml: Creates and replacements take application/yaml.
    endpoints.jsonPatch: PATCH takes application/json-patch+json, a list of operations.
  `,
  ),
  ...rows(
    '4.1',
    `
    endpoints.sharedsecrets.list: GET of the collection lists the secrets of the namespace.
    endpoints.sharedsecrets.GET: GET of a name gives the secret.
    endpoints.sharedsecrets.POST: POST creates a secret.
    endpoints.sharedsecrets.PUT: PUT replaces a secret.
    endpoints.sharedsecrets.PUT.resourceVersion: PUT needs metadata.resourceVersion.
    endpoints.sharedsecrets.PATCH: PATCH changes a secret.
    endpoints.sharedsecrets.DELETE: DELETE removes a secret.
  `,
  ),
  ...rows(
    '4.2',
    `
    endpoints.teams.list: GET of the collection lists teams.
    endpoints.teams.GET: GET of a name gives the team.
    endpoints.teams.POST: POST creates a team.
    endpoints.teams.PUT: PUT replaces a team.
    endpoints.teams.PATCH: PATCH changes a team.
    endpoints.teams.DELETE: DELETE removes a team.
  `,
  ),
  ...rows(
    '4.3',
    `
    endpoints.directclusterendpointtokens.POST: POST gives a token at status.token.
  `,
  ),
  ...rows(
    '4.4',
    `
    endpoints.ownedaccesskeys.POST: POST creates a key.
    endpoints.ownedaccesskeys.PUT: PUT replaces a key.
    endpoints.ownedaccesskeys.PATCH: PATCH changes a key.
    endpoints.ownedaccesskeys.DELETE: DELETE removes a key.
  `,
  ),
  ...rows(
    '4.5',
    `
    endpoints.config.list: GET of the collection lists configurations.
    endpoints.config.GET: GET of a name gives the configuration.
  `,
  ),
  ...rows(
    '5',
    `
    authentication.bearer: A request is authenticated by an access key as a bearer token.
    authentication.required: A request to the API without a key is refused.
    authentication.disabled: A disabled key does not authenticate.
    authentication.limits: Scope and ttl limit a key.
    authentication.verbs: Each operation takes its verb.
    authentication.access: Access rules give verbs to users and teams.
    authentication.bind: A team gets roles and access rules only by who has bind on it.
    authentication.makeowner: A team becomes an owner only by who has makeowner on it.
    authentication.connectors.oidc: People sign in by OIDC.
    authentication.connectors.saml: People sign in by SAML.
    authentication.connectors.providers: People sign in by the provider blocks.
    authentication.password: People sign in by password.
    authentication.passwordDisabled = auth.password.disabled: Signing in by password can be turned off.
    authentication.customHttpHeaders = auth.customHttpHeaders: Answers of the authentication endpoints have the headers of the configuration.
    authentication.version = authenticateVersionEndpoint: /version needs a key only where the configuration says so.
  `,
  ),
  ...rows(
    '6',
    `
    events.watch: A watch tells what happens to objects.
    events.audit = audit.enabled: The audit log is configured by status.audit.
  `,
  ),
  ...rows(
    '7',
    `
    errors.generatedNameTaken: A generated name that exists is 409.
    errors.blockOwnerDeletion: blockOwnerDeletion by a user who may not delete the owner is 422.
  `,
  ),
  ...rows(
    '8',
    `
    limits.accessKeyMaxTTLSeconds = auth.accessKeyMaxTTLSeconds: Longest life of an access key; 0 or absent is no limit.
    limits.loginAccessKeyTTLSeconds = auth.loginAccessKeyTTLSeconds: Life of the key of a login: 20 days; 0 is no limit.
    limits.endpointTokenTTL: The life of an endpoint token is a whole number of seconds.
    limits.projectNamespacePrefix = projectNamespacePrefix: Namespaces of projects begin with p-.
    limits.audit.maxSize = audit.maxSize: The audit log is rotated at 100 megabytes.
    limits.audit.maxAge = audit.maxAge: Rotated files stay for so many days; absent is for ever.
    limits.audit.maxBackups = audit.maxBackups: So many rotated files stay; absent is all.
    limits.audit.dataStoreTTL = audit.dataStoreTTL: Events stay in the data store for so many hours.
    limits.secretStore.syncInterval = secretStore.syncInterval: Secrets are synced every minute.
    limits.costControl.retention = costControl.global.metrics.retention: Metrics are kept for a year.
    limits.endpointSync: Endpoints are synced by default.
  `,
  ),
  ...rows(
    '9',
    `
    versioning.path: The version v1 is in the path of each request.
    versioning.apiVersion: Each object has the apiVersion of the group and v1.
    versioning.recognized: A known apiVersion is taken.
    versioning.unrecognized: An apiVersion that nobody knows is refused.
    versioning.deprecated.selfLink: selfLink is deprecated and not populated.
    versioning.deprecated.scope: scope.rules and scope.allowPlatformCli are deprecated: a write with them is warned.
    versioning.deprecated.keys: spec.parent and spec.oidcLogin are deprecated: a write with them is warned.
    versioning.deprecated.config: status.oidc and workspaceSubDomain are deprecated: a configuration with them is warned.
  `,
  ),
];

/** Rules without a test, with the reason. */
export const OPEN_ROWS: Readonly<Record<string, string>> = {};

/**
 * The API of gitplane: an interface per schema, and the operations.
 * Generated from the OpenAPI document by `npx tsx scripts/docs.ts`.
 */

/** Problem of a manifest, with its place. */
export interface FileProblem {
  /** Path of the file. */
  readonly path: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1. */
  readonly col: number;
  /** Problem at this place. */
  readonly message: string;
  /** The file has a plaintext secret. */
  readonly inClear?: boolean;
  /** The file is encrypted for another key. */
  readonly unreadable?: boolean;
  /** Object that is served from its last good version. */
  readonly object?: string;
}

/** Object whose newest manifest is not valid. */
export interface DegradedObject {
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace of the object; absent: its kind has none. */
  readonly namespace?: string;
  /** Name of the object. */
  readonly name: string;
  /** Plural of the kind, as in URLs. */
  readonly plural: string;
  /** Path of the file. */
  readonly path: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1. */
  readonly col: number;
  /** First problem of the manifest. */
  readonly message: string;
}

/** One check of `/readyz`. */
export interface HealthCheck {
  /** Name of the check. */
  readonly name: string;
  /** Endpoint that the check belongs to. */
  readonly level: 'live' | 'ready' | 'degraded';
  /** Problem; absent: the check passes. */
  readonly message?: string;
}

/** State of the branch. */
export interface BranchSummary {
  /** State of the newest commit. */
  readonly state: 'applied' | 'held' | 'failing' | 'past';
  /** Reason of `failing`. */
  readonly message?: string;
  /** Address of the review of writes. */
  readonly review?: string;
  /** Newest commit of the branch. */
  readonly head: string | null;
  /** Commit that readers see. */
  readonly revision: string | null;
  /** Time of the last new revision since the start. */
  readonly lastAppliedTime?: string | null;
  /** The commit that readers see; for users who may clone. */
  readonly commit?: {
    /** Id of the commit. */
    readonly revision: string;
    /** Author of a commit. */
    readonly author: {
      /** Name. */
      readonly name: string;
      /** Address. */
      readonly email: string;
    };
    /** First line of the message. */
    readonly message: string;
    /** Committer time. */
    readonly time?: string;
  };
}

/** Move of the branch that waits for an approval. */
export interface HeldSummary {
  /** Held commit. */
  readonly revision: string | null;
  /** Reason in one word. */
  readonly reason: string;
  /** Reason of the hold. */
  readonly message: string;
  /** The first objects that the move would remove. */
  readonly prunes: readonly PrunedObject[];
  /** Number of all of them. */
  readonly pruneCount: number;
  /** Way to go on. */
  readonly remedy: string;
  /** The caller has the right to approve. */
  readonly mayApprove?: boolean;
}

/** Object that a held move would remove. */
export interface PrunedObject {
  /** API group. */
  readonly group: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace; empty: the kind has none. */
  readonly namespace: string;
  /** Name of the object. */
  readonly name: string;
  /** Path of its file. */
  readonly path: string;
}

/** Verdict on a push to the branch. */
export interface PushSummary {
  /** Time of the verdict. */
  readonly time: string;
  /** Name of the pusher. */
  readonly user: string;
  /** Verdict. */
  readonly result: 'accepted' | 'refused';
  /** Pushed commit. */
  readonly revision: string;
  /** Lines that the pusher got. */
  readonly lines: readonly string[];
  /** Number of problems. */
  readonly problems: number;
}

/** Number of objects of a kind that the caller may list. */
export interface KindSummary {
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** API group. */
  readonly group: string;
  /** API version. */
  readonly version: string;
  /** Kind. */
  readonly kind: string;
  /** Plural of the kind, as in URLs. */
  readonly plural: string;
  /** Objects of the kind have a namespace. */
  readonly namespaced: boolean;
  /** Number of objects. */
  readonly objects: number;
  /** Number of degraded objects. */
  readonly degraded: number;
  /** Only the namespaces that the caller may list are counted. */
  readonly partial?: boolean;
}

/** Object with conditions of severity `Error` or `Warning`. */
export interface BadConditions {
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace of the object; absent: its kind has none. */
  readonly namespace?: string;
  /** Name of the object. */
  readonly name: string;
  /** Plural of the kind, as in URLs. */
  readonly plural: string;
  /** The conditions. */
  readonly conditions: readonly {
    /** Type of the condition. */
    readonly type: string;
    /** `Error` or `Warning`. */
    readonly severity: string;
    /** Reason in one word. */
    readonly reason?: string;
    /** Reason of the condition. */
    readonly message: string;
  }[];
}

/** State of a secret store. */
export interface StoreSummary {
  /** Name of the store. */
  readonly name: string;
  /** State of the store. */
  readonly state: 'disabled' | 'available' | 'unavailable' | 'suspended';
  /** Reason why the store is not in use or not available. */
  readonly message?: string;
  /** Number of secrets by state. */
  readonly counts: Readonly<Record<string, number>>;
  /** Warnings about the configuration. */
  readonly warnings: readonly string[];
  /** Number of secrets that need attention. */
  readonly attentionCount: number;
  /** Other stores, beside the default store. */
  readonly stores?: readonly StoreSummary[];
}

/** Section that the caller has no right to. */
export interface WithheldSection {
  /** Name of the section. */
  readonly section: string;
  /** Path that the right is about. */
  readonly path: string;
  /** Verb of the right. */
  readonly verb: string;
}

/** State of the platform, from the rights of its reader. */
export interface Summary {
  /** Kind of the document. */
  readonly kind: 'Summary';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  /** Version of the document. */
  readonly metadata: {
    /** Digest of the document; `since` waits until it changes. */
    readonly version: string;
    /** Time of the answer. */
    readonly time: string;
  };
  /** Version of gitplane. */
  readonly version: string;
  /** Moment of a summary of the past. */
  readonly past?: {
    /** Id of the commit. */
    readonly revision: string;
    /** Committer time. */
    readonly time: string;
  };
  /** Health checks. Absent in the past. */
  readonly health?: {
    /** All checks pass. */
    readonly ok: boolean;
    /** All checks. */
    readonly checks: readonly HealthCheck[];
  };
  /** State of the branch. */
  readonly branch?: BranchSummary;
  /** Held move; null: none. */
  readonly held?: HeldSummary | null;
  /** Last pushes to the branch. */
  readonly pushes?: {
    /** Start of the record. */
    readonly since: string;
    /** At most 50 pushes, newest first. */
    readonly items: readonly PushSummary[];
  };
  /** Kinds that the caller may list. */
  readonly kinds: readonly KindSummary[];
  /** Degraded objects that the caller may see. */
  readonly degraded: {
    /** Number of all items. */
    readonly count: number;
    /** The first 200 items. */
    readonly items: readonly DegradedObject[];
  };
  /** Problems of manifests. */
  readonly problems?: {
    /** Number of all items. */
    readonly count: number;
    /** The first 200 items. */
    readonly items: readonly FileProblem[];
  };
  /** State of the default secret store. */
  readonly secretStore?: StoreSummary;
  /** Parts of the platform that are suspended. */
  readonly suspensions?: readonly Suspension[];
  /** Objects with bad conditions. */
  readonly conditions?: {
    /** Number of all items. */
    readonly count: number;
    /** The first 200 items. */
    readonly items: readonly BadConditions[];
  };
  /** Replicas of the platform. Absent: a single daemon. */
  readonly replicas?: {
    /** Id of the leader. */
    readonly leader?: string | null;
    /** Replicas that etcd lists now. */
    readonly items: readonly {
      /** Id. */
      readonly id: string;
      /** Address for the other replicas. */
      readonly url: string;
      /** Version of gitplane. */
      readonly version: string;
    }[];
  };
  /** Sections that the caller has no right to. */
  readonly withheld: readonly WithheldSection[];
}

/** Objects that match a search, best match first. */
export interface SearchResult {
  /** Kind of the document. */
  readonly kind: 'SearchResult';
  /** The best matches. */
  readonly items: readonly SearchHit[];
  /** Number of all matches that the caller may see. */
  readonly total: number;
}

/** Object that matches a search. */
export interface SearchHit {
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace of the object; absent: its kind has none. */
  readonly namespace?: string;
  /** Name of the object. */
  readonly name: string;
  /** Plural of the kind, as in URLs. */
  readonly plural: string;
  /** Display name. */
  readonly displayName?: string;
  /** Owner: `user/ada` or `team/ops`. */
  readonly owner?: string;
  /** Labels of the object. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Rank of the match; larger is better. */
  readonly rank: number;
}

/** Costs of tenants, by name. */
export interface TenantCosts {
  /** Kind of the document. */
  readonly kind: 'TenantCosts';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  /** Currency of all sums; absent: the configuration names none. */
  readonly currency?: string;
  /** The first 200 tenants. */
  readonly items: readonly TenantCost[];
  /** Number of tenants that the caller may see. */
  readonly count: number;
  /** Sum of the tenants that have a total. */
  readonly total: {
    /** Cost of an hour. */
    readonly perHour: number;
    /** Cost of 730 hours. */
    readonly perMonth: number;
    /** Number of these tenants. */
    readonly tenants: number;
  };
}

/** Costs of one tenant. */
export interface TenantCost {
  /** Name of the tenant. */
  readonly name: string;
  /** Time when its cluster was read; absent: it was not. */
  readonly observedAt?: string;
  /** Number of nodes. */
  readonly nodes?: number;
  /** Number of pods that run on nodes. */
  readonly pods?: number;
  /** Cost of CPU; absent: unknown. */
  readonly cpu?: ResourceCost;
  /** Cost of memory; absent: unknown. */
  readonly memory?: ResourceCost;
  /** Cost of CPU and memory; absent: one of them is unknown. */
  readonly total?: {
    /** Cost of an hour. */
    readonly perHour: number;
    /** Cost of 730 hours. */
    readonly perMonth: number;
  };
  /** Parts that are unknown. */
  readonly unknown: readonly {
    /** Cost that is absent or too low. */
    readonly what: 'cpu' | 'memory' | 'tenant';
    /** Reason. */
    readonly reason: string;
  }[];
}

/** Cost of one resource. */
export interface ResourceCost {
  /** Cores or bytes that pods request. */
  readonly requested: number;
  /** Cores or bytes that the nodes can allocate. */
  readonly capacity: number;
  /** Cost of an hour. */
  readonly perHour: number;
  /** Cost of 730 hours. */
  readonly perMonth: number;
}

/** User or group of a grant. */
export interface AccessSubject {
  /** `User` or `Group`. */
  readonly kind: string;
  /** Name. */
  readonly name: string;
}

/** Names of an object. */
export interface NamedObject {
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace of the object; absent: its kind has none. */
  readonly namespace?: string;
  /** Name of the object. */
  readonly name: string;
  /** Plural of the kind, as in URLs. */
  readonly plural: string;
}

/** Grant that allows the request. */
export interface AccessGrant {
  /** Origin: built-in right, binding, or owner and access rules of the object. */
  readonly via: 'builtin' | 'binding' | 'object';
  /** Subject of the grant. */
  readonly subject?: AccessSubject;
  /** RoleBinding or ClusterRoleBinding. */
  readonly binding?: NamedObject;
  /** Role or ClusterRole. */
  readonly role?: NamedObject;
  /** Object with the access rule. */
  readonly object?: NamedObject;
  /** Rule of the role, or name of the access rule. */
  readonly rule?: string | PolicyRule;
}

/** Rule of a role. */
export interface PolicyRule {
  /** Verbs. */
  readonly verbs: readonly string[];
  /** API groups. */
  readonly apiGroups: readonly string[];
  /** Resources. */
  readonly resources: readonly string[];
  /** Names of objects; empty: all. */
  readonly resourceNames: readonly string[];
  /** Paths. */
  readonly nonResourceURLs: readonly string[];
}

/** Verbs on an object, or a rule of a changed role. */
export interface AccessRule {
  /** Verbs. */
  readonly verbs: readonly string[];
  /** Resources. */
  readonly resources?: readonly string[];
  /** Names of objects; empty: all. */
  readonly resourceNames?: readonly string[];
  /** Paths. */
  readonly nonResourceURLs?: readonly string[];
}

/** Request that the question is about. */
export interface AccessRequest {
  /** Verb. */
  readonly verb: string;
  /** API group. */
  readonly group?: string;
  /** Resource. */
  readonly resource?: string;
  /** Subresource. */
  readonly subresource?: string;
  /** Namespace. */
  readonly namespace?: string;
  /** Name. */
  readonly name?: string;
  /** Path of a request that names no object. */
  readonly path?: string;
}

/** Reason why a user, team or key may do something, or not. */
export interface AccessExplanation {
  /** Kind of the document. */
  readonly kind: 'AccessExplanation';
  /** User of the question. */
  readonly subject: {
    /** Name of the user. */
    readonly name: string;
    /** Groups that the caller may see. */
    readonly groups: readonly string[];
    /** Access key. */
    readonly key?: string;
  };
  readonly request: AccessRequest;
  /** Decision. */
  readonly allowed: boolean;
  /** Reason of the decision. Absent while a grant is hidden. */
  readonly reason?: string;
  /** Grants that the caller may see. */
  readonly grants: readonly AccessGrant[];
  /** Number of grants that the caller may not see. */
  readonly hidden: number;
  /** Scope of the access key. */
  readonly scope?: {
    /** The scope allows the request. */
    readonly allows: boolean;
  };
}

/** Subjects that may do something. */
export interface AccessList {
  /** Kind of the document. */
  readonly kind: 'AccessList';
  readonly request: AccessRequest;
  /** At most 1000 subjects. */
  readonly items: readonly {
    readonly subject: AccessSubject;
    /** Team whose members have the group. */
    readonly team?: string;
    /** The first 100 members. */
    readonly members?: readonly string[];
    /** Number of all members. */
    readonly memberCount?: number;
    /** Groups that are members. */
    readonly memberGroups?: readonly string[];
    /** Grants that the caller may see. */
    readonly grants: readonly AccessGrant[];
  }[];
  /** Number of grants that the caller may not see. */
  readonly hidden: number;
  /** Number of grants of further subjects. */
  readonly left?: number;
}

/** Signature of a commit, judged with the keys of now. */
export interface CommitSignature {
  /** Verdict on the signature. */
  readonly state: 'unsigned' | 'trusted' | 'untrusted' | 'unchecked';
  /** Name of the signer. */
  readonly signer?: string;
  /** Reason of the verdict. */
  readonly message?: string;
}

/** Commits of the branch, newest first. */
export interface CommitList {
  /** Kind of the document. */
  readonly kind: 'CommitList';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  /** Continuation of a list. */
  readonly metadata: ListMeta;
  /** Commits of the first-parent line. */
  readonly items: readonly Commit[];
}

/** A commit with its changed files. */
export interface Commit {
  /** Id of the commit. */
  readonly revision: string;
  /** Ids of the parents. */
  readonly parents: readonly string[];
  /** Committer time. */
  readonly time: string;
  /** Author of a commit. */
  readonly author: {
    /** Name. */
    readonly name: string;
    /** Address. */
    readonly email: string;
  };
  /** First line of the message. */
  readonly subject: string;
  /** The message, cut to 4096 characters. */
  readonly message: string;
  /** The first 50 changed files, by path. */
  readonly files: readonly CommitFile[];
  /** Number of all changed files. */
  readonly fileCount: number;
  readonly signature?: CommitSignature;
}

/** File that a commit changed relative to its first parent. */
export interface CommitFile {
  /** Path of the file. */
  readonly path: string;
  /** Change of the file. */
  readonly change: 'added' | 'modified' | 'removed';
  /** Objects that a version of the file named. */
  readonly objects: readonly {
    /** API group. */
    readonly group: string;
    /** Kind. */
    readonly kind: string;
    /** Plural of the kind. Absent: the kind is unknown. */
    readonly plural?: string;
    /** Namespace. */
    readonly namespace?: string;
    /** Name. */
    readonly name: string;
  }[];
}

/** Branches that can be planned, newest first. */
export interface BranchList {
  /** Kind of the document. */
  readonly kind: 'BranchList';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  /** Length of the list. */
  readonly metadata: {
    /** The repository has more branches. */
    readonly hasMore?: boolean;
  };
  /** Branches. */
  readonly items: readonly {
    /** Name. */
    readonly name: string;
    /** Newest commit. */
    readonly revision: string;
    /** Committer time. */
    readonly time: string;
    /** Name of the author. */
    readonly author: string;
    /** First line of the message. */
    readonly subject: string;
  }[];
}

/** Commit of a comparison. */
export interface ComparedCommit {
  /** Id of the commit. */
  readonly revision: string;
  /** Committer time. */
  readonly time: string;
}

/** Objects that differ between two moments. */
export interface Comparison {
  /** Kind of the document. */
  readonly kind: 'Comparison';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  readonly from: ComparedCommit;
  readonly to: ComparedCommit;
  /** Number of changes by verb. */
  readonly summary: Readonly<Record<string, number>>;
  /** Number of all changes. */
  readonly count: number;
  /** The first 500 changes, at most 4 MiB. */
  readonly items: readonly PlanChange[];
}

/** Problem of a manifest, with its place. */
export interface PlanProblem {
  /** Path of the file. */
  readonly path: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1. */
  readonly col: number;
  /** The problem. */
  readonly message: string;
  /** The file has a plaintext secret. */
  readonly inClear?: boolean;
  /** The file is encrypted for another key. */
  readonly unreadable?: boolean;
}

/** Commit to plan: `revision` or `ref`. */
export interface PlanTarget {
  /** Commit id. */
  readonly revision?: string;
  /** Branch or tag of the repository. */
  readonly ref?: string;
}

/** Changes that a commit would make. */
export interface Plan {
  /** Base revision; null: there is none yet. */
  readonly from: string | null;
  /** Planned commit. */
  readonly to: string;
  /** Verdict on a push of the commit by the caller. `held`: its removals need an approval. */
  readonly verdict: 'accepted' | 'refused' | 'held';
  /** Number of changes by verb. */
  readonly summary: Readonly<Record<string, number>>;
  /** Changes, sorted by kind and name. */
  readonly changes: readonly PlanChange[];
  /** Problems of manifests. */
  readonly problems: readonly PlanProblem[];
  /** Warnings about manifests. */
  readonly warnings: readonly PlanProblem[];
  /** Reasons for a refusal, and the required approval. */
  readonly objections: readonly string[];
}

/** Change of an object. */
export interface PlanChange {
  /** Change of the object. */
  readonly verb: 'create' | 'update' | 'delete' | 'recreate' | 'move';
  /** Group and version of the kind. */
  readonly apiVersion: string;
  /** Kind of the object. */
  readonly kind: string;
  /** Namespace of the object; absent: its kind has none. */
  readonly namespace?: string;
  /** Name of the object. */
  readonly name: string;
  /** Plural of the kind, as in URLs. */
  readonly plural?: string;
  /** Present or last file of the object. */
  readonly path: string;
  /** Former path of a moved object. */
  readonly previousPath?: string;
  /** Changed fields. Values of secret fields are masked. */
  readonly fields: readonly FieldChange[];
  /** Of an update: the change as a JSON Patch (RFC 6902). Absent: it is too large. */
  readonly patch?: readonly {
    /** Operation. */
    readonly op: 'add' | 'replace' | 'remove';
    /** JSON pointer. */
    readonly path: string;
    /** New value. */
    readonly value?: unknown;
  }[];
  /** The newest manifest is not valid: the last good one stays in effect. */
  readonly degraded?: boolean;
  /** Access that the change opens and closes. */
  readonly access?: readonly AccessChange[];
  /** Derived objects that follow. */
  readonly derived?: DerivedChanges;
  /** Effects on objects outside the repository. */
  readonly effects?: PlanEffects;
}

/** Change of a field. */
export interface FieldChange {
  /** Path of the field, such as `spec.users[1]`. */
  readonly path: string;
  /** Former value. Absent: the field did not exist. */
  readonly before?: unknown;
  /** New value. Absent: the field is removed. */
  readonly after?: unknown;
  /** The values are secret and omitted. */
  readonly masked?: boolean;
}

/** Access that a change opens or closes. */
export interface AccessChange {
  /** Direction. */
  readonly effect: 'opens' | 'closes';
  /** User or group. Absent: everyone with the role. */
  readonly subject?: AccessSubject;
  /** Verbs on the object, or a rule of a role. */
  readonly rule?: AccessRule;
  /** Role that a binding gives: `ClusterRole/admin`. */
  readonly role?: string;
  /** User or group whose rights a member gets. */
  readonly rightsOf?: string;
}

/** Roles, bindings and copies of secrets that follow. */
export interface DerivedChanges {
  /** Number of changed objects. */
  readonly count: number;
  /** The first 200 objects. */
  readonly items: readonly {
    /** Change of the object. */
    readonly verb: 'create' | 'update' | 'delete';
    /** Group and version of the kind. */
    readonly apiVersion: string;
    /** Kind of the object. */
    readonly kind: string;
    /** Namespace of the object; absent: its kind has none. */
    readonly namespace?: string;
    /** Name of the object. */
    readonly name: string;
    /** Condition of a copied secret after the change. */
    readonly message?: string;
  }[];
}

/** Effects of the patches of a tenant. */
export interface PlanEffects {
  /** Number of examined objects. */
  readonly objects: number;
  /** Number of changed objects. */
  readonly changed: number;
  /** The first changed objects. */
  readonly items: readonly {
    /** Change of the object. */
    readonly verb: 'create' | 'update' | 'delete' | 'fail';
    /** Kind of the object. */
    readonly kind: 'Endpoints' | 'Service';
    /** Place in the tenant cluster. */
    readonly source: {
      /** Namespace. */
      readonly namespace: string;
      /** Name. */
      readonly name: string;
    };
    /** The object before. Secret values are masked. */
    readonly before?: Readonly<Record<string, unknown>>;
    /** The object after the change. */
    readonly after?: Readonly<Record<string, unknown>>;
    /** Reason why it fails and stays unchanged. */
    readonly message?: string;
  }[];
  /** Number of objects that were not examined, to limit the time. */
  readonly unseen: number;
  /** Warnings. */
  readonly warnings: readonly string[];
  /** Reason why the effects are unknown. */
  readonly unknown?: string;
}

/** Changes that a write would make. */
export interface WriteEffect {
  /** Changes that the caller may see. */
  readonly changes: readonly PlanChange[];
  /** Number of changes that the caller may not see. */
  readonly hidden: number;
}

/** Answer to a dry run with `show`. */
export interface WritePreview {
  /** Kind of the document. */
  readonly kind: 'WritePreview';
  /** Group and version of the platform. */
  readonly apiVersion: string;
  /** Path of the file; null: no file. */
  readonly path?: string | null;
  /** Text of the file; null: there is none. */
  readonly before?: string | null;
  /** Text of the file after the write. */
  readonly after?: string | null;
  readonly effect?: WriteEffect;
  /** The object after the write. */
  readonly object: Readonly<Record<string, unknown>>;
}

/** State of the platform relative to its branch. */
export interface SyncStatus {
  /** Newest commit of the branch. */
  readonly head: string | null;
  /** Commit that readers see. */
  readonly revision: string | null;
  /** State of the newest commit. */
  readonly state: 'applied' | 'held' | 'failing';
  /** Reason of `failing`. */
  readonly message?: string;
  /** Address of the review of writes. */
  readonly review?: string;
  /** Held move of the branch; null: none. */
  readonly held: HeldSummary | null;
  /** The first 1000 problems of manifests. */
  readonly problems: readonly FileProblem[];
  /** Number of all problems. */
  readonly problemCount: number;
  /** Time of the last new revision since the start. */
  readonly lastAppliedTime: string | null;
  /** Outcome of the awaited commit. */
  readonly waited?: {
    /** Id of the commit. */
    readonly revision: string;
    /** Outcome. */
    readonly result: 'applied' | 'held' | 'refused' | 'unknown';
    /** Reason of `unknown`. */
    readonly message?: string;
    /** The first 1000 files. */
    readonly files: readonly {
      /** Path of the file. */
      readonly path: string;
      /** Outcome. */
      readonly result: 'applied' | 'invalid' | 'removed' | 'ignored' | 'held';
      /** Problems of the file. */
      readonly problems: readonly PlanProblem[];
    }[];
    /** Lines that the pusher got. */
    readonly lines?: readonly string[];
  };
}

/** Approval of a held commit. */
export interface PruneApproval {
  /** Held commit. */
  readonly revision: string;
  /** Reason for the record. */
  readonly reason: string;
}

/** State of the secret sync with one store. */
export interface SecretStoreStatus {
  /** Name of the store. */
  readonly name: string;
  /** State of the store. */
  readonly state: 'disabled' | 'available' | 'unavailable' | 'suspended';
  /** Reason why the store is not in use or not available. */
  readonly message?: string;
  /** Warnings about the configuration. */
  readonly warnings: readonly string[];
  /** Address of the store. */
  readonly address?: string;
  /** Namespace in the store. */
  readonly namespace?: string;
  /** Interval between cycles. */
  readonly intervalSeconds?: number;
  /** Number of secrets by state. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first 1000 secrets that need attention. */
  readonly attention: readonly {
    /** Name of the store. */
    readonly store: string;
    /** Kind of the object. */
    readonly kind: string;
    /** Namespace of the object. */
    readonly namespace: string;
    /** Name of the object. */
    readonly name: string;
    /** State of the sync. */
    readonly state: string;
    /** Reason in one word. */
    readonly reason: string;
    /** Reason of the state. */
    readonly message: string;
  }[];
  /** Number of all of them. */
  readonly attentionCount: number;
  /** Paths whose secrets become objects. */
  readonly pulls: readonly {
    /** Name of the pull. */
    readonly name: string;
    /** Path in the store. */
    readonly place: string;
    /** Namespace of the objects. */
    readonly namespace: string;
    /** Reason why nothing, or not everything, was listed. */
    readonly problem?: {
      /** Reason in one word. */
      readonly reason: string;
      /** Reason. */
      readonly message: string;
    };
    /** Number of secrets with a linked object. */
    readonly tied: number;
    /** Number of secrets whose object a user unlinked. */
    readonly untied: number;
    /** The first 1000 secrets without an object. */
    readonly refused: readonly {
      /** Path below the mount. */
      readonly path: string;
      /** Reason in one word. */
      readonly reason: string;
      /** Reason. */
      readonly message: string;
    }[];
    /** Number of all of them. */
    readonly refusedCount: number;
  }[];
  /** Last cycle; null: none since the start. */
  readonly lastCycle: {
    /** Start of the cycle. */
    readonly started: string;
    /** Duration. */
    readonly milliseconds: number;
    /** Number of requests to the store. */
    readonly requests: number;
    /** Number of secrets. */
    readonly secrets: number;
    /** Number of secrets that were read from the store. */
    readonly pulled: number;
    /** Number of secrets that were written to the store. */
    readonly pushed: number;
  } | null;
  /** Other stores, beside the default store. */
  readonly stores?: readonly SecretStoreStatus[];
}

/** Part of the platform that is stopped for a time. */
export interface Suspension {
  /** `remote`, `secret-store`, `tenants`, or one of these and a name: `tenants/blue`. */
  readonly target: string;
  /** Part of the platform. */
  readonly part: string;
  /** Store or tenant. Absent: all of the part. */
  readonly name?: string;
  /** User who suspended it. */
  readonly user: string;
  /** Reason. */
  readonly reason: string;
  /** Start. */
  readonly since: string;
  /** End. */
  readonly until: string;
}

/** Suspensions in force. */
export interface SuspensionList {
  /** Suspensions. */
  readonly items: readonly Suspension[];
}

/** Suspension to make. */
export interface SuspensionRequest {
  /** Reason, in one line. */
  readonly reason: string;
  /** Duration such as `30m`; at most `2160h`. */
  readonly for?: string;
}

/** Audit events in the form of Kubernetes, newest first. */
export interface AuditEventList {
  /** Kind of the document. */
  readonly kind: 'EventList';
  /** Group and version. */
  readonly apiVersion: 'audit.k8s.io/v1';
  /** Empty. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Events. */
  readonly items: readonly AuditEvent[];
}

/** Event of `audit.k8s.io/v1`. */
export interface AuditEvent {
  /** Recorded detail. */
  readonly level: 'Metadata' | 'Request' | 'RequestResponse';
  /** Id of the request. */
  readonly auditID: string;
  /** Stage of the request. */
  readonly stage: string;
  /** URI; secrets in it are left out. */
  readonly requestURI?: string;
  /** Verb. */
  readonly verb?: string;
  /** Caller. */
  readonly user?: {
    /** Name of the user. */
    readonly username?: string;
    /** Groups of the user. */
    readonly groups?: readonly string[];
    readonly [field: string]: unknown;
  };
  /** Object of the request. */
  readonly objectRef?: {
    /** API group. */
    readonly apiGroup?: string;
    /** API version. */
    readonly apiVersion?: string;
    /** Plural of the kind. */
    readonly resource?: string;
    /** Subresource. */
    readonly subresource?: string;
    /** Namespace. */
    readonly namespace?: string;
    /** Name. */
    readonly name?: string;
    readonly [field: string]: unknown;
  };
  /** Status of the answer. */
  readonly responseStatus?: {
    /** HTTP status code. */
    readonly code?: number;
    readonly [field: string]: unknown;
  };
  /** Annotations, such as the commit of a write. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Arrival of the request. */
  readonly requestReceivedTimestamp?: string;
  /** Time of the event. */
  readonly stageTimestamp: string;
  readonly [field: string]: unknown;
}

/** Parts of the configuration that programs act on. */
export interface PlatformSettings {
  /** Host name of the platform, without a scheme. */
  readonly platformHost?: string;
  /** Prefix of the namespaces of projects. */
  readonly projectNamespacePrefix?: string;
  /** Settings of the hosted edition. */
  readonly cloud?: {
    /** Channel that decides which versions apply. */
    readonly releaseChannel?: string;
    /** Window for maintenance of the repository: it is repacked once in each window. In place of `--maintenance-schedule`. */
    readonly maintenanceWindow?: {
      /** Day of the week. Absent: every day. */
      readonly dayOfWeek?:
        | 'Monday'
        | 'Tuesday'
        | 'Wednesday'
        | 'Thursday'
        | 'Friday'
        | 'Saturday'
        | 'Sunday';
      /** Hours of that day in UTC, as in `02:00-03:00`; `22:00-02:00` ends on the next day. Absent: the whole day. */
      readonly timeWindow?: string;
    };
  };
  /** The dashboard of costs and savings. */
  readonly costControl?: {
    /** If true, the dashboard is shown and its metrics are collected. */
    readonly enabled?: boolean;
    /** Components that run once for the platform. */
    readonly global?: {
      /** Collects the metrics of all connected clusters. */
      readonly metrics?: {
        /** Number of replicas. */
        readonly replicas?: number;
        /** Compute resources of a container. */
        readonly resources?: {
          /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
          readonly limits?: Readonly<Record<string, number | string>>;
          /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
          readonly requests?: Readonly<Record<string, number | string>>;
          /** Entries of the pod's resource claims that the container uses. */
          readonly claims?: readonly {
            /** Name of an entry in the resource claims of the pod. */
            readonly name: string;
            /** One request within that claim. Empty makes all of the claim available. */
            readonly request?: string;
          }[];
        };
        /** Retention of metrics, as in `30d` or `1y`. */
        readonly retention?: string;
        /** The volume that holds the metrics. */
        readonly storage?: {
          /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
          readonly storageClass?: string | null;
          /** Size of the volume, as in `50Gi`. */
          readonly size?: string;
        };
      };
    };
    /** Components that run in each connected cluster; a cluster may override it. */
    readonly cluster?: {
      /** Collects the metrics of the cluster. */
      readonly metrics?: {
        /** Number of replicas. */
        readonly replicas?: number;
        /** Compute resources of a container. */
        readonly resources?: {
          /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
          readonly limits?: Readonly<Record<string, number | string>>;
          /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
          readonly requests?: Readonly<Record<string, number | string>>;
          /** Entries of the pod's resource claims that the container uses. */
          readonly claims?: readonly {
            /** Name of an entry in the resource claims of the pod. */
            readonly name: string;
            /** One request within that claim. Empty makes all of the claim available. */
            readonly request?: string;
          }[];
        };
        /** Retention of metrics, as in `30d` or `1y`. */
        readonly retention?: string;
        /** The volume that holds the metrics. */
        readonly storage?: {
          /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
          readonly storageClass?: string | null;
          /** Size of the volume, as in `50Gi`. */
          readonly size?: string;
        };
      };
      /** Computes the costs of the cluster. */
      readonly costBackend?: {
        /** Number of replicas. */
        readonly replicas?: number;
        /** Compute resources of a container. */
        readonly resources?: {
          /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
          readonly limits?: Readonly<Record<string, number | string>>;
          /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
          readonly requests?: Readonly<Record<string, number | string>>;
          /** Entries of the pod's resource claims that the container uses. */
          readonly claims?: readonly {
            /** Name of an entry in the resource claims of the pod. */
            readonly name: string;
            /** One request within that claim. Empty makes all of the claim available. */
            readonly request?: string;
          }[];
        };
      };
    };
    /** Prices to calculate with. */
    readonly settings?: {
      /** Currency of all prices. */
      readonly priceCurrency?: string;
      /** Average price of the processors of a node. */
      readonly averageCPUPricePerNode?: {
        /** The amount. */
        readonly price?: number;
        /** The span of time, such as `Monthly`. */
        readonly timePeriod?: string;
      };
      /** Average price of the memory of a node. */
      readonly averageRAMPricePerNode?: {
        /** The amount. */
        readonly price?: number;
        /** The span of time, such as `Monthly`. */
        readonly timePeriod?: string;
      };
      /** Graphics processors. */
      readonly gpuSettings?: {
        /** If true, the dashboard shows graphics processors. */
        readonly enabled?: boolean;
        /** Average price of a graphics processor. */
        readonly averageGPUPrice?: {
          /** The amount. */
          readonly price?: number;
          /** The span of time, such as `Monthly`. */
          readonly timePeriod?: string;
        };
      };
      /** Price of the control plane of one cluster. */
      readonly controlPlanePricePerCluster?: {
        /** The amount. */
        readonly price?: number;
        /** The span of time, such as `Monthly`. */
        readonly timePeriod?: string;
      };
    };
  };
  /** Builds images from devcontainer definitions. */
  readonly imageBuilder?: {
    /** If false, such builds are not possible. */
    readonly enabled?: boolean;
    /** Number of replicas. */
    readonly replicas?: number;
    /** Compute resources of a container. */
    readonly resources?: {
      /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
      readonly limits?: Readonly<Record<string, number | string>>;
      /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
      readonly requests?: Readonly<Record<string, number | string>>;
      /** Entries of the pod's resource claims that the container uses. */
      readonly claims?: readonly {
        /** Name of an entry in the resource claims of the pod. */
        readonly name: string;
        /** One request within that claim. Empty makes all of the claim available. */
        readonly request?: string;
      }[];
    };
  };
  /** The database of the platform. */
  readonly platformDB?: {
    /** Storage class of its volume. */
    readonly storageClass?: string;
  };
  /** Applications that people can install. */
  readonly apps?: {
    /** If true, the prepared applications are left out. */
    readonly noDefault?: boolean;
    /** Chart repositories. */
    readonly repositories?: readonly {
      /** Name of the repository. */
      readonly name?: string;
      /** Address of the repository. */
      readonly url?: string;
      /** User name. */
      readonly username?: string;
      /** Password. `$NAME` takes it from the environment. */
      readonly password?: string;
      /** If true, the certificate of the repository is not verified. */
      readonly insecure?: boolean;
    }[];
    /** Applications to show first. */
    readonly predefinedApps?: readonly {
      /** Repository and name of the chart, as in `repository/chart`. */
      readonly chart?: string;
      /** Version that is selected at first. */
      readonly initialVersion?: string;
      /** Values that are filled in at first. */
      readonly initialValues?: string;
      /** Clusters that the application is shown for. Empty means all. */
      readonly clusters?: readonly string[];
      /** Title. Absent: the name of the chart. */
      readonly title?: string;
      /** URL of an icon. The icon of the chart is not read: a write without one is warned. */
      readonly iconUrl?: string;
      /** URL of a readme. Absent: the page of the chart on Artifact Hub. */
      readonly readmeUrl?: string;
    }[];
  };
  /** Audit log. */
  readonly audit?: {
    /** Agents keep their events. */
    readonly disableAgentSyncBack: boolean;
  };
}

/** Look of the user interface. */
export interface UISettings {
  /** Version of the platform that is running. */
  readonly platformVersion?: string;
  /** Logo. Browsers must be able to load it. */
  readonly logoURL?: string;
  /** Icon of the page. Browsers must be able to load it. */
  readonly faviconURL?: string;
  /** Small logo. Browsers must be able to load it. */
  readonly smallLogoURL?: string;
  /** Background of the logo, as a CSS color value. */
  readonly logoBackgroundColor?: string;
  /** HTML that people see when they sign in. */
  readonly legalTemplate?: string;
  /** Primary color, as a CSS color value. */
  readonly primaryColor?: string;
  /** Color of the sidebar, as a CSS color value. */
  readonly sidebarColor?: string;
  /** Accent color, as a CSS color value. */
  readonly accentColor?: string;
  /** URLs of further CSS files. */
  readonly customCss?: readonly string[];
  /** URLs of further JavaScript files. */
  readonly customJavaScript?: readonly string[];
  /** Further buttons of the navigation bar. */
  readonly navBarButtons?: readonly {
    /** Position of the button. */
    readonly position?: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
    /** Text on the button. */
    readonly text?: string;
    /** Target of the button. */
    readonly link?: string;
    /** URL of an icon. */
    readonly icon?: string;
  }[];
  /** External addresses that the user interface may load. */
  readonly externalURLs?: {
    /** If true, requests of the user interface to other hosts are blocked. */
    readonly block?: boolean;
    /** URLs, or the names of prepared modules (features and licenses, tag manager, changelog), that may be called all the same. Only matters when `block` is true. */
    readonly allow?: readonly string[];
  };
}

/** Ways to sign in. */
export interface SignInInfo {
  /** Ways to sign in. */
  readonly methods: {
    /** Identity providers. */
    readonly sso: readonly {
      /** Part of its URLs. */
      readonly id: string;
      /** Name for people. */
      readonly displayName: string;
      /** Protocol or provider. */
      readonly type: string;
      /** Path that begins a sign-in. */
      readonly loginEndpoint: string;
      /** Path that ends the session there. */
      readonly logoutEndpoint: string;
    }[];
    /** Provider whose users show a token. */
    readonly providerE: {
      /** It is configured. */
      readonly enabled: boolean;
      /** Its address. */
      readonly host?: string;
    };
    /** Password of the platform. */
    readonly password: {
      /** It is allowed. */
      readonly enabled: boolean;
    };
  };
}

/** Version, in the form of Kubernetes. */
export interface VersionInfo {
  /** Major version of Kubernetes. */
  readonly major: string;
  /** Minor version of Kubernetes. */
  readonly minor: string;
  /** Both, with the version of gitplane behind the plus sign. */
  readonly gitVersion: string;
  /** Always empty. */
  readonly gitCommit: string;
  /** Always `clean`. */
  readonly gitTreeState: string;
  /** Always the epoch. */
  readonly buildDate: string;
  /** Version of Node.js. */
  readonly goVersion: string;
  /** Always `node`. */
  readonly compiler: string;
  /** Operating system and processor. */
  readonly platform: string;
}

/** Public keys of endpoint tokens (RFC 7517). */
export interface JsonWebKeySet {
  /** Keys. */
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Issuer of endpoint tokens (OpenID Connect Discovery 1.0). */
export interface IssuerMetadata {
  /** Issuer. */
  readonly issuer: string;
  /** URL of the keys. */
  readonly jwks_uri: string;
  /** Types of responses. */
  readonly response_types_supported: readonly string[];
  /** Types of subjects. */
  readonly subject_types_supported: readonly string[];
  /** Algorithms. */
  readonly id_token_signing_alg_values_supported: readonly string[];
}

/** Revoked endpoint tokens that have not expired. */
export interface RevocationList {
  /** Tokens. */
  readonly revoked: readonly {
    /** Id of the token. */
    readonly jti: string;
    /** Expiry, in seconds. */
    readonly exp: number;
  }[];
}

/** Token to revoke: `token` or `jti`. */
export interface TokenToRevoke {
  /** The token. */
  readonly token?: string;
  /** Id of the token, for callers who may delete endpoint tokens. */
  readonly jti?: string;
}

/** Holder of a key or session. */
export interface SessionInfo {
  /** Name of the user. */
  readonly user: string;
  /** The same name. */
  readonly username: string;
  /** Groups of the user. */
  readonly groups: readonly string[];
  /** Name of the access key. */
  readonly accessKey?: string;
  /** Of a browser session: value of `x-csrf-token` for changes. */
  readonly csrfToken?: string;
  /** Of a key: root of the Kubernetes API. */
  readonly apiRoot?: string;
  /** Of a key: end. */
  readonly expirationTimestamp?: string;
}

/** Access key. */
export interface KeyToCheck {
  /** The key. */
  readonly key: string;
}

/** Outcome. */
export interface KeyRevocation {
  /** The key was a login key, and has ended. */
  readonly revoked: boolean;
}

/** The configuration of the platform. */
export interface Config {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `Config`. Cannot be changed. */
  readonly kind?: 'Config';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** The configuration as it was written. */
  readonly spec?: {
    /** The configuration as YAML text; its structure is that of `status`. Base64 of it is accepted as well. */
    readonly raw?: string;
  };
  /** The configuration as it is in force: `spec.raw` parsed, with defaults. */
  readonly status?: {
    /** Sign-in of users. */
    readonly auth?: {
      /** An OpenID Connect provider. */
      readonly oidc?: {
        /** URL that the provider signs ID tokens with (the `iss` claim). Its configuration is discovered from there. */
        readonly issuerUrl?: string;
        /** Client that the tokens must be issued for. Only this one is trusted; the authorized-party claim is honoured. `$NAME` takes it from the environment. */
        readonly clientId?: string;
        /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Address that the provider redirects to after login: `https://<platform host>/auth/oidc/callback`. */
        readonly redirectURI?: string;
        /** Address that the provider redirects to after logout. */
        readonly postLogoutRedirectURI?: string;
        /** Path of a PEM file with the root certificate of the provider. */
        readonly caFile?: string;
        /** If true, the certificate of the provider is not verified. */
        readonly insecureCa?: boolean;
        /** Claim that holds the preferred user name. */
        readonly preferredUsername?: string;
        /** Claim that becomes the name of the user on the platform. */
        readonly platformUsernameClaim?: string;
        /** Claim that becomes the id of the user. */
        readonly usernameClaim?: string;
        /** Claim that holds the mail address. */
        readonly emailClaim?: string;
        /** Further claims to keep. */
        readonly allowedExtraClaims?: readonly string[];
        /** Put in front of user names that come from claims. */
        readonly usernamePrefix?: string;
        /** Claim that holds the groups: a text or a list of texts. */
        readonly groupsClaim?: string;
        /** If not empty, only members of at least one of these groups may sign in. */
        readonly groups?: readonly string[];
        /** Scopes to ask for. Empty means `email` and `profile`. */
        readonly scopes?: readonly string[];
        /** If true, further data is read from the UserInfo endpoint. */
        readonly getUserInfo?: boolean;
        /** Put in front of group names that come from claims. */
        readonly groupsPrefix?: string;
        /** Label of the provider in the user interface; changes nothing else. */
        readonly type?: string;
        /** Value of the `resource` parameter of requests to the token endpoint. */
        readonly resource?: string;
      };
      /** A hosted code-collaboration identity provider with organizations and teams. */
      readonly providerA?: {
        /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
        readonly clientId?: string;
        /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Address that the provider redirects to after login: `https://<platform host>/auth/providerA/callback`. */
        readonly redirectURI?: string;
        /** Organizations whose teams become groups, named `organization:team`. If set, users must be members of at least one. Absent: all users may sign in, without groups. */
        readonly orgs?: readonly {
          /** Name of the organization as its address has it. */
          readonly name: string;
          /** Teams, by their names and not their slugs, of which one is enough to get in. Absent: any member of the organization. */
          readonly teams?: readonly string[];
        }[];
        /** Host of a self-hosted edition. */
        readonly hostName?: string;
        /** Root certificate of a self-hosted edition: a path, PEM, or base64 of PEM. */
        readonly rootCA?: string;
      };
      /** A hosted code-collaboration identity provider with groups. */
      readonly providerB?: {
        /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
        readonly clientId?: string;
        /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Address that the provider redirects to after login: `https://<platform host>/auth/providerB/callback`. */
        readonly redirectURI?: string;
        /** Address of a self-hosted edition. Absent: the public one. */
        readonly baseURL?: string;
        /** Full paths of groups. Only these count, and users in none of them cannot sign in. Absent: all users can sign in, with all groups. */
        readonly groups?: readonly string[];
      };
      /** An identity provider with hosted domains and a directory of groups. */
      readonly providerC?: {
        /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
        readonly clientId?: string;
        /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Address that the provider redirects to after login: `https://<platform host>/auth/providerC/callback`. */
        readonly redirectURI?: string;
        /** Scopes to ask for. */
        readonly scopes?: readonly string[];
        /** If not empty, only users of these domains may sign in. */
        readonly hostedDomains?: readonly string[];
        /** If not empty, only members of these groups may sign in. Needs `serviceAccountFilePath`. */
        readonly groups?: readonly string[];
        /** Path of a service account file, used to read groups from the directory. */
        readonly serviceAccountFilePath?: string;
        /** Administrator that the service account stands in for when it reads groups. Needed with `serviceAccountFilePath`. */
        readonly adminEmail?: string;
      };
      /** An identity provider with tenants. */
      readonly providerD?: {
        /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
        readonly clientId?: string;
        /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Address that the provider redirects to after login: `https://<platform host>/auth/providerD/callback`. */
        readonly redirectURI?: string;
        /** Accounts that may sign in: `common` (personal, business and school), `consumers` (personal), `organizations` (business and school), or the uuid or name of one tenant. */
        readonly tenant?: string;
        /** People must be members of one of these groups, which are named by display name or object id. Needs a single tenant. */
        readonly groups?: readonly string[];
        /** If true, only security groups count. */
        readonly onlySecurityGroups?: boolean;
        /** If true, only the groups in `groups` count. */
        readonly useGroupsAsWhitelist?: boolean;
      };
      /** A SAML 2.0 identity provider. */
      readonly saml?: {
        /** Address that receives responses: `https://<platform host>/auth/saml/callback`. The Destination of a response must be exactly this. */
        readonly redirectURI?: string;
        /** Address that login requests are posted to. */
        readonly ssoURL?: string;
        /** Signing certificates of the provider, as base64 of PEM: several while it changes them. Exactly one of `caData`, `ca` and `insecureSkipSignatureValidation`. */
        readonly caData?: string;
        /** Path of a PEM file with the signing certificates of the provider. It is read at every login. */
        readonly ca?: string;
        /** If true, signatures are not verified. Any client can then sign in as any user. */
        readonly insecureSkipSignatureValidation?: boolean;
        /** Attribute that holds the user name. */
        readonly usernameAttr?: string;
        /** Attribute that holds the mail address. */
        readonly emailAttr?: string;
        /** Attribute that holds the groups. */
        readonly groupsAttr?: string;
        /** Issuer of login requests, and the audience that responses must name. Both are `redirectURI` if it is not set. */
        readonly entityIssuer?: string;
        /** Issuer that responses must name. */
        readonly ssoIssuer?: string;
        /** Separator of the groups in one text; white space around a group is removed. */
        readonly groupsDelim?: string;
        /** Only members of these groups get in. Needs `groupsAttr`. */
        readonly allowedGroups?: readonly string[];
        /** If true, only the groups in `allowedGroups` count. */
        readonly filterGroups?: boolean;
        /** Format of the NameID to ask for: a whole URI or its last part, as in `emailAddress`. */
        readonly nameIDPolicyFormat?: string;
      };
      /** A cluster manager whose users sign in with their API keys. */
      readonly providerE?: {
        /** Host name of the cluster manager. */
        readonly host?: string;
        /** API key of the form name:secret. `$NAME` takes it from the environment. */
        readonly bearerToken?: string;
        /** If true, the certificate of the endpoint is not verified. */
        readonly insecure?: boolean;
      };
      /** Signing in with a password. */
      readonly password?: {
        /** If true, no user can sign in with a password. */
        readonly disabled?: boolean;
      };
      /** Further providers. */
      readonly connectors?: readonly {
        /** Part of the login URL; unique. */
        readonly id: string;
        /** Name that the login page shows. */
        readonly displayName?: string;
        /** An OpenID Connect provider. */
        readonly oidc?: {
          /** URL that the provider signs ID tokens with (the `iss` claim). Its configuration is discovered from there. */
          readonly issuerUrl?: string;
          /** Client that the tokens must be issued for. Only this one is trusted; the authorized-party claim is honoured. `$NAME` takes it from the environment. */
          readonly clientId?: string;
          /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
          readonly clientSecret?: string;
          /** Address that the provider redirects to after login: `https://<platform host>/auth/oidc/callback`. */
          readonly redirectURI?: string;
          /** Address that the provider redirects to after logout. */
          readonly postLogoutRedirectURI?: string;
          /** Path of a PEM file with the root certificate of the provider. */
          readonly caFile?: string;
          /** If true, the certificate of the provider is not verified. */
          readonly insecureCa?: boolean;
          /** Claim that holds the preferred user name. */
          readonly preferredUsername?: string;
          /** Claim that becomes the name of the user on the platform. */
          readonly platformUsernameClaim?: string;
          /** Claim that becomes the id of the user. */
          readonly usernameClaim?: string;
          /** Claim that holds the mail address. */
          readonly emailClaim?: string;
          /** Further claims to keep. */
          readonly allowedExtraClaims?: readonly string[];
          /** Put in front of user names that come from claims. */
          readonly usernamePrefix?: string;
          /** Claim that holds the groups: a text or a list of texts. */
          readonly groupsClaim?: string;
          /** If not empty, only members of at least one of these groups may sign in. */
          readonly groups?: readonly string[];
          /** Scopes to ask for. Empty means `email` and `profile`. */
          readonly scopes?: readonly string[];
          /** If true, further data is read from the UserInfo endpoint. */
          readonly getUserInfo?: boolean;
          /** Put in front of group names that come from claims. */
          readonly groupsPrefix?: string;
          /** Label of the provider in the user interface; changes nothing else. */
          readonly type?: string;
          /** Value of the `resource` parameter of requests to the token endpoint. */
          readonly resource?: string;
        };
        /** A hosted code-collaboration identity provider with organizations and teams. */
        readonly providerA?: {
          /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
          readonly clientId?: string;
          /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
          readonly clientSecret?: string;
          /** Address that the provider redirects to after login: `https://<platform host>/auth/providerA/callback`. */
          readonly redirectURI?: string;
          /** Organizations whose teams become groups, named `organization:team`. If set, users must be members of at least one. Absent: all users may sign in, without groups. */
          readonly orgs?: readonly {
            /** Name of the organization as its address has it. */
            readonly name: string;
            /** Teams, by their names and not their slugs, of which one is enough to get in. Absent: any member of the organization. */
            readonly teams?: readonly string[];
          }[];
          /** Host of a self-hosted edition. */
          readonly hostName?: string;
          /** Root certificate of a self-hosted edition: a path, PEM, or base64 of PEM. */
          readonly rootCA?: string;
        };
        /** A hosted code-collaboration identity provider with groups. */
        readonly providerB?: {
          /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
          readonly clientId?: string;
          /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
          readonly clientSecret?: string;
          /** Address that the provider redirects to after login: `https://<platform host>/auth/providerB/callback`. */
          readonly redirectURI?: string;
          /** Address of a self-hosted edition. Absent: the public one. */
          readonly baseURL?: string;
          /** Full paths of groups. Only these count, and users in none of them cannot sign in. Absent: all users can sign in, with all groups. */
          readonly groups?: readonly string[];
        };
        /** An identity provider with hosted domains and a directory of groups. */
        readonly providerC?: {
          /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
          readonly clientId?: string;
          /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
          readonly clientSecret?: string;
          /** Address that the provider redirects to after login: `https://<platform host>/auth/providerC/callback`. */
          readonly redirectURI?: string;
          /** Scopes to ask for. */
          readonly scopes?: readonly string[];
          /** If not empty, only users of these domains may sign in. */
          readonly hostedDomains?: readonly string[];
          /** If not empty, only members of these groups may sign in. Needs `serviceAccountFilePath`. */
          readonly groups?: readonly string[];
          /** Path of a service account file, used to read groups from the directory. */
          readonly serviceAccountFilePath?: string;
          /** Administrator that the service account stands in for when it reads groups. Needed with `serviceAccountFilePath`. */
          readonly adminEmail?: string;
        };
        /** An identity provider with tenants. */
        readonly providerD?: {
          /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
          readonly clientId?: string;
          /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
          readonly clientSecret?: string;
          /** Address that the provider redirects to after login: `https://<platform host>/auth/providerD/callback`. */
          readonly redirectURI?: string;
          /** Accounts that may sign in: `common` (personal, business and school), `consumers` (personal), `organizations` (business and school), or the uuid or name of one tenant. */
          readonly tenant?: string;
          /** People must be members of one of these groups, which are named by display name or object id. Needs a single tenant. */
          readonly groups?: readonly string[];
          /** If true, only security groups count. */
          readonly onlySecurityGroups?: boolean;
          /** If true, only the groups in `groups` count. */
          readonly useGroupsAsWhitelist?: boolean;
        };
        /** A SAML 2.0 identity provider. */
        readonly saml?: {
          /** Address that receives responses: `https://<platform host>/auth/saml/callback`. The Destination of a response must be exactly this. */
          readonly redirectURI?: string;
          /** Address that login requests are posted to. */
          readonly ssoURL?: string;
          /** Signing certificates of the provider, as base64 of PEM: several while it changes them. Exactly one of `caData`, `ca` and `insecureSkipSignatureValidation`. */
          readonly caData?: string;
          /** Path of a PEM file with the signing certificates of the provider. It is read at every login. */
          readonly ca?: string;
          /** If true, signatures are not verified. Any client can then sign in as any user. */
          readonly insecureSkipSignatureValidation?: boolean;
          /** Attribute that holds the user name. */
          readonly usernameAttr?: string;
          /** Attribute that holds the mail address. */
          readonly emailAttr?: string;
          /** Attribute that holds the groups. */
          readonly groupsAttr?: string;
          /** Issuer of login requests, and the audience that responses must name. Both are `redirectURI` if it is not set. */
          readonly entityIssuer?: string;
          /** Issuer that responses must name. */
          readonly ssoIssuer?: string;
          /** Separator of the groups in one text; white space around a group is removed. */
          readonly groupsDelim?: string;
          /** Only members of these groups get in. Needs `groupsAttr`. */
          readonly allowedGroups?: readonly string[];
          /** If true, only the groups in `allowedGroups` count. */
          readonly filterGroups?: boolean;
          /** Format of the NameID to ask for: a whole URI or its last part, as in `emailAddress`. */
          readonly nameIDPolicyFormat?: string;
        };
      }[];
      /** If true, a login does not create teams for groups that have none. */
      readonly disableTeamCreation?: boolean;
      /** If true, a login does not create users: users without a user object cannot sign in. */
      readonly disableUserCreation?: boolean;
      /** Longest life of any access key, in seconds. 0 or absent: no limit. */
      readonly accessKeyMaxTTLSeconds?: number;
      /** Life of the keys that logins make, in seconds. Absent: 20 days; 0: no limit. */
      readonly loginAccessKeyTTLSeconds?: number;
      /** Further headers of answers from the authentication endpoints. */
      readonly customHttpHeaders?: Readonly<Record<string, string>>;
      /** Regular expressions (RE2). Only groups that match one are saved with the user. Empty keeps all. */
      readonly groupsFilters?: readonly string[];
    };
    /** Configure clients in the user interface or in secrets instead. The built-in OpenID provider. */
    readonly oidc?: {
      /** If true, the platform is an OpenID provider. */
      readonly enabled?: boolean;
      /** If true, `*` is allowed in the redirect URIs of clients. */
      readonly wildcardRedirect?: boolean;
      /** Clients that may use the provider. */
      readonly clients?: readonly {
        /** Name of the client. */
        readonly name?: string;
        /** Client id. */
        readonly clientId?: string;
        /** Client secret. `$NAME` takes it from the environment. */
        readonly clientSecret?: string;
        /** Addresses that users may be redirected to. Matched exactly, unless the client is public. */
        readonly redirectURIs?: readonly string[];
      }[];
    };
    /** Applications that people can install. */
    readonly apps?: {
      /** If true, the prepared applications are left out. */
      readonly noDefault?: boolean;
      /** Chart repositories. */
      readonly repositories?: readonly {
        /** Name of the repository. */
        readonly name?: string;
        /** Address of the repository. */
        readonly url?: string;
        /** User name. */
        readonly username?: string;
        /** Password. `$NAME` takes it from the environment. */
        readonly password?: string;
        /** If true, the certificate of the repository is not verified. */
        readonly insecure?: boolean;
      }[];
      /** Applications to show first. */
      readonly predefinedApps?: readonly {
        /** Repository and name of the chart, as in `repository/chart`. */
        readonly chart?: string;
        /** Version that is selected at first. */
        readonly initialVersion?: string;
        /** Values that are filled in at first. */
        readonly initialValues?: string;
        /** Clusters that the application is shown for. Empty means all. */
        readonly clusters?: readonly string[];
        /** Title. Absent: the name of the chart. */
        readonly title?: string;
        /** URL of an icon. The icon of the chart is not read: a write without one is warned. */
        readonly iconUrl?: string;
        /** URL of a readme. Absent: the page of the chart on Artifact Hub. */
        readonly readmeUrl?: string;
      }[];
    };
    /** The audit log. */
    readonly audit?: {
      /** If true, requests are logged according to the policy. */
      readonly enabled?: boolean;
      /** If true, agents do not send their audit logs to the platform. */
      readonly disableAgentSyncBack?: boolean;
      /** Prepared policy, from 1 (little) to 4 (bodies of requests and answers); 0 is none. Not together with `policy`. */
      readonly level?: number;
      /** Selection of the logged requests. Without a policy nothing is logged. */
      readonly policy?: {
        /** The first rule that matches a request decides. A request that none matches is not logged. */
        readonly rules?: readonly {
          /** Level of detail. */
          readonly level: 'None' | 'Metadata' | 'Request' | 'RequestResponse';
          /** User names. Empty means everyone. */
          readonly users?: readonly string[];
          /** Groups of the user. Empty means all. */
          readonly userGroups?: readonly string[];
          /** Verbs. Empty means every verb. */
          readonly verbs?: readonly string[];
          /** Kinds of resources. Empty means every kind. */
          readonly resources?: readonly {
            /** API group. Empty is the core group, `*` every group. */
            readonly group?: string;
            /** Plural names. `*` stands for all, `pods/*` for the subresources of pods, `*\/scale` for every scale subresource. Empty means every resource in the group. */
            readonly resources?: readonly string[];
            /** Names of single objects. Needs `resources`; empty means every object. */
            readonly resourceNames?: readonly string[];
          }[];
          /** Namespaces. The empty text stands for objects that have none; an empty list means every namespace. */
          readonly namespaces?: readonly string[];
          /** URL paths. `*` is allowed only as the whole last step. */
          readonly nonResourceURLs?: readonly string[];
          /** Stages that no event is made for, in addition to those of the policy. */
          readonly omitStages?: readonly (
            | 'RequestReceived'
            | 'ResponseStarted'
            | 'ResponseComplete'
            | 'Panic'
          )[];
          /** Targets of requests. Empty means all. */
          readonly requestTargets?: readonly (
            | 'Management'
            | 'Cluster'
            | 'VCluster'
            | 'ProjectSpace'
            | 'ProjectVCluster'
          )[];
          /** Clusters. If set, only requests to these clusters are logged. Empty means no restriction. */
          readonly clusters?: readonly string[];
        }[];
        /** Stages that no event is made for. */
        readonly omitStages?: readonly (
          | 'RequestReceived'
          | 'ResponseStarted'
          | 'ResponseComplete'
          | 'Panic'
        )[];
      };
      /** Address of the event database, credentials included. `$NAME` takes it from the environment. */
      readonly dataStoreEndpoint?: string;
      /** Hours for which the data store retains events. */
      readonly dataStoreTTL?: number;
      /** Directory or file of the log. Needed when auditing is enabled. Older files stay beside it. */
      readonly path?: string;
      /** Days for which older files are retained, by the time in their name. Absent: no limit. */
      readonly maxAge?: number;
      /** Number of older files that are retained. Absent: all. */
      readonly maxBackups?: number;
      /** Megabytes at which a new file begins. */
      readonly maxSize?: number;
      /** If true, older files are compressed with gzip. */
      readonly compress?: boolean;
    };
    /** Host name of the platform, without a scheme. */
    readonly platformHost?: string;
    /** Prefix of the namespaces of projects. */
    readonly projectNamespacePrefix?: string;
    /** No longer used. Sub-domain of the form `*.workspace.<domain>`. */
    readonly workspaceSubDomain?: string;
    /** Look of the user interface. */
    readonly uiSettings?: {
      /** Version of the platform that is running. */
      readonly platformVersion?: string;
      /** Logo. Browsers must be able to load it. */
      readonly logoURL?: string;
      /** Icon of the page. Browsers must be able to load it. */
      readonly faviconURL?: string;
      /** Small logo. Browsers must be able to load it. */
      readonly smallLogoURL?: string;
      /** Background of the logo, as a CSS color value. */
      readonly logoBackgroundColor?: string;
      /** HTML that people see when they sign in. */
      readonly legalTemplate?: string;
      /** Primary color, as a CSS color value. */
      readonly primaryColor?: string;
      /** Color of the sidebar, as a CSS color value. */
      readonly sidebarColor?: string;
      /** Accent color, as a CSS color value. */
      readonly accentColor?: string;
      /** URLs of further CSS files. */
      readonly customCss?: readonly string[];
      /** URLs of further JavaScript files. */
      readonly customJavaScript?: readonly string[];
      /** Further buttons of the navigation bar. */
      readonly navBarButtons?: readonly {
        /** Position of the button. */
        readonly position?: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
        /** Text on the button. */
        readonly text?: string;
        /** Target of the button. */
        readonly link?: string;
        /** URL of an icon. */
        readonly icon?: string;
      }[];
      /** External addresses that the user interface may load. */
      readonly externalURLs?: {
        /** If true, requests of the user interface to other hosts are blocked. */
        readonly block?: boolean;
        /** URLs, or the names of prepared modules (features and licenses, tag manager, changelog), that may be called all the same. Only matters when `block` is true. */
        readonly allow?: readonly string[];
      };
    };
    /** The external secret store. */
    readonly secretStore?: {
      /** Name of the store, which annotations of secrets refer to. Required in `secretStores`; the store of `secretStore` has the name `default`. */
      readonly name?: string;
      /** If true, secrets are synchronised with the store. Authentication methods and engines for virtual clusters are not set up. */
      readonly enabled?: boolean;
      /** Address of the store, as in `https://store.example.com:8200`; a path that follows is a prefix of every request. Absent: the value of the environment. */
      readonly address?: string;
      /** If true, the certificate of the store is not verified. */
      readonly skipTLSVerify?: boolean;
      /** Path of a PEM file with the authorities of the store, in place of those of the system. Read again when it changes. Absent, like `caData`: `BAO_CACERT`, else `VAULT_CACERT`, in the environment. */
      readonly caFile?: string;
      /** The authorities of the store as PEM, or base64 of PEM, in place of `caFile`. */
      readonly caData?: string;
      /** Path of a PEM file with the client certificate and its chain. Read again when it changes. Absent, like `clientCertData`: `BAO_CLIENT_CERT`, else `VAULT_CLIENT_CERT`, in the environment. */
      readonly clientCertFile?: string;
      /** The client certificate and its chain as PEM, or base64 of PEM, in place of `clientCertFile`. */
      readonly clientCertData?: string;
      /** Path of a PEM file with the private key of the client certificate, in a folder for credentials. Read again when it changes. Absent, like `clientKeyData`: `BAO_CLIENT_KEY`, else `VAULT_CLIENT_KEY`, in the environment. */
      readonly clientKeyFile?: string;
      /** The private key of the client certificate as PEM, or base64 of PEM, in place of `clientKeyFile`. `$NAME` takes it from the environment. */
      readonly clientKeyData?: string;
      /** Namespace inside the store. */
      readonly namespace?: string;
      /** Authentication of the platform to the store: a token, or one login. Absent: `BAO_TOKEN`, else `VAULT_TOKEN`, in the environment. */
      readonly auth?: {
        /** Token. `$NAME` takes it from the environment. */
        readonly token?: string;
        /** Secret that holds the token; used when `token` is absent. */
        readonly tokenSecretRef?: {
          /** Name of the secret. */
          readonly name?: string;
          /** Key inside the secret. */
          readonly key: string;
          /** If true, the secret may be absent. */
          readonly optional?: boolean;
        };
        /** Path of a file with the token, in a folder for credentials. Read again when it changes. */
        readonly tokenFile?: string;
        /** Login with AppRole. */
        readonly appRole?: {
          /** Path of the auth method below `auth/`. Absent: `approle`. */
          readonly mount?: string;
          /** ID of the role. */
          readonly roleId: string;
          /** Secret ID. `$NAME` takes it from the environment. Absent, like the next two: the role needs none. */
          readonly secretId?: string;
          /** Path of a file with the secret ID, in a folder for credentials. Read again when it changes. */
          readonly secretIdFile?: string;
          /** SharedSecret of the namespace `default` that holds the secret ID. */
          readonly secretIdSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
        /** Login with the token of the service account of the pod. */
        readonly kubernetes?: {
          /** Path of the auth method below `auth/`. Absent: `kubernetes`. */
          readonly mount?: string;
          /** Name of the role. */
          readonly role: string;
          /** Path of a file with the token of a service account, in a folder for credentials. Read for each login. Absent: where Kubernetes mounts it. */
          readonly tokenFile?: string;
        };
        /** Login with a JWT of another issuer. */
        readonly jwt?: {
          /** Path of the auth method below `auth/`. Absent: `jwt`. */
          readonly mount?: string;
          /** Name of the role. Absent: the default role of the auth method. */
          readonly role?: string;
          /** Path of a file with the JWT, in a folder for credentials. Read for each login. */
          readonly tokenFile?: string;
          /** SharedSecret of the namespace `default` that holds the JWT. */
          readonly tokenSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
        /** Login with a user name and a password. */
        readonly userpass?: {
          /** Path of the auth method below `auth/`. Absent: `userpass`. */
          readonly mount?: string;
          /** Name of the user. */
          readonly username: string;
          /** Password. `$NAME` takes it from the environment. */
          readonly password?: string;
          /** Path of a file with the password, in a folder for credentials. Read again when it changes. */
          readonly passwordFile?: string;
          /** SharedSecret of the namespace `default` that holds the password. */
          readonly passwordSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
      };
      /** Decision on a secret whose store was restored from an older copy. Absent: `Hold`, which leaves it to a person, `PreferGit` pushes what git has, `PreferStore` takes the older values. The annotation `gitplane.dev/secret-store-store-older` of a secret wins. */
      readonly onStoreOlder?: 'Hold' | 'PreferGit' | 'PreferStore';
      /** Interval between reads of the store, as in `30s` or `1m`. */
      readonly syncInterval?: string;
      /** Whole paths of the store whose secrets become objects of a namespace, tied to the store. */
      readonly pulls?: readonly {
        /** Name of the pull, unique in the store. Objects that it makes have it as the label `gitplane.dev/secret-store-pull`. */
        readonly name: string;
        /** Path of the mount, as in `secret`. */
        readonly mount: string;
        /** Folder below the mount. Absent: the whole mount. */
        readonly path?: string;
        /** If false, folders below the path are left out. */
        readonly recursive?: boolean;
        /** RE2 expression that has to match in the path of a secret below `path`. Absent: all secrets. */
        readonly match?: string;
        /** RE2 expression; a secret whose path below `path` it matches is left out. */
        readonly exclude?: string;
        /** Namespace of the objects. */
        readonly namespace: string;
        /** Kind of the objects. */
        readonly kind?: 'SharedSecret' | 'ProjectSecret';
        /** Name of an object: `{path}` is the path below `path`, `{name}` its last part, in lower case and with `-` for what a name cannot have. */
        readonly nameTemplate?: string;
        /** Labels of the objects. */
        readonly labels?: Readonly<Record<string, string>>;
        /** Least time between two listings, as in `10m`. Absent: each cycle lists. */
        readonly interval?: string;
        /** Deletion policy of the objects that are made from now on, for a secret that is deleted in the store. */
        readonly deletionPolicy?: 'Retain' | 'Delete';
        /** Most objects of the pull. */
        readonly limit?: number;
      }[];
    };
    /** Further secret stores by name, each with the fields of `secretStore`. A secret names its store with the annotation `gitplane.dev/secret-store`. */
    readonly secretStores?: readonly {
      /** Name of the store, which annotations of secrets refer to. Required in `secretStores`; the store of `secretStore` has the name `default`. */
      readonly name?: string;
      /** If true, secrets are synchronised with the store. Authentication methods and engines for virtual clusters are not set up. */
      readonly enabled?: boolean;
      /** Address of the store, as in `https://store.example.com:8200`; a path that follows is a prefix of every request. Absent: the value of the environment. */
      readonly address?: string;
      /** If true, the certificate of the store is not verified. */
      readonly skipTLSVerify?: boolean;
      /** Path of a PEM file with the authorities of the store, in place of those of the system. Read again when it changes. Absent, like `caData`: `BAO_CACERT`, else `VAULT_CACERT`, in the environment. */
      readonly caFile?: string;
      /** The authorities of the store as PEM, or base64 of PEM, in place of `caFile`. */
      readonly caData?: string;
      /** Path of a PEM file with the client certificate and its chain. Read again when it changes. Absent, like `clientCertData`: `BAO_CLIENT_CERT`, else `VAULT_CLIENT_CERT`, in the environment. */
      readonly clientCertFile?: string;
      /** The client certificate and its chain as PEM, or base64 of PEM, in place of `clientCertFile`. */
      readonly clientCertData?: string;
      /** Path of a PEM file with the private key of the client certificate, in a folder for credentials. Read again when it changes. Absent, like `clientKeyData`: `BAO_CLIENT_KEY`, else `VAULT_CLIENT_KEY`, in the environment. */
      readonly clientKeyFile?: string;
      /** The private key of the client certificate as PEM, or base64 of PEM, in place of `clientKeyFile`. `$NAME` takes it from the environment. */
      readonly clientKeyData?: string;
      /** Namespace inside the store. */
      readonly namespace?: string;
      /** Authentication of the platform to the store: a token, or one login. Absent: `BAO_TOKEN`, else `VAULT_TOKEN`, in the environment. */
      readonly auth?: {
        /** Token. `$NAME` takes it from the environment. */
        readonly token?: string;
        /** Secret that holds the token; used when `token` is absent. */
        readonly tokenSecretRef?: {
          /** Name of the secret. */
          readonly name?: string;
          /** Key inside the secret. */
          readonly key: string;
          /** If true, the secret may be absent. */
          readonly optional?: boolean;
        };
        /** Path of a file with the token, in a folder for credentials. Read again when it changes. */
        readonly tokenFile?: string;
        /** Login with AppRole. */
        readonly appRole?: {
          /** Path of the auth method below `auth/`. Absent: `approle`. */
          readonly mount?: string;
          /** ID of the role. */
          readonly roleId: string;
          /** Secret ID. `$NAME` takes it from the environment. Absent, like the next two: the role needs none. */
          readonly secretId?: string;
          /** Path of a file with the secret ID, in a folder for credentials. Read again when it changes. */
          readonly secretIdFile?: string;
          /** SharedSecret of the namespace `default` that holds the secret ID. */
          readonly secretIdSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
        /** Login with the token of the service account of the pod. */
        readonly kubernetes?: {
          /** Path of the auth method below `auth/`. Absent: `kubernetes`. */
          readonly mount?: string;
          /** Name of the role. */
          readonly role: string;
          /** Path of a file with the token of a service account, in a folder for credentials. Read for each login. Absent: where Kubernetes mounts it. */
          readonly tokenFile?: string;
        };
        /** Login with a JWT of another issuer. */
        readonly jwt?: {
          /** Path of the auth method below `auth/`. Absent: `jwt`. */
          readonly mount?: string;
          /** Name of the role. Absent: the default role of the auth method. */
          readonly role?: string;
          /** Path of a file with the JWT, in a folder for credentials. Read for each login. */
          readonly tokenFile?: string;
          /** SharedSecret of the namespace `default` that holds the JWT. */
          readonly tokenSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
        /** Login with a user name and a password. */
        readonly userpass?: {
          /** Path of the auth method below `auth/`. Absent: `userpass`. */
          readonly mount?: string;
          /** Name of the user. */
          readonly username: string;
          /** Password. `$NAME` takes it from the environment. */
          readonly password?: string;
          /** Path of a file with the password, in a folder for credentials. Read again when it changes. */
          readonly passwordFile?: string;
          /** SharedSecret of the namespace `default` that holds the password. */
          readonly passwordSecretRef?: {
            /** Name of the secret. */
            readonly name?: string;
            /** Key inside the secret. */
            readonly key: string;
            /** If true, the secret may be absent. */
            readonly optional?: boolean;
          };
        };
      };
      /** Decision on a secret whose store was restored from an older copy. Absent: `Hold`, which leaves it to a person, `PreferGit` pushes what git has, `PreferStore` takes the older values. The annotation `gitplane.dev/secret-store-store-older` of a secret wins. */
      readonly onStoreOlder?: 'Hold' | 'PreferGit' | 'PreferStore';
      /** Interval between reads of the store, as in `30s` or `1m`. */
      readonly syncInterval?: string;
      /** Whole paths of the store whose secrets become objects of a namespace, tied to the store. */
      readonly pulls?: readonly {
        /** Name of the pull, unique in the store. Objects that it makes have it as the label `gitplane.dev/secret-store-pull`. */
        readonly name: string;
        /** Path of the mount, as in `secret`. */
        readonly mount: string;
        /** Folder below the mount. Absent: the whole mount. */
        readonly path?: string;
        /** If false, folders below the path are left out. */
        readonly recursive?: boolean;
        /** RE2 expression that has to match in the path of a secret below `path`. Absent: all secrets. */
        readonly match?: string;
        /** RE2 expression; a secret whose path below `path` it matches is left out. */
        readonly exclude?: string;
        /** Namespace of the objects. */
        readonly namespace: string;
        /** Kind of the objects. */
        readonly kind?: 'SharedSecret' | 'ProjectSecret';
        /** Name of an object: `{path}` is the path below `path`, `{name}` its last part, in lower case and with `-` for what a name cannot have. */
        readonly nameTemplate?: string;
        /** Labels of the objects. */
        readonly labels?: Readonly<Record<string, string>>;
        /** Least time between two listings, as in `10m`. Absent: each cycle lists. */
        readonly interval?: string;
        /** Deletion policy of the objects that are made from now on, for a secret that is deleted in the store. */
        readonly deletionPolicy?: 'Retain' | 'Delete';
        /** Most objects of the pull. */
        readonly limit?: number;
      }[];
    }[];
    /** Receivers of notifications about the platform. */
    readonly notifications?: readonly {
      /** Name of the receiver, for the log and metrics. */
      readonly name: string;
      /** Events to send. Absent: all but `Applied`. */
      readonly events?: readonly (
        | 'Held'
        | 'Degraded'
        | 'StoreOutOfStep'
        | 'KeyExpired'
        | 'Applied'
      )[];
      /** Sends each notification as a CloudEvent. */
      readonly webhook?: {
        /** Address of the receiver. `$NAME` takes it from the environment. */
        readonly url: string;
        /** Key of the signature: `whsec_` and base64, or any text of at least 16 characters. `$NAME` takes it from the environment. */
        readonly secret?: string;
        /** Path of a file with the key, in a folder for credentials, in place of `secret`. Read at each use. */
        readonly secretFile?: string;
      };
      /** Sends each notification as a message to an incoming webhook of Slack, or of a chat with the same interface. */
      readonly slack?: {
        /** Address of the incoming webhook. `$NAME` takes it from the environment. */
        readonly url?: string;
        /** Path of a file with the address, in a folder for credentials, in place of `url`. Read at each use. */
        readonly urlFile?: string;
      };
      /** Sends each notification as mail over SMTP. */
      readonly email?: {
        /** Host name of the mail server. */
        readonly host: string;
        /** Port of the mail server. Absent: 587, or 465 with `Implicit`. */
        readonly port?: number;
        /** Encryption. Absent: `StartTLS`, which the server must offer. `None` takes no password. */
        readonly tls?: 'StartTLS' | 'Implicit' | 'None';
        /** User name. Absent: no authentication. */
        readonly username?: string;
        /** Password. `$NAME` takes it from the environment. */
        readonly password?: string;
        /** Path of a file with the password, in a folder for credentials, in place of `password`. Read at each use. */
        readonly passwordFile?: string;
        /** Path of a file with certificates of authorities (PEM), in a folder for credentials, trusted beside those of Node. Read at each use. */
        readonly caFile?: string;
        /** Address of the sender. */
        readonly from: string;
        /** Addresses of the recipients. */
        readonly to: readonly string[];
      };
    }[];
    /** If true, the user interface and the config endpoint cannot change the configuration. */
    readonly disableConfigEndpoint?: boolean;
    /** If true, `/version` needs authentication. Tenant clusters need version 0.27 or later. */
    readonly authenticateVersionEndpoint?: boolean;
    /** Settings of the hosted edition. */
    readonly cloud?: {
      /** Channel that decides which versions apply. */
      readonly releaseChannel?: string;
      /** Window for maintenance of the repository: it is repacked once in each window. In place of `--maintenance-schedule`. */
      readonly maintenanceWindow?: {
        /** Day of the week. Absent: every day. */
        readonly dayOfWeek?:
          | 'Monday'
          | 'Tuesday'
          | 'Wednesday'
          | 'Thursday'
          | 'Friday'
          | 'Saturday'
          | 'Sunday';
        /** Hours of that day in UTC, as in `02:00-03:00`; `22:00-02:00` ends on the next day. Absent: the whole day. */
        readonly timeWindow?: string;
      };
    };
    /** The dashboard of costs and savings. */
    readonly costControl?: {
      /** If true, the dashboard is shown and its metrics are collected. */
      readonly enabled?: boolean;
      /** Components that run once for the platform. */
      readonly global?: {
        /** Collects the metrics of all connected clusters. */
        readonly metrics?: {
          /** Number of replicas. */
          readonly replicas?: number;
          /** Compute resources of a container. */
          readonly resources?: {
            /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
            readonly limits?: Readonly<Record<string, number | string>>;
            /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
            readonly requests?: Readonly<Record<string, number | string>>;
            /** Entries of the pod's resource claims that the container uses. */
            readonly claims?: readonly {
              /** Name of an entry in the resource claims of the pod. */
              readonly name: string;
              /** One request within that claim. Empty makes all of the claim available. */
              readonly request?: string;
            }[];
          };
          /** Retention of metrics, as in `30d` or `1y`. */
          readonly retention?: string;
          /** The volume that holds the metrics. */
          readonly storage?: {
            /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
            readonly storageClass?: string | null;
            /** Size of the volume, as in `50Gi`. */
            readonly size?: string;
          };
        };
      };
      /** Components that run in each connected cluster; a cluster may override it. */
      readonly cluster?: {
        /** Collects the metrics of the cluster. */
        readonly metrics?: {
          /** Number of replicas. */
          readonly replicas?: number;
          /** Compute resources of a container. */
          readonly resources?: {
            /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
            readonly limits?: Readonly<Record<string, number | string>>;
            /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
            readonly requests?: Readonly<Record<string, number | string>>;
            /** Entries of the pod's resource claims that the container uses. */
            readonly claims?: readonly {
              /** Name of an entry in the resource claims of the pod. */
              readonly name: string;
              /** One request within that claim. Empty makes all of the claim available. */
              readonly request?: string;
            }[];
          };
          /** Retention of metrics, as in `30d` or `1y`. */
          readonly retention?: string;
          /** The volume that holds the metrics. */
          readonly storage?: {
            /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
            readonly storageClass?: string | null;
            /** Size of the volume, as in `50Gi`. */
            readonly size?: string;
          };
        };
        /** Computes the costs of the cluster. */
        readonly costBackend?: {
          /** Number of replicas. */
          readonly replicas?: number;
          /** Compute resources of a container. */
          readonly resources?: {
            /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
            readonly limits?: Readonly<Record<string, number | string>>;
            /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
            readonly requests?: Readonly<Record<string, number | string>>;
            /** Entries of the pod's resource claims that the container uses. */
            readonly claims?: readonly {
              /** Name of an entry in the resource claims of the pod. */
              readonly name: string;
              /** One request within that claim. Empty makes all of the claim available. */
              readonly request?: string;
            }[];
          };
        };
      };
      /** Prices to calculate with. */
      readonly settings?: {
        /** Currency of all prices. */
        readonly priceCurrency?: string;
        /** Average price of the processors of a node. */
        readonly averageCPUPricePerNode?: {
          /** The amount. */
          readonly price?: number;
          /** The span of time, such as `Monthly`. */
          readonly timePeriod?: string;
        };
        /** Average price of the memory of a node. */
        readonly averageRAMPricePerNode?: {
          /** The amount. */
          readonly price?: number;
          /** The span of time, such as `Monthly`. */
          readonly timePeriod?: string;
        };
        /** Graphics processors. */
        readonly gpuSettings?: {
          /** If true, the dashboard shows graphics processors. */
          readonly enabled?: boolean;
          /** Average price of a graphics processor. */
          readonly averageGPUPrice?: {
            /** The amount. */
            readonly price?: number;
            /** The span of time, such as `Monthly`. */
            readonly timePeriod?: string;
          };
        };
        /** Price of the control plane of one cluster. */
        readonly controlPlanePricePerCluster?: {
          /** The amount. */
          readonly price?: number;
          /** The span of time, such as `Monthly`. */
          readonly timePeriod?: string;
        };
      };
    };
    /** The database of the platform. */
    readonly platformDB?: {
      /** Storage class of its volume. */
      readonly storageClass?: string;
    };
    /** Builds images from devcontainer definitions. */
    readonly imageBuilder?: {
      /** If false, such builds are not possible. */
      readonly enabled?: boolean;
      /** Number of replicas. */
      readonly replicas?: number;
      /** Compute resources of a container. */
      readonly resources?: {
        /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
        readonly limits?: Readonly<Record<string, number | string>>;
        /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
        readonly requests?: Readonly<Record<string, number | string>>;
        /** Entries of the pod's resource claims that the container uses. */
        readonly claims?: readonly {
          /** Name of an entry in the resource claims of the pod. */
          readonly name: string;
          /** One request within that claim. Empty makes all of the claim available. */
          readonly request?: string;
        }[];
      };
    };
    /** An external database for the platform. */
    readonly database?: {
      /** If true, the external database is used. */
      readonly enabled?: boolean;
      /** Address of the database, credentials included. `$NAME` takes it from the environment. */
      readonly dataSource?: string;
      /** Identity provider to authenticate to the database with. */
      readonly identityProvider?: string;
      /** Path of the client key. */
      readonly keyFile?: string;
      /** Path of the client certificate. */
      readonly certFile?: string;
      /** Path of the root certificate. */
      readonly caFile?: string;
      /** Further arguments. */
      readonly extraArgs?: readonly string[];
    };
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of Config objects. */
export type ConfigList = List<Config>;

/** A short-lived token for a direct connection to a cluster, without the central instance. The server returns it once and never stores it. */
export interface DirectClusterEndpointToken {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `DirectClusterEndpointToken`. Cannot be changed. */
  readonly kind?: 'DirectClusterEndpointToken';
  /** May be empty: these objects are never stored. */
  readonly metadata: ObjectMeta;
  /** Requested properties of the token. */
  readonly spec?: {
    /** Seconds that the token lives. */
    readonly ttl?: number;
    /** Limits of the token. */
    readonly scope?: {
      /** Prepared sets of permissions. */
      readonly roles?: readonly {
        /** Name of the role: `agent`, `virtual-cluster`, `network-peer`, `platform-cli`, `workspace`, `metrics-writer` or `metrics-reader`. */
        readonly role: string;
        /** Projects that the role is limited to. Empty means every project. */
        readonly projects?: readonly string[];
        /** Virtual clusters that the role is limited to. Empty means every virtual cluster. */
        readonly virtualClusters?: readonly string[];
      }[];
      /** Projects with everything inside them. */
      readonly projects?: readonly {
        /** Name of the project; `*` stands for all. */
        readonly project: string;
      }[];
      /** Spaces. */
      readonly spaces?: readonly {
        /** Name of the project that holds the space. */
        readonly project: string;
        /** Name of the space; `*` stands for all in the project. */
        readonly space: string;
      }[];
      /** Virtual clusters. */
      readonly virtualClusters?: readonly {
        /** Name of the project that holds the virtual cluster. */
        readonly project: string;
        /** Name of the virtual cluster; `*` stands for all in the project. */
        readonly virtualCluster: string;
      }[];
      /** Connected clusters. */
      readonly clusters?: readonly {
        /** Name of the cluster; `*` stands for all. */
        readonly cluster: string;
      }[];
      /** Use `projects`, `spaces` and `virtualClusters` instead. Requests that are allowed; a request has to match one rule. */
      readonly rules?: readonly {
        /** Verbs. Empty means every verb. */
        readonly verbs?: readonly string[];
        /** Kinds of resources. Empty means every kind. */
        readonly resources?: readonly {
          /** API group. Empty is the core group. */
          readonly group?: string;
          /** Plural names. `*` stands for all, `pods/*` for the subresources of pods, `*\/scale` for every scale subresource. Empty means every resource in the group. */
          readonly resources?: readonly string[];
        }[];
        /** Names of single objects. Needs `resources`; empty means every object. */
        readonly resourceNames?: readonly string[];
        /** Namespaces. The empty text stands for objects that have none; an empty list means every namespace. */
        readonly namespaces?: readonly string[];
        /** URL paths. `*` is allowed only as the whole last step, as in `/healthz/*`. */
        readonly nonResourceURLs?: readonly string[];
        /** Targets of the requests. Empty: all targets. */
        readonly requestTargets?: readonly (
          | 'Management'
          | 'Cluster'
          | 'ProjectSpace'
          | 'ProjectVirtualCluster'
        )[];
        /** Only requests to this cluster are allowed, and no others. Empty means no restriction. */
        readonly cluster?: string;
        /** Only requests to these virtual clusters are allowed. Empty means no restriction. */
        readonly virtualClusters?: readonly {
          /** Name of the virtual cluster. Empty means all. */
          readonly name?: string;
          /** Namespace of the virtual cluster. Empty means all. */
          readonly namespace?: string;
        }[];
      }[];
      /** Use a `roles` entry with the role `platform-cli` instead. Allows the read-only requests that the command-line client makes. */
      readonly allowPlatformCli?: boolean;
    };
  };
  /** The token. */
  readonly status?: {
    /** The signed token. */
    readonly token?: string;
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of DirectClusterEndpointToken objects. */
export type DirectClusterEndpointTokenList = List<DirectClusterEndpointToken>;

/** The commit that set each field of an object. */
export interface ObjectBlame {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of this document. */
  readonly kind?: string;
  /** The object. */
  readonly metadata: {
    /** Name of the object. */
    readonly name: string;
    /** Life of the object: a recreated object has another one. */
    readonly uid?: string;
    /** Number of commits that were not examined. */
    readonly remainingItemCount?: number;
  };
  /** Commits by their id. */
  readonly commits: Readonly<
    Record<
      string,
      {
        /** Committer time. */
        readonly time: string;
        /** Author of a commit. */
        readonly author: {
          /** Name. */
          readonly name: string;
          /** Address. */
          readonly email: string;
        };
        /** First line of the message. */
        readonly message: string;
      }
    >
  >;
  /** Fields of the manifest; a blame has no values. */
  readonly fields: readonly {
    /** Path of the field. An item of a list is one field. */
    readonly path: string;
    /** Commit that set it. Absent: older than the examined commits. */
    readonly revision?: string;
  }[];
  /** The object has more fields. */
  readonly truncated?: boolean;
}

/** Commits that changed an object, newest first. */
export interface ObjectHistory {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of this document. */
  readonly kind?: string;
  /** Continuation of the list. */
  readonly metadata: ListMeta;
  /** Newest first. */
  readonly items: readonly {
    /** The commit: for atRevision and for a rollback. */
    readonly revision: string;
    /** Committer time. */
    readonly time: string;
    /** Author of a commit. */
    readonly author: {
      /** Name. */
      readonly name: string;
      /** Address. */
      readonly email: string;
    };
    /** First line of the message. */
    readonly message: string;
    /** Change of the object. */
    readonly verb: 'created' | 'updated' | 'deleted' | 'moved';
    /** Life of the object that changed: a recreated object has another one. */
    readonly uid: string;
    /** metadata.generation after the change. */
    readonly generation: number;
    /** Present or last file of the object. */
    readonly path: string;
    /** Former file of a moved object. */
    readonly previousPath?: string;
    /** Paths of the changed fields; a history has no values. */
    readonly fields: readonly string[];
    /** The manifest of this commit is not valid: the last good one stayed in force. */
    readonly degraded?: boolean;
    /** Signature of a commit, judged with the keys of now. */
    readonly signature?: {
      /** Verdict on the signature. */
      readonly state: 'unsigned' | 'trusted' | 'untrusted' | 'unchecked';
      /** Name of the signer. */
      readonly signer?: string;
      /** Reason of the verdict. */
      readonly message?: string;
    };
  }[];
}

/** The manifest of an object in git, and its place. */
export interface ObjectSource {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of this document. */
  readonly kind?: string;
  /** The object. */
  readonly metadata: {
    /** Name of the object. */
    readonly name: string;
    /** Life of the object: a recreated object has another one. */
    readonly uid?: string;
  };
  /** Commit that the manifest is read from. */
  readonly revision: string;
  /** Path of the file. */
  readonly path: string;
  /** First line of the document in its file. */
  readonly line: number;
  /** The document with its comments. Absent without the right to clone. */
  readonly text?: string;
  /** The right that shows the text, where it is absent. */
  readonly withheld?: {
    /** Verb. */
    readonly verb: string;
    /** Path. */
    readonly path: string;
  };
}

/** Text of a manifest to write. */
export interface ObjectSourceText {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of this document. */
  readonly kind?: string;
  /** Commit that the text was read from. Refused if the document changed since. */
  readonly revision: string;
  /** The document with its comments. */
  readonly text: string;
  /** Reason for the body of the commit message. */
  readonly reason?: string;
  readonly [field: string]: unknown;
}

/** A key that authenticates to the API without a person at hand, for pipelines and other automation. It acts for exactly one user, team or subject. */
export interface OwnedAccessKey {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `OwnedAccessKey`. Cannot be changed. */
  readonly kind?: 'OwnedAccessKey';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Desired state of an access key. */
  readonly spec?: {
    /** Name that the user interface shows. */
    readonly displayName?: string;
    /** Purpose of the key. */
    readonly description?: string;
    /** The user that the key acts as. */
    readonly user?: string;
    /** The team that the key acts as. */
    readonly team?: string;
    /** Any other subject that the key acts as. */
    readonly subject?: string;
    /** Further groups of the user of the key. */
    readonly groups?: readonly string[];
    /** The key itself. Leave it out to have one made, which is shown once in the answer. In git only its hash, `sha256:` and 64 hexadecimal digits. */
    readonly key?: string;
    /** If true, the key exists but does not authenticate. */
    readonly disabled?: boolean;
    /** Seconds that the key lives; 0 or absent is for ever. */
    readonly ttl?: number;
    /** If true, the time to live starts again with each use. */
    readonly ttlAfterLastActivity?: boolean;
    /** Limits of the key. Absent: all rights of its owner. */
    readonly scope?: {
      /** Prepared sets of permissions. */
      readonly roles?: readonly {
        /** Name of the role: `agent`, `virtual-cluster`, `network-peer`, `platform-cli`, `workspace`, `metrics-writer` or `metrics-reader`. */
        readonly role: string;
        /** Projects that the role is limited to. Empty means every project. */
        readonly projects?: readonly string[];
        /** Virtual clusters that the role is limited to. Empty means every virtual cluster. */
        readonly virtualClusters?: readonly string[];
      }[];
      /** Projects with everything inside them. */
      readonly projects?: readonly {
        /** Name of the project; `*` stands for all. */
        readonly project: string;
      }[];
      /** Spaces. */
      readonly spaces?: readonly {
        /** Name of the project that holds the space. */
        readonly project: string;
        /** Name of the space; `*` stands for all in the project. */
        readonly space: string;
      }[];
      /** Virtual clusters. */
      readonly virtualClusters?: readonly {
        /** Name of the project that holds the virtual cluster. */
        readonly project: string;
        /** Name of the virtual cluster; `*` stands for all in the project. */
        readonly virtualCluster: string;
      }[];
      /** Connected clusters. */
      readonly clusters?: readonly {
        /** Name of the cluster; `*` stands for all. */
        readonly cluster: string;
      }[];
      /** Use `projects`, `spaces` and `virtualClusters` instead. Requests that are allowed; a request has to match one rule. */
      readonly rules?: readonly {
        /** Verbs. Empty means every verb. */
        readonly verbs?: readonly string[];
        /** Kinds of resources. Empty means every kind. */
        readonly resources?: readonly {
          /** API group. Empty is the core group. */
          readonly group?: string;
          /** Plural names. `*` stands for all, `pods/*` for the subresources of pods, `*\/scale` for every scale subresource. Empty means every resource in the group. */
          readonly resources?: readonly string[];
        }[];
        /** Names of single objects. Needs `resources`; empty means every object. */
        readonly resourceNames?: readonly string[];
        /** Namespaces. The empty text stands for objects that have none; an empty list means every namespace. */
        readonly namespaces?: readonly string[];
        /** URL paths. `*` is allowed only as the whole last step, as in `/healthz/*`. */
        readonly nonResourceURLs?: readonly string[];
        /** Targets of the requests. Empty: all targets. */
        readonly requestTargets?: readonly (
          | 'Management'
          | 'Cluster'
          | 'ProjectSpace'
          | 'ProjectVirtualCluster'
        )[];
        /** Only requests to this cluster are allowed, and no others. Empty means no restriction. */
        readonly cluster?: string;
        /** Only requests to these virtual clusters are allowed. Empty means no restriction. */
        readonly virtualClusters?: readonly {
          /** Name of the virtual cluster. Empty means all. */
          readonly name?: string;
          /** Namespace of the virtual cluster. Empty means all. */
          readonly namespace?: string;
        }[];
      }[];
      /** Use a `roles` entry with the role `platform-cli` instead. Allows the read-only requests that the command-line client makes. */
      readonly allowPlatformCli?: boolean;
    };
    /** Type of the key. Users create `User` keys; most other types belong to the platform. */
    readonly type?:
      | ''
      | 'Login'
      | 'User'
      | 'Other'
      | 'Reset'
      | 'OIDCRefreshToken'
      | 'NetworkPeer'
      | 'Workspace';
    /** Identity of the login, for keys that a single sign-on made. */
    readonly identity?: {
      /** Subject of the user at the provider. */
      readonly userId?: string;
      /** User name. */
      readonly username?: string;
      /** User name that the user prefers. */
      readonly preferredUsername?: string;
      /** Mail address. */
      readonly email?: string;
      /** True if the provider has verified the mail address. */
      readonly emailVerified?: boolean;
      /** Further claims, as far as the configuration allows them. */
      readonly extraClaims?: Readonly<Record<string, unknown>>;
      /** Groups that the provider reported. */
      readonly groups?: readonly string[];
      /** The connector that the user logged in with. */
      readonly connector?: string;
      /** Data with which the connector refreshes the login. Never leaves the server. */
      readonly connectorData?: string;
      /** Time of the last refresh of the login. */
      readonly identityRefresh?: string;
    };
    /** Time of the last refresh of the login; the same as `identity.identityRefresh`, in its place in older manifests. */
    readonly identityRefresh?: string;
    /** Present when the key is a refresh token of the built-in OpenID provider. */
    readonly oidcProvider?: {
      /** The client that the token was given to. */
      readonly clientId?: string;
      /** The nonce of the login. */
      readonly nonce?: string;
      /** Redirect URI of the login. */
      readonly redirectUri?: string;
      /** Requested scopes, separated by spaces. */
      readonly scopes?: string;
    };
    /** Use `identity` instead. The key that this one shares its login data with. */
    readonly parent?: string;
    /** Use `identity` instead. Tokens of the login that made the key. */
    readonly oidcLogin?: {
      /** ID token. */
      readonly idToken?: string;
      /** Access token. */
      readonly accessToken?: string;
      /** Refresh token. */
      readonly refreshToken?: string;
      /** Time of the last refresh of the tokens. */
      readonly lastRefresh?: string;
    };
  };
  /** Observed state of an access key. */
  readonly status?: {
    /** Time of the last use of the key. */
    readonly lastActivity?: string;
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of OwnedAccessKey objects. */
export type OwnedAccessKeyList = List<OwnedAccessKey>;

/** Endpoints and Services as the control-plane cluster would get them. */
export interface PatchesPreview {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of the object. */
  readonly kind?: string;
  /** Which tenant. */
  readonly metadata?: {
    /** Name of the tenant. */
    readonly name?: string;
    /** Of the tenant. */
    readonly uid?: string;
  };
  /** In the order of the objects. */
  readonly items: readonly {
    /** Translated, before the patches. */
    readonly before: Readonly<Record<string, unknown>>;
    /** After them. Absent: a patch failed, and nothing would be written. */
    readonly after?: Readonly<Record<string, unknown>>;
    /** From `before` to `after`, as a JSON Patch (RFC 6902). Absent: it is too long. */
    readonly patch?: Readonly<Record<string, unknown>>;
    /** Report of each patch: its matches, its input and its output. */
    readonly report: Readonly<Record<string, unknown>>;
    /** Values that a pair of expressions does not bring back. */
    readonly roundTrip?: readonly Readonly<Record<string, unknown>>[];
  }[];
}

/** Endpoints and Services to try patches on. Nothing is written. */
export interface PatchesPreviewRequest {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of the object. */
  readonly kind?: string;
  /** Endpoints and Services as they are in the tenant cluster, 1 to 100. */
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  /** A vcluster.yaml to try instead of that of the tenant. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** reverse: the objects are those of the control-plane cluster, and flow back. */
  readonly direction?: 'forward' | 'reverse';
}

/** Secret data of one project. It either has data of its own or, by the labels `gitplane.dev/sharedsecret-name` and `gitplane.dev/sharedsecret-namespace`, follows a shared secret. */
export interface ProjectSecret {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `ProjectSecret`. Cannot be changed. */
  readonly kind?: 'ProjectSecret';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Desired state of a project secret. */
  readonly spec?: {
    /** Name that the user interface shows. */
    readonly displayName?: string;
    /** Purpose of the secret. */
    readonly description?: string;
    /** Owner of this secret, with every right on it. */
    readonly owner?: {
      /** Name of the user who owns the object. */
      readonly user?: string;
      /** Name of the team that owns the object. */
      readonly team?: string;
    };
    /** The secret values. Keys consist of letters, digits, `-`, `_` and `.`; each value is base64 (RFC 4648 section 4) of any bytes. */
    readonly data?: Readonly<Record<string, string>>;
    /** Rights of users and teams on this secret. The daemon derives roles and role bindings from it. */
    readonly access?: readonly {
      /** A name for the rule, for people. */
      readonly name?: string;
      /** Verbs that the users and teams get, such as `get`, `update` or `delete`; on a team also `bind` and `makeowner`. `*` stands for every verb. */
      readonly verbs: readonly string[];
      /** Subresources that the verbs reach as well. `*` stands for all of them. */
      readonly subresources?: readonly string[];
      /** Names of the users who get the verbs. */
      readonly users?: readonly string[];
      /** Names of the teams that get the verbs. */
      readonly teams?: readonly string[];
    }[];
  };
  /** Observed state of a project secret. */
  readonly status?: {
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of ProjectSecret objects. */
export type ProjectSecretList = List<ProjectSecret>;

/** Commit that an object returns to. */
export interface Rollback {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of this document. */
  readonly kind?: string;
  /** The commit, by its id, whole or shortened. */
  readonly revision: string;
  /** Reason for the body of the commit message. */
  readonly reason?: string;
  /** Version that is replaced. Absent: any. */
  readonly resourceVersion?: string;
}

/** Sensitive data shared across users, teams and connected clusters; a project secret can copy it. */
export interface SharedSecret {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `SharedSecret`. Cannot be changed. */
  readonly kind?: 'SharedSecret';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Desired state of a shared secret. */
  readonly spec?: {
    /** Name that the user interface shows. */
    readonly displayName?: string;
    /** Purpose of the secret. */
    readonly description?: string;
    /** Owner of this secret, with every right on it. */
    readonly owner?: {
      /** Name of the user who owns the object. */
      readonly user?: string;
      /** Name of the team that owns the object. */
      readonly team?: string;
    };
    /** The secret values. Keys consist of letters, digits, `-`, `_` and `.`; each value is base64 (RFC 4648 section 4) of any bytes. */
    readonly data?: Readonly<Record<string, string>>;
    /** Rights of users and teams on this secret. The daemon derives roles and role bindings from it. */
    readonly access?: readonly {
      /** A name for the rule, for people. */
      readonly name?: string;
      /** Verbs that the users and teams get, such as `get`, `update` or `delete`; on a team also `bind` and `makeowner`. `*` stands for every verb. */
      readonly verbs: readonly string[];
      /** Subresources that the verbs reach as well. `*` stands for all of them. */
      readonly subresources?: readonly string[];
      /** Names of the users who get the verbs. */
      readonly users?: readonly string[];
      /** Names of the teams that get the verbs. */
      readonly teams?: readonly string[];
    }[];
  };
  /** Observed state of a shared secret. */
  readonly status?: {
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of SharedSecret objects. */
export type SharedSecretList = List<SharedSecret>;

/** Users, and groups of an identity provider, that get access and other objects together. */
export interface Team {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `Team`. Cannot be changed. */
  readonly kind?: 'Team';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Desired state of a team. */
  readonly spec?: {
    /** Name that the user interface shows. */
    readonly displayName?: string;
    /** Purpose of the team. */
    readonly description?: string;
    /** Owner of this team, with every right on it. */
    readonly owner?: {
      /** Name of the user who owns the object. */
      readonly user?: string;
      /** Name of the team that owns the object. */
      readonly team?: string;
    };
    /** Name that identifies the team where a user name is needed; also its namespace in image registries. */
    readonly username?: string;
    /** Names of the users who are in the team. */
    readonly users?: readonly string[];
    /** Groups in an identity token that make its user a member. */
    readonly groups?: readonly string[];
    /** Registries that this one logs in to: references to the secrets that hold the credentials. */
    readonly imagePullSecrets?: readonly {
      /** API group of the secret. Empty is the core group. */
      readonly apiGroup?: string;
      /** Kind of the secret, such as `Secret` or `SharedSecret`. */
      readonly kind?: string;
      /** Name of the secret. */
      readonly secretName?: string;
      /** Namespace of the secret. */
      readonly secretNamespace?: string;
      /** Key inside the secret. */
      readonly key?: string;
    }[];
    /** Cluster roles that the team has inside clusters: by the ClusterRole of that name on the platform in those that are served here, and of the cluster in those that a kubeconfig reaches. */
    readonly clusterRoles?: readonly {
      /** Name of the cluster role. */
      readonly name?: string;
    }[];
    /** Rights of users and teams on this team. The daemon derives roles and role bindings from it. */
    readonly access?: readonly {
      /** A name for the rule, for people. */
      readonly name?: string;
      /** Verbs that the users and teams get, such as `get`, `update` or `delete`; on a team also `bind` and `makeowner`. `*` stands for every verb. */
      readonly verbs: readonly string[];
      /** Subresources that the verbs reach as well. `*` stands for all of them. */
      readonly subresources?: readonly string[];
      /** Names of the users who get the verbs. */
      readonly users?: readonly string[];
      /** Names of the teams that get the verbs. */
      readonly teams?: readonly string[];
    }[];
  };
  /** Observed state of a team. */
  readonly status?: {
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of Team objects. */
export type TeamList = List<Team>;

/** A tenant cluster and what is synced from it, written as `tenants/<name>/vcluster.yaml`. */
export interface Tenant {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `Tenant`. Cannot be changed. */
  readonly kind?: 'Tenant';
  /** The name is that of the folder. */
  readonly metadata: ObjectMeta;
  /** The content of the file. Other fields stay unchanged, and expressions can read them. */
  readonly spec?: {
    /** Sync between the clusters. */
    readonly sync?: {
      /** Sync to the control-plane cluster. */
      readonly toHost?: {
        /** Namespaces of the tenant that have one of their own on the control-plane cluster, where their objects keep their names. */
        readonly namespaces?: {
          /** True if mappings are used; default: false. */
          readonly enabled?: boolean;
          /** True if objects in namespaces without a mapping are not synced. */
          readonly mappingsOnly?: boolean;
          /** Mappings of namespaces. */
          readonly mappings?: {
            /** From namespaces of the tenant to those of the control-plane cluster. Both or none end in `*`; `${name}` is the name of the tenant. */
            readonly byName?: Readonly<Record<string, string>>;
            readonly [field: string]: unknown;
          };
          readonly [field: string]: unknown;
        };
        /** Endpoints of the tenant cluster. */
        readonly endpoints?: {
          /** True if Endpoints are synced; default: true. */
          readonly enabled?: boolean;
          /** Changes of what is synced, in order. */
          readonly patches?: readonly {
            /** Path to the value, as in `metadata.labels["a.b/c"]` or `subsets[*].addresses[*].ip`; empty for the whole object. Not applied to objects without such a value. */
            readonly path: string;
            /** JavaScript that gives the value for the control-plane cluster. */
            readonly expression?: string;
            /** JavaScript for the way back to the tenant cluster. */
            readonly reverseExpression?: string;
            /** Treats the value as a reference to another object, whose name is translated as that object is when it is synced. */
            readonly reference?: {
              /** API version of the object that is referred to. */
              readonly apiVersion: string;
              /** Relative path to the API version; `apiVersion` where it is absent. */
              readonly apiVersionPath?: string;
              /** Kind of the object that is referred to. */
              readonly kind: string;
              /** Relative path to the kind; `kind` where it is absent. */
              readonly kindPath?: string;
              /** Relative path to the name; the value itself is the name where it is absent. */
              readonly namePath?: string;
              /** Relative path to the namespace; the namespace of the object where it is absent. */
              readonly namespacePath?: string;
            };
            /** Treats the value as labels or a label selector, whose keys are translated. */
            readonly labels?: Readonly<Record<string, unknown>>;
          }[];
        };
        /** Services of the tenant cluster. They are synced beside Endpoints. */
        readonly services?: {
          /** True if Services are synced; default: true. Needs the sync of Endpoints. */
          readonly enabled?: boolean;
          /** Changes of what is synced, in order. */
          readonly patches?: readonly {
            /** Path to the value, as in `metadata.labels["a.b/c"]` or `spec.ports[*].name`; empty for the whole object. Not applied to objects without such a value. */
            readonly path: string;
            /** JavaScript that gives the value for the control-plane cluster. */
            readonly expression?: string;
            /** JavaScript for the way back to the tenant cluster. */
            readonly reverseExpression?: string;
            /** Treats the value as a reference to another object, whose name is translated as that object is when it is synced. */
            readonly reference?: {
              /** API version of the object that is referred to. */
              readonly apiVersion: string;
              /** Relative path to the API version; `apiVersion` where it is absent. */
              readonly apiVersionPath?: string;
              /** Kind of the object that is referred to. */
              readonly kind: string;
              /** Relative path to the kind; `kind` where it is absent. */
              readonly kindPath?: string;
              /** Relative path to the name; the value itself is the name where it is absent. */
              readonly namePath?: string;
              /** Relative path to the namespace; the namespace of the object where it is absent. */
              readonly namespacePath?: string;
            };
            /** Treats the value as labels or a label selector, whose keys are translated. */
            readonly labels?: Readonly<Record<string, unknown>>;
          }[];
        };
        readonly [field: string]: unknown;
      };
      readonly [field: string]: unknown;
    };
    /** Settings of other tools. */
    readonly external?: {
      /** The two ends of the sync. */
      readonly gitplane?: {
        /** Namespace of the control-plane cluster that receives the synced objects; `vcluster-<name>` where it is absent. */
        readonly namespace?: string;
        /** Name of the control-plane cluster; `local` where it is absent. */
        readonly cluster?: string;
        /** Action for the synced objects on the control-plane cluster when the tenant is removed: Delete (the default) or Retain. */
        readonly deletionPolicy?: 'Delete' | 'Retain';
        /** Project that the tenant belongs to; scopes of access keys name it by this. */
        readonly project?: string;
        /** Access to the tenant cluster; default: the cluster that gitplane serves for it. */
        readonly source?: {
          /** True if the cluster of the kubeconfig gets a ClusterRoleBinding for each role in `spec.clusterRoles` of a Team or User; default: true. */
          readonly clusterRoles?: boolean;
          /** Prefix of the cluster for the groups of an endpoint token (`--oidc-groups-prefix`), and so for the groups in these bindings; default: `gitplane:`; empty for a cluster that uses TokenReview. */
          readonly groupsPrefix?: string;
          /** Source of the kubeconfig: one of `file` and `sharedSecret`. */
          readonly kubeconfig?: {
            /** Name of a file in the folder `kubeconfigs` of the data directory. */
            readonly file?: string;
            /** A key of a SharedSecret. */
            readonly sharedSecret?: {
              /** Namespace of the SharedSecret. */
              readonly namespace: string;
              /** Name of the SharedSecret. */
              readonly name: string;
              /** Key of its data that holds the kubeconfig. */
              readonly key: string;
            };
          };
        };
        /** Access to the control-plane cluster; default: the cluster that gitplane serves for it. */
        readonly target?: {
          /** Source of the kubeconfig: one of `file` and `sharedSecret`. */
          readonly kubeconfig?: {
            /** Name of a file in the folder `kubeconfigs` of the data directory. */
            readonly file?: string;
            /** A key of a SharedSecret. */
            readonly sharedSecret?: {
              /** Namespace of the SharedSecret. */
              readonly namespace: string;
              /** Name of the SharedSecret. */
              readonly name: string;
              /** Key of its data that holds the kubeconfig. */
              readonly key: string;
            };
          };
        };
      };
      readonly [field: string]: unknown;
    };
    readonly [field: string]: unknown;
  };
  /** Observed state of a tenant. */
  readonly status?: {
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
    /** Sync of Endpoints and Services, as of the last pass. The counts are those of Endpoints. */
    readonly sync?: {
      /** Synced, Stale (the target does not have the newest yet), Failed or Disabled. */
      readonly state?: string;
      /** Reason why it is not Synced, in one word. */
      readonly reason?: string;
      /** Reason why it is not Synced. */
      readonly message?: string;
      /** Endpoints of the tenant cluster. */
      readonly objects?: number;
      /** Those that are on the control-plane cluster as they should be. */
      readonly synced?: number;
      /** Those that are not meant to be synced. */
      readonly skipped?: number;
      /** Those that wait to be written. */
      readonly stale?: number;
      /** Those that cannot be synced without a change. */
      readonly failed?: number;
      /** Time of the last complete sync. */
      readonly lastSyncTime?: string;
      /** The same for Services; absent where they are not synced. */
      readonly services?: {
        /** Synced, Stale (the target does not have the newest yet), Failed or Disabled. */
        readonly state?: string;
        /** Reason why it is not Synced, in one word. */
        readonly reason?: string;
        /** Reason why it is not Synced. */
        readonly message?: string;
        /** Services of the tenant cluster. */
        readonly objects?: number;
        /** Those that are on the control-plane cluster as they should be. */
        readonly synced?: number;
        /** Those that are not meant to be synced. */
        readonly skipped?: number;
        /** Those that wait to be written. */
        readonly stale?: number;
        /** Those that cannot be synced without a change. */
        readonly failed?: number;
        /** Time of the last complete sync. */
        readonly lastSyncTime?: string;
      };
    };
  };
}

/** A list of Tenant objects. */
export type TenantList = List<Tenant>;

/** State of the sync of each object of a tenant. */
export interface TenantSync {
  /** Group and version, as in management.gitplane.dev/v1. */
  readonly apiVersion?: string;
  /** Kind of the object. */
  readonly kind?: string;
  /** Which tenant. */
  readonly metadata?: {
    /** Name of the tenant. */
    readonly name?: string;
    /** Of the tenant. */
    readonly uid?: string;
  };
  /** Endpoints, then Services, each in order of namespace and name. */
  readonly items: readonly {
    /** Its kind. */
    readonly kind: 'Endpoints' | 'Service';
    /** Place in the tenant cluster. */
    readonly source: {
      /** Its namespace. */
      readonly namespace: string;
      /** Its name. */
      readonly name: string;
    };
    /** Where it is on the control-plane cluster. */
    readonly target: {
      /** Its namespace. */
      readonly namespace: string;
      /** Its name. */
      readonly name: string;
    };
    /** How far it is. */
    readonly state: 'Synced' | 'Skipped' | 'Stale' | 'Failed';
    /** Why it is not Synced, in a word. */
    readonly reason?: string;
    /** Why it is not Synced. */
    readonly message?: string;
    /** Since when it is in this state (RFC 3339). */
    readonly since: string;
  }[];
}

/** A person or a machine that can sign in. */
export interface User {
  /** API group and version of this object, such as `management.gitplane.dev/v1`. */
  readonly apiVersion?: string;
  /** Always `User`. Cannot be changed. */
  readonly kind?: 'User';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Desired state of a user. */
  readonly spec?: {
    /** Name that the user interface shows. */
    readonly displayName?: string;
    /** Purpose of the user. */
    readonly description?: string;
    /** Owner of this user, with every right on it. */
    readonly owner?: {
      /** Name of the user who owns the object. */
      readonly user?: string;
      /** Name of the team that owns the object. */
      readonly team?: string;
    };
    /** Name that the user signs in with; also the namespace in image registries. */
    readonly username?: string;
    /** Mail address. Also the author of the user's commits. */
    readonly email?: string;
    /** Stable id of the user at the identity provider, exactly as the provider sends it. Sign-in finds a user by this and `connector`, never by name or mail address. */
    readonly subject?: string;
    /** Id of the connector that `subject` comes from: `oidc`, `saml`, `providerA` … or the id of an entry of `auth.connectors`. Without it, no one can sign in as this user through a provider. */
    readonly connector?: string;
    /** Hash of the password of the user: `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`. `gitplane users passwd` makes it. Never shown; a change ends every session of the user. */
    readonly passwordHash?: string;
    /** Groups of the user, managed by hand. */
    readonly groups?: readonly string[];
    /** Groups that the identity provider reported at the last login. */
    readonly ssoGroups?: readonly string[];
    /** URL of a picture. */
    readonly icon?: string;
    /** If true, the user can neither sign in nor use a key. */
    readonly disabled?: boolean;
    /** Raise it to void every token that was given out for the user before. */
    readonly tokenGeneration?: number;
    /** Registries that this one logs in to: references to the secrets that hold the credentials. */
    readonly imagePullSecrets?: readonly {
      /** API group of the secret. Empty is the core group. */
      readonly apiGroup?: string;
      /** Kind of the secret, such as `Secret` or `SharedSecret`. */
      readonly kind?: string;
      /** Name of the secret. */
      readonly secretName?: string;
      /** Namespace of the secret. */
      readonly secretNamespace?: string;
      /** Key inside the secret. */
      readonly key?: string;
    }[];
    /** Cluster roles that the user has inside clusters: by the ClusterRole of that name on the platform in those that are served here, and of the cluster in those that a kubeconfig reaches. */
    readonly clusterRoles?: readonly {
      /** Name of the cluster role. */
      readonly name?: string;
    }[];
    /** Further claims of the identity token, as far as the configuration allows them. */
    readonly extraClaims?: Readonly<Record<string, unknown>>;
    /** Rights of users and teams on this user. The daemon derives roles and role bindings from it. */
    readonly access?: readonly {
      /** A name for the rule, for people. */
      readonly name?: string;
      /** Verbs that the users and teams get, such as `get`, `update` or `delete`; on a team also `bind` and `makeowner`. `*` stands for every verb. */
      readonly verbs: readonly string[];
      /** Subresources that the verbs reach as well. `*` stands for all of them. */
      readonly subresources?: readonly string[];
      /** Names of the users who get the verbs. */
      readonly users?: readonly string[];
      /** Names of the teams that get the verbs. */
      readonly teams?: readonly string[];
    }[];
  };
  /** Observed state of a user. */
  readonly status?: {
    /** Observations of controllers about this object, one entry per type. */
    readonly conditions?: readonly {
      /** Type of the condition, such as `Ready`. */
      readonly type: string;
      /** State of the condition. */
      readonly status: 'True' | 'False' | 'Unknown';
      /** Severity of a condition that does not hold. Only set while `status` is `False`. */
      readonly severity?: '' | 'Info' | 'Warning' | 'Error';
      /** One word for programs, in CamelCase. */
      readonly reason?: string;
      /** A sentence for people. */
      readonly message?: string;
      /** Time of the last change of `status`. */
      readonly lastTransitionTime?: string;
      /** Generation that the controller observed. */
      readonly observedGeneration?: number;
    }[];
  };
}

/** A list of User objects. */
export type UserList = List<User>;

/** Data that a tool keeps for itself, such as the lock of an older controller. */
export interface ConfigMap {
  /** API version of this object: `v1`. */
  readonly apiVersion?: string;
  /** Always `ConfigMap`. Cannot be changed. */
  readonly kind?: 'ConfigMap';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** True if the data cannot be changed. Once set, it stays. */
  readonly immutable?: boolean;
  /** Texts. */
  readonly data?: Readonly<Record<string, string>>;
  /** Values in base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** A list of ConfigMap objects. */
export type ConfigMapList = List<ConfigMap>;

/** Something that happened to an object. */
export interface Event {
  /** API version of this object: `v1`. */
  readonly apiVersion?: string;
  /** Always `Event`. Cannot be changed. */
  readonly kind?: 'Event';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** The object that it happened to. */
  readonly involvedObject?: {
    /** API version of the object. */
    readonly apiVersion?: string;
    /** Kind of the object. */
    readonly kind?: string;
    /** Namespace of the object. */
    readonly namespace?: string;
    /** Name of the object. */
    readonly name?: string;
    /** UID of the object. */
    readonly uid?: string;
    /** Version of the object. */
    readonly resourceVersion?: string;
    /** Part of the object. */
    readonly fieldPath?: string;
  };
  /** A further object that has to do with it. */
  readonly related?: {
    /** API version of the object. */
    readonly apiVersion?: string;
    /** Kind of the object. */
    readonly kind?: string;
    /** Namespace of the object. */
    readonly namespace?: string;
    /** Name of the object. */
    readonly name?: string;
    /** UID of the object. */
    readonly uid?: string;
    /** Version of the object. */
    readonly resourceVersion?: string;
    /** Part of the object. */
    readonly fieldPath?: string;
  };
  /** Reason of the event, in one word. */
  readonly reason?: string;
  /** Description of the event. */
  readonly message?: string;
  /** `Normal` or `Warning`. */
  readonly type?: string;
  /** Action of the controller. */
  readonly action?: string;
  /** Number of occurrences. */
  readonly count?: number;
  /** Component that reported the event. */
  readonly source?: {
    /** Name of the component. */
    readonly component?: string;
    /** Its machine. */
    readonly host?: string;
  };
  /** Time of the first occurrence. */
  readonly firstTimestamp?: string | null;
  /** Time of the last occurrence. */
  readonly lastTimestamp?: string | null;
  /** Time of the event. */
  readonly eventTime?: string | null;
  /** Component that reported the event. */
  readonly reportingComponent?: string;
  /** Instance of the component. */
  readonly reportingInstance?: string;
  /** A series of events. */
  readonly series?: {
    /** Number of occurrences. */
    readonly count?: number;
    /** Time of the last occurrence. */
    readonly lastObservedTime?: string;
  };
}

/** A list of Event objects. */
export type EventList = List<Event>;

/** A namespace of a cluster. */
export interface Namespace {
  /** API version of this object: `v1`. */
  readonly apiVersion?: string;
  /** Always `Namespace`. Cannot be changed. */
  readonly kind?: 'Namespace';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** Desired state of a namespace. */
  readonly spec?: {
    /** Finalizers that delay the deletion of the namespace. */
    readonly finalizers?: readonly string[];
  };
  /** Observed state of a namespace. */
  readonly status?: {
    readonly [field: string]: unknown;
  };
}

/** A list of Namespace objects. */
export type NamespaceList = List<Namespace>;

/** Sensitive data of a cluster. */
export interface Secret {
  /** API version of this object: `v1`. */
  readonly apiVersion?: string;
  /** Always `Secret`. Cannot be changed. */
  readonly kind?: 'Secret';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** Purpose of the secret. */
  readonly type?: string;
  /** True if the data cannot be changed. */
  readonly immutable?: boolean;
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Values as they are; moved to `data` when they are written. */
  readonly stringData?: Readonly<Record<string, string>>;
}

/** A list of Secret objects. */
export type SecretList = List<Secret>;

/** A kind of the platform, in the words in which Kubernetes has kinds defined. */
export interface CustomResourceDefinition {
  /** API group and version of this object: `apiextensions.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `CustomResourceDefinition`. Cannot be changed. */
  readonly kind?: 'CustomResourceDefinition';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** Description of the kind. */
  readonly spec?: {
    /** API group of the kind. */
    readonly group?: string;
    /** Names of the kind: `kind`, `listKind`, `plural`, `singular`, `shortNames` and `categories`. */
    readonly names?: {
      readonly [field: string]: unknown;
    };
    /** `Cluster` or `Namespaced`. */
    readonly scope?: string;
    /** Versions of the kind, each with its schema and its columns. */
    readonly versions?: readonly {
      readonly [field: string]: unknown;
    }[];
    /** Conversion between versions: `None`, because there is one version. */
    readonly conversion?: {
      readonly [field: string]: unknown;
    };
  };
  /** True if the kind is served. */
  readonly status?: {
    readonly [field: string]: unknown;
  };
}

/** A list of CustomResourceDefinition objects. */
export type CustomResourceDefinitionList = List<CustomResourceDefinition>;

/** How an object is to be deleted. */
export interface DeleteOptions {
  /** Versioned schema of this representation of an object. */
  readonly apiVersion?: string;
  /** All: nothing is deleted, the answer is the same. */
  readonly dryRun?: readonly string[];
  /** Seconds until the object is removed. 0: at once. */
  readonly gracePeriodSeconds?: number;
  /** Kind of the object. In CamelCase; cannot be changed. */
  readonly kind?: string;
  /** Deprecated: use propagationPolicy. Whether dependents stay. */
  readonly orphanDependents?: boolean;
  /** What must be true of the object. */
  readonly preconditions?: Preconditions;
  /** What becomes of dependents: Orphan, Background or Foreground. */
  readonly propagationPolicy?: string;
}

/** Metadata of a list. */
export interface ListMeta {
  /** Where the next page begins. Empty on the last page; opaque. */
  readonly continue?: string;
  /** How many objects follow this page, where that is known. */
  readonly remainingItemCount?: number;
  /** Version of the list: where a watch goes on from. Opaque. */
  readonly resourceVersion?: string;
  /** No longer filled in. */
  readonly selfLink?: string;
}

/** The fields that one manager set last. */
export interface ManagedFieldsEntry {
  /** The workflow that manages these fields. */
  readonly manager?: string;
  /** Operation that set the fields. */
  readonly operation?: 'Apply' | 'Update';
  /** API group and version that the field set is written in. */
  readonly apiVersion?: string;
  /** Time of the last change of the entry. */
  readonly time?: string;
  /** Format of `fieldsV1`. */
  readonly fieldsType?: 'FieldsV1';
  /** The field set. */
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
  /** The subresource that was written; empty for the object itself. */
  readonly subresource?: string;
}

/** Metadata that every object carries. Fields marked read-only are filled by the server and ignored in a manifest. */
export interface ObjectMeta {
  /** Name of the object, unique within its namespace, or within its kind if the kind has no namespaces. Cannot be changed. */
  readonly name?: string;
  /** Prefix of a name that the server completes with a random suffix. Only for creating through the API, and only used when `name` is absent; the prefix may be cut to make room. */
  readonly generateName?: string;
  /** Namespace of the object, a DNS label. Empty means `default`, or the folder `namespaces/<namespace>/` that holds the manifest. Stays empty for kinds without namespaces. Cannot be changed. */
  readonly namespace?: string;
  /** No longer filled in. */
  readonly selfLink?: string;
  /** Identifies this object in time and space: a deleted and recreated object has another one. */
  readonly uid?: string;
  /** Opaque version of the stored object. Send it back unchanged with a replacement, so that a change by someone else is noticed. */
  readonly resourceVersion?: string;
  /** Counts the versions of the desired state. */
  readonly generation?: number;
  /** Time of the creation (RFC 3339, UTC). Null in lists. */
  readonly creationTimestamp?: Time;
  /** Set by the server when a client requests a graceful deletion. Never unset and never moved to a later time. */
  readonly deletionTimestamp?: Time;
  /** Seconds a graceful deletion may take. Only set together with `deletionTimestamp`; may only become shorter. */
  readonly deletionGracePeriodSeconds?: number;
  /** Pairs that organise objects and select them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Free-form pairs that cannot be selected by. Kept as they are when the object changes. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Objects that this one depends on: when all of them are gone, this one is removed as well. At most one entry is the controller. */
  readonly ownerReferences?: readonly OwnerReference[];
  /** Each entry must be removed by the client that added it before the object disappears. While the object is being deleted none can be added. */
  readonly finalizers?: readonly string[];
  /** Managers of the fields; the server maintains it. */
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** One owner of an object. */
export interface OwnerReference {
  /** API group and version of the owner. */
  readonly apiVersion: string;
  /** Kind of the owner. */
  readonly kind: string;
  /** Name of the owner. */
  readonly name: string;
  /** uid of the owner. */
  readonly uid: string;
  /** True if the owner is the controller of this object. */
  readonly controller?: boolean;
  /** True if a foreground deletion of the owner waits until this reference is gone. A user needs the right to delete the owner to set it. */
  readonly blockOwnerDeletion?: boolean;
}

/** A patch; its Content-Type says of which form. */
export type Patch =
  | readonly Readonly<Record<string, unknown>>[]
  | Readonly<Record<string, unknown>>;

/** What must be true of an object that is to be deleted. */
export interface Preconditions {
  /** The resourceVersion it must have. */
  readonly resourceVersion?: string;
  /** The uid it must have. */
  readonly uid?: string;
}

/** The answer to a request that does not answer with an object. */
export interface Status {
  /** Versioned schema of this representation of an object. */
  readonly apiVersion?: string;
  /** HTTP status code. */
  readonly code?: number;
  /** What the Status is about. */
  readonly details?: StatusDetails;
  /** Kind of the object. In CamelCase; cannot be changed. */
  readonly kind?: string;
  /** For people. */
  readonly message?: string;
  /** Always empty. */
  readonly metadata?: ListMeta;
  /** For programs. */
  readonly reason?: string;
  /** Success or Failure. */
  readonly status?: string;
}

/** One reason for a failure. */
export interface StatusCause {
  /** The field that caused it, as in spec.users[0]. */
  readonly field?: string;
  /** For people. */
  readonly message?: string;
  /** For programs. */
  readonly reason?: string;
}

/** What a Status is about. */
export interface StatusDetails {
  /** Every reason for the failure. */
  readonly causes?: readonly StatusCause[];
  /** Group of the resource. */
  readonly group?: string;
  /** Plural name of the resource; its kind where the object was invalid. */
  readonly kind?: string;
  /** Name of the resource. */
  readonly name?: string;
  /** When to try again. */
  readonly retryAfterSeconds?: number;
  /** uid of the resource. */
  readonly uid?: string;
}

/** A time (RFC 3339). */
export type Time = string;

/** The user of the request. */
export interface SelfSubjectReview {
  /** Always `authentication.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `SelfSubjectReview`. Cannot be changed. */
  readonly kind?: 'SelfSubjectReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The caller. */
  readonly status?: {
    /** The user. */
    readonly userInfo?: {
      /** Name of the user. */
      readonly username?: string;
      /** Unique identifier of the user. */
      readonly uid?: string;
      /** Groups of the user. */
      readonly groups?: readonly string[];
      /** Further attributes, lists by name. */
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/** A list of SelfSubjectReview objects. */
export type SelfSubjectReviewList = List<SelfSubjectReview>;

/** Validity and owner of an endpoint token. */
export interface TokenReview {
  /** Always `authentication.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `TokenReview`. Cannot be changed. */
  readonly kind?: 'TokenReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The token. */
  readonly spec: {
    /** The token. */
    readonly token?: string;
    /** Whom the token has to be for; empty is anybody. */
    readonly audiences?: readonly string[];
  };
  /** The answer. */
  readonly status?: {
    /** True if the token is valid. */
    readonly authenticated?: boolean;
    /** The user. */
    readonly user?: {
      /** Name of the user. */
      readonly username?: string;
      /** Unique identifier of the user. */
      readonly uid?: string;
      /** Groups of the user. */
      readonly groups?: readonly string[];
      /** Further attributes, lists by name. */
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
    /** Requested audiences for which the token is valid. */
    readonly audiences?: readonly string[];
    /** Reason why the token is not valid. */
    readonly error?: string;
  };
}

/** A list of TokenReview objects. */
export type TokenReviewList = List<TokenReview>;

/** Permissions everywhere, or in one namespace when a RoleBinding gives them. */
export interface ClusterRole {
  /** API group and version of this object: `rbac.authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `ClusterRole`. Cannot be changed. */
  readonly kind?: 'ClusterRole';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Rights of the role. The server fills it if there is an `aggregationRule`. */
  readonly rules?:
    | readonly {
        /** Verbs, such as `get` or `list`. `*` stands for every verb. */
        readonly verbs: readonly string[];
        /** API groups. Empty text is the core group, `*` every group. */
        readonly apiGroups?: readonly string[];
        /** Plural names, with subresources as `teams/accesskeys`. `*` stands for all. */
        readonly resources?: readonly string[];
        /** Names of single objects. Empty means every object. */
        readonly resourceNames?: readonly string[];
        /** URL paths, only in a ClusterRole. `*` is allowed as the whole last step. */
        readonly nonResourceURLs?: readonly string[];
      }[]
    | null;
  /** Collects the rules of other cluster roles. */
  readonly aggregationRule?: {
    /** Cluster roles whose labels match any of these contribute their rules. */
    readonly clusterRoleSelectors?: readonly {
      /** Labels that must have exactly these values. */
      readonly matchLabels?: Readonly<Record<string, string>>;
      /** Conditions on labels. */
      readonly matchExpressions?: readonly {
        /** Key of the label. */
        readonly key: string;
        /** Operator of the comparison. */
        readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
        /** Values to compare with: some for `In` and `NotIn`, none for the others. */
        readonly values?: readonly string[];
      }[];
    }[];
  } | null;
}

/** Gives a cluster role to subjects, everywhere. */
export interface ClusterRoleBinding {
  /** API group and version of this object: `rbac.authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `ClusterRoleBinding`. Cannot be changed. */
  readonly kind?: 'ClusterRoleBinding';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Users and groups that get the role. */
  readonly subjects?:
    | readonly {
        /** `rbac.authorization.k8s.io` for users and groups, empty for service accounts. Filled in from `kind` when absent. */
        readonly apiGroup?: string;
        /** `User`, `Group` or `ServiceAccount`. */
        readonly kind: string;
        /** Name of the user, group or service account. The platform's own groups are `gitplane:user:<user>` and `gitplane:team:<team>`. */
        readonly name: string;
        /** Namespace of a service account; absent for users and groups. */
        readonly namespace?: string;
      }[]
    | null;
  /** The role that a binding gives. Cannot be changed. */
  readonly roleRef: {
    /** Always `rbac.authorization.k8s.io`. */
    readonly apiGroup?: string;
    /** `Role` or `ClusterRole`. */
    readonly kind: string;
    /** Name of the role. */
    readonly name: string;
  };
}

/** A list of ClusterRoleBinding objects. */
export type ClusterRoleBindingList = List<ClusterRoleBinding>;

/** A list of ClusterRole objects. */
export type ClusterRoleList = List<ClusterRole>;

/** The commit that set each field of an object. */
export type RbacObjectBlame = ObjectBlame;

/** Commits that changed an object, newest first. */
export type RbacObjectHistory = ObjectHistory;

/** The manifest of an object in git, and its place. */
export type RbacObjectSource = ObjectSource;

/** Text of a manifest to write. */
export type RbacObjectSourceText = ObjectSourceText;

/** Permissions inside one namespace. Roles only ever add permissions. */
export interface Role {
  /** API group and version of this object: `rbac.authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `Role`. Cannot be changed. */
  readonly kind?: 'Role';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Rights of the role. */
  readonly rules?:
    | readonly {
        /** Verbs, such as `get` or `list`. `*` stands for every verb. */
        readonly verbs: readonly string[];
        /** API groups. Empty text is the core group, `*` every group. */
        readonly apiGroups?: readonly string[];
        /** Plural names, with subresources as `teams/accesskeys`. `*` stands for all. */
        readonly resources?: readonly string[];
        /** Names of single objects. Empty means every object. */
        readonly resourceNames?: readonly string[];
        /** URL paths, only in a ClusterRole. `*` is allowed as the whole last step. */
        readonly nonResourceURLs?: readonly string[];
      }[]
    | null;
}

/** Gives a role to subjects, inside one namespace. */
export interface RoleBinding {
  /** API group and version of this object: `rbac.authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `RoleBinding`. Cannot be changed. */
  readonly kind?: 'RoleBinding';
  /** Identity, labels and annotations. A manifest in git needs `name`; what only the server writes is ignored there. */
  readonly metadata: ObjectMeta;
  /** Users and groups that get the role. */
  readonly subjects?:
    | readonly {
        /** `rbac.authorization.k8s.io` for users and groups, empty for service accounts. Filled in from `kind` when absent. */
        readonly apiGroup?: string;
        /** `User`, `Group` or `ServiceAccount`. */
        readonly kind: string;
        /** Name of the user, group or service account. The platform's own groups are `gitplane:user:<user>` and `gitplane:team:<team>`. */
        readonly name: string;
        /** Namespace of a service account; absent for users and groups. */
        readonly namespace?: string;
      }[]
    | null;
  /** The role that a binding gives. Cannot be changed. */
  readonly roleRef: {
    /** Always `rbac.authorization.k8s.io`. */
    readonly apiGroup?: string;
    /** `Role` or `ClusterRole`. */
    readonly kind: string;
    /** Name of the role. */
    readonly name: string;
  };
}

/** A list of RoleBinding objects. */
export type RoleBindingList = List<RoleBinding>;

/** A list of Role objects. */
export type RoleList = List<Role>;

/** Commit that an object returns to. */
export type RbacRollback = Rollback;

/** Check of a request in one namespace against the roles of a user. */
export interface LocalSubjectAccessReview {
  /** Always `authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `LocalSubjectAccessReview`. Cannot be changed. */
  readonly kind?: 'LocalSubjectAccessReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The request and whose it is. */
  readonly spec: {
    /** A request for objects. */
    readonly resourceAttributes?: {
      /** Empty is every namespace, or none for a kind that has none. */
      readonly namespace?: string;
      /** Verb of the request; `*` stands for every verb. */
      readonly verb?: string;
      /** API group; `*` stands for all. */
      readonly group?: string;
      /** Version of the API. Makes no difference. */
      readonly version?: string;
      /** Plural name; `*` stands for all. */
      readonly resource?: string;
      /** Empty for none. */
      readonly subresource?: string;
      /** Empty is every object. */
      readonly name?: string;
      /** Field selector of a list or watch. The review does not evaluate it. */
      readonly fieldSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
      /** Label selector of a list or watch. The review does not evaluate it. */
      readonly labelSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
    };
    /** A request for a path. */
    readonly nonResourceAttributes?: {
      /** The path. */
      readonly path?: string;
      /** The method in lower case. */
      readonly verb?: string;
    };
    /** Name of the user. */
    readonly user?: string;
    /** Groups of the user; who has none is in none. */
    readonly groups?: readonly string[];
    /** Unique identifier of the user. Makes no difference. */
    readonly uid?: string;
    /** Further attributes, lists by name. */
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  /** The answer. */
  readonly status?: {
    /** True if the request would be allowed. */
    readonly allowed?: boolean;
    /** True if a rule forbids the request, so that no other authorizer should allow it. */
    readonly denied?: boolean;
    /** Reason of the decision. */
    readonly reason?: string;
    /** Error during the evaluation. */
    readonly evaluationError?: string;
  };
}

/** A list of LocalSubjectAccessReview objects. */
export type LocalSubjectAccessReviewList = List<LocalSubjectAccessReview>;

/** Decision about a request of the caller, with the key of the review. */
export interface SelfSubjectAccessReview {
  /** Always `authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `SelfSubjectAccessReview`. Cannot be changed. */
  readonly kind?: 'SelfSubjectAccessReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The request: exactly one of the two. */
  readonly spec: {
    /** A request for objects. */
    readonly resourceAttributes?: {
      /** Empty is every namespace, or none for a kind that has none. */
      readonly namespace?: string;
      /** Verb of the request; `*` stands for every verb. */
      readonly verb?: string;
      /** API group; `*` stands for all. */
      readonly group?: string;
      /** Version of the API. Makes no difference. */
      readonly version?: string;
      /** Plural name; `*` stands for all. */
      readonly resource?: string;
      /** Empty for none. */
      readonly subresource?: string;
      /** Empty is every object. */
      readonly name?: string;
      /** Field selector of a list or watch. The review does not evaluate it. */
      readonly fieldSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
      /** Label selector of a list or watch. The review does not evaluate it. */
      readonly labelSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
    };
    /** A request for a path. */
    readonly nonResourceAttributes?: {
      /** The path. */
      readonly path?: string;
      /** The method in lower case. */
      readonly verb?: string;
    };
  };
  /** The answer. */
  readonly status?: {
    /** True if the request would be allowed. */
    readonly allowed?: boolean;
    /** True if a rule forbids the request, so that no other authorizer should allow it. */
    readonly denied?: boolean;
    /** Reason of the decision. */
    readonly reason?: string;
    /** Error during the evaluation. */
    readonly evaluationError?: string;
  };
}

/** A list of SelfSubjectAccessReview objects. */
export type SelfSubjectAccessReviewList = List<SelfSubjectAccessReview>;

/** Rights of the caller in a namespace, with the key of the request. For display: for a decision use a SelfSubjectAccessReview. */
export interface SelfSubjectRulesReview {
  /** Always `authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `SelfSubjectRulesReview`. Cannot be changed. */
  readonly kind?: 'SelfSubjectRulesReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The namespace. */
  readonly spec: {
    /** Name of the namespace. */
    readonly namespace?: string;
  };
  /** The rights. */
  readonly status?: {
    /** Rights on objects. */
    readonly resourceRules?: readonly {
      /** Verbs. */
      readonly verbs?: readonly string[];
      /** API groups. */
      readonly apiGroups?: readonly string[];
      /** Plural names. */
      readonly resources?: readonly string[];
      /** Names; empty is every object. */
      readonly resourceNames?: readonly string[];
    }[];
    /** Rights on paths. */
    readonly nonResourceRules?: readonly {
      /** Methods in lower case. */
      readonly verbs?: readonly string[];
      /** Paths. */
      readonly nonResourceURLs?: readonly string[];
    }[];
    /** True if there may be more rights. */
    readonly incomplete?: boolean;
    /** Reason why the list may be incomplete. */
    readonly evaluationError?: string;
  };
}

/** A list of SelfSubjectRulesReview objects. */
export type SelfSubjectRulesReviewList = List<SelfSubjectRulesReview>;

/** Check of a request against the roles of a user. */
export interface SubjectAccessReview {
  /** Always `authorization.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `SubjectAccessReview`. Cannot be changed. */
  readonly kind?: 'SubjectAccessReview';
  /** May be empty: reviews are never stored. */
  readonly metadata: ObjectMeta;
  /** The request, exactly one of the two, and whose it is. */
  readonly spec: {
    /** A request for objects. */
    readonly resourceAttributes?: {
      /** Empty is every namespace, or none for a kind that has none. */
      readonly namespace?: string;
      /** Verb of the request; `*` stands for every verb. */
      readonly verb?: string;
      /** API group; `*` stands for all. */
      readonly group?: string;
      /** Version of the API. Makes no difference. */
      readonly version?: string;
      /** Plural name; `*` stands for all. */
      readonly resource?: string;
      /** Empty for none. */
      readonly subresource?: string;
      /** Empty is every object. */
      readonly name?: string;
      /** Field selector of a list or watch. The review does not evaluate it. */
      readonly fieldSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
      /** Label selector of a list or watch. The review does not evaluate it. */
      readonly labelSelector?: {
        /** The selector as it stands in a query parameter. */
        readonly rawSelector?: string;
        /** The selector in its parts. */
        readonly requirements?: readonly {
          /** Key that is compared. */
          readonly key?: string;
          /** Operator of the comparison. */
          readonly operator?: string;
          /** With what. */
          readonly values?: readonly string[];
        }[];
      };
    };
    /** A request for a path. */
    readonly nonResourceAttributes?: {
      /** The path. */
      readonly path?: string;
      /** The method in lower case. */
      readonly verb?: string;
    };
    /** Name of the user. */
    readonly user?: string;
    /** Groups of the user; who has none is in none. */
    readonly groups?: readonly string[];
    /** Unique identifier of the user. Makes no difference. */
    readonly uid?: string;
    /** Further attributes, lists by name. */
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  /** The answer. */
  readonly status?: {
    /** True if the request would be allowed. */
    readonly allowed?: boolean;
    /** True if a rule forbids the request, so that no other authorizer should allow it. */
    readonly denied?: boolean;
    /** Reason of the decision. */
    readonly reason?: string;
    /** Error during the evaluation. */
    readonly evaluationError?: string;
  };
}

/** A list of SubjectAccessReview objects. */
export type SubjectAccessReviewList = List<SubjectAccessReview>;

/** Holder of a lock for a time, such as the leader among several replicas of a controller. */
export interface Lease {
  /** API version of this object: `coordination.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `Lease`. Cannot be changed. */
  readonly kind?: 'Lease';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** Holder of the lease and its times. */
  readonly spec?: {
    /** Holder of the lease. Empty: none. */
    readonly holderIdentity?: string;
    /** Time after `renewTime` during which no other client takes the lease. */
    readonly leaseDurationSeconds?: number;
    /** Since when it is held, to the microsecond. */
    readonly acquireTime?: string;
    /** Time of the last renewal, to the microsecond. */
    readonly renewTime?: string;
    /** Number of changes of the holder. */
    readonly leaseTransitions?: number;
    /** Strategy of a server that picks the holder. gitplane does not pick one and does not store it. */
    readonly strategy?: string;
    /** Holder that a server prefers. gitplane does not store it. */
    readonly preferredHolder?: string;
  };
}

/** A list of Lease objects. */
export type LeaseList = List<Lease>;

/** Something that happened to an object. */
export interface EventsEvent {
  /** API version of this object: `events.k8s.io/v1`. */
  readonly apiVersion?: string;
  /** Always `Event`. Cannot be changed. */
  readonly kind?: 'Event';
  /** Identity, labels and annotations. */
  readonly metadata: ObjectMeta;
  /** The object that it happened to. */
  readonly regarding?: {
    /** API version of the object. */
    readonly apiVersion?: string;
    /** Kind of the object. */
    readonly kind?: string;
    /** Namespace of the object. */
    readonly namespace?: string;
    /** Name of the object. */
    readonly name?: string;
    /** UID of the object. */
    readonly uid?: string;
    /** Version of the object. */
    readonly resourceVersion?: string;
    /** Part of the object. */
    readonly fieldPath?: string;
  };
  /** A further object that has to do with it. */
  readonly related?: {
    /** API version of the object. */
    readonly apiVersion?: string;
    /** Kind of the object. */
    readonly kind?: string;
    /** Namespace of the object. */
    readonly namespace?: string;
    /** Name of the object. */
    readonly name?: string;
    /** UID of the object. */
    readonly uid?: string;
    /** Version of the object. */
    readonly resourceVersion?: string;
    /** Part of the object. */
    readonly fieldPath?: string;
  };
  /** Reason of the event, in one word. */
  readonly reason?: string;
  /** Description of the event. */
  readonly note?: string;
  /** `Normal` or `Warning`. */
  readonly type?: string;
  /** Action of the controller. */
  readonly action?: string;
  /** Number of occurrences. */
  readonly deprecatedCount?: number;
  /** Component that reported the event. */
  readonly deprecatedSource?: {
    /** Name of the component. */
    readonly component?: string;
    /** Its machine. */
    readonly host?: string;
  };
  /** Time of the first occurrence. */
  readonly deprecatedFirstTimestamp?: string | null;
  /** Time of the last occurrence. */
  readonly deprecatedLastTimestamp?: string | null;
  /** Time of the event. */
  readonly eventTime?: string | null;
  /** Component that reported the event. */
  readonly reportingController?: string;
  /** Instance of the component. */
  readonly reportingInstance?: string;
  /** A series of events. */
  readonly series?: {
    /** Number of occurrences. */
    readonly count?: number;
    /** Time of the last occurrence. */
    readonly lastObservedTime?: string;
  };
}

/** A list of Event objects. */
export type EventsEventList = List<EventsEvent>;

/** No parameters. */
export type NoFields = Readonly<Record<never, never>>;

export interface Operation<Path, Query, Body, Answer> {
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  readonly answer: Answer;
}

export interface List<Item> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ListMeta;
  readonly items: readonly Item[];
}

export interface ReadSummaryQuery {
  /** Commit of the branch: its id, or how that begins. */
  readonly atRevision?: string | undefined;
  /** Time in the past (RFC 3339). */
  readonly atTime?: string | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** `metadata.version` of an earlier answer. */
  readonly since?: string | undefined;
  /** Longest wait: a duration such as `30s`, or whole seconds; at most five minutes. */
  readonly timeout?: string | undefined;
}

export interface SearchQuery {
  /** Number of items; 20 if absent. */
  readonly limit?: number | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** At most eight words that all match; `kind:`, `ns:`, `owner:` and `label:` filter. */
  readonly q: string;
}

export interface ReadCostsQuery {
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
}

export interface ListCommitsQuery {
  /** Commit of the branch: its id, or how that begins. */
  readonly atRevision?: string | undefined;
  /** Time in the past (RFC 3339). */
  readonly atTime?: string | undefined;
  /** `metadata.continue` of the page before. */
  readonly continue?: string | undefined;
  /** Number of items; 50 if absent. Larger values are cut to 500. */
  readonly limit?: number | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** Only commits that changed the team or what it owns. */
  readonly team?: string | undefined;
}

export interface ListBranchesQuery {
  /** Number of branches; 100 if absent. Larger values are cut to 1000. */
  readonly limit?: number | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
}

export interface CompareQuery {
  /** Commit id of at least four digits, or a time (RFC 3339). */
  readonly from: string;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** The same. Absent: the present. */
  readonly to?: string | undefined;
}

export interface ExplainAccessQuery {
  /** API group. Absent: the first group with the plural. */
  readonly group?: string | undefined;
  /** Access key that the question is about. */
  readonly key?: string | undefined;
  /** Name of the object. */
  readonly name?: string | undefined;
  /** Namespace of the object. */
  readonly namespace?: string | undefined;
  /** In place of `resource`: the path of a document. */
  readonly path?: string | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** Plural, perhaps with a subresource: `teams/status`. */
  readonly resource?: string | undefined;
  /** Team that the question is about. */
  readonly team?: string | undefined;
  /** User that the question is about. Absent: the caller. */
  readonly user?: string | undefined;
  /** Verb, as in `get`, `update` or `*`. */
  readonly verb: string;
}

export interface ListSubjectsQuery {
  /** API group. Absent: the first group with the plural. */
  readonly group?: string | undefined;
  /** Name of the object. */
  readonly name?: string | undefined;
  /** Namespace of the object. */
  readonly namespace?: string | undefined;
  /** In place of `resource`: the path of a document. */
  readonly path?: string | undefined;
  /** Indents the answer. */
  readonly pretty?: boolean | undefined;
  /** Plural, perhaps with a subresource: `teams/status`. */
  readonly resource?: string | undefined;
  /** Verb, as in `get`, `update` or `*`. */
  readonly verb: string;
}

export interface SyncQuery {
  /** Longest wait: a duration such as `30s`, or whole seconds; at most five minutes. */
  readonly timeout?: string | undefined;
  /** Commit to wait for. */
  readonly wait?: string | undefined;
}

export interface SyncSecretStoreQuery {
  /** Approve the deletions of the cycle. */
  readonly allowDeletions?: boolean | undefined;
  /** Store of the cycle. Absent: all stores. */
  readonly store?: string | undefined;
  /** Longest wait: a duration such as `30s`, or whole seconds; at most five minutes. */
  readonly timeout?: string | undefined;
  /** Wait for the end of the cycle. */
  readonly wait?: boolean | undefined;
}

export interface PartPath {
  readonly part: string;
}

export interface NamePartPath {
  readonly name: string;
  readonly part: string;
}

export interface ListAuditEventsQuery {
  /** Id of a request. */
  readonly auditID?: string | undefined;
  /** Number of events; 100 if absent. */
  readonly limit?: number | undefined;
  /** Name of the object. */
  readonly name?: string | undefined;
  /** Namespace of the object. */
  readonly namespace?: string | undefined;
  /** Plural of the kind. */
  readonly resource?: string | undefined;
  /** Commit that the request made. */
  readonly revision?: string | undefined;
  /** Earliest time (RFC 3339). */
  readonly since?: string | undefined;
  /** Agent that sent the event. */
  readonly source?: string | undefined;
  /** Latest time (RFC 3339). */
  readonly until?: string | undefined;
  /** Name of the user. */
  readonly user?: string | undefined;
  /** Verb. */
  readonly verb?: string | undefined;
}

export interface HealthzQuery {
  /** Check to leave out. */
  readonly exclude?: string | undefined;
  /** Lists the checks. */
  readonly verbose?: string | undefined;
}

export interface CheckPath {
  readonly check: string;
}

export interface NamePath {
  readonly name: string;
}

export interface ListQuery {
  /** A watch may send bookmarks. */
  readonly allowWatchBookmarks?: boolean | undefined;
  /** As it was at a commit of the branch: its id, or how that begins. */
  readonly atRevision?: string | undefined;
  /** As it was at a time (RFC 3339). */
  readonly atTime?: string | undefined;
  /** Where the last page ended. */
  readonly continue?: string | undefined;
  /** Only objects whose fields match. */
  readonly fieldSelector?: string | undefined;
  /** Only objects whose labels match. */
  readonly labelSelector?: string | undefined;
  /** At most this many objects; continue leads to the rest. */
  readonly limit?: number | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Which version may be answered. */
  readonly resourceVersion?: string | undefined;
  /** How to read resourceVersion: Exact or NotOlderThan. */
  readonly resourceVersionMatch?: string | undefined;
  /** A watch begins with the objects that exist. */
  readonly sendInitialEvents?: boolean | undefined;
  /** How long a watch goes on. */
  readonly timeoutSeconds?: number | undefined;
  /** Stream the changes instead of listing. */
  readonly watch?: boolean | undefined;
}

export interface PostQuery {
  /** All: nothing is stored, the answer is the same. */
  readonly dryRun?: string | undefined;
  /** Name of the person or program that makes the change: printable, at most 128 characters. */
  readonly fieldManager?: string | undefined;
  /** What to do about unknown and duplicate fields: Ignore, Warn or Strict. */
  readonly fieldValidation?: string | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect. */
  readonly show?: string | undefined;
}

export interface GetQuery {
  /** As it was at a commit of the branch: its id, or how that begins. */
  readonly atRevision?: string | undefined;
  /** As it was at a time (RFC 3339). */
  readonly atTime?: string | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Which version may be answered. */
  readonly resourceVersion?: string | undefined;
}

export interface PutQuery {
  /** All: nothing is stored, the answer is the same. */
  readonly dryRun?: string | undefined;
  /** Name of the person or program that makes the change: printable, at most 128 characters. */
  readonly fieldManager?: string | undefined;
  /** What to do about unknown and duplicate fields: Ignore, Warn or Strict. */
  readonly fieldValidation?: string | undefined;
  /** Take over fields that others own (server-side apply). Go on from the last good version of an object whose manifest in git is not valid; the commit message names what was dropped. */
  readonly force?: boolean | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect. */
  readonly show?: string | undefined;
}

export interface DeleteQuery {
  /** All: nothing is stored, the answer is the same. */
  readonly dryRun?: string | undefined;
  /** Seconds until the object is removed. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Deprecated: use propagationPolicy. */
  readonly orphanDependents?: boolean | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Orphan, Background or Foreground. */
  readonly propagationPolicy?: string | undefined;
  /** Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect. */
  readonly show?: string | undefined;
}

export interface StatusQuery {
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
}

export interface HistoryQuery {
  /** Where the last page ended. */
  readonly continue?: string | undefined;
  /** Number of commits. Larger values are cut to 500. */
  readonly limit?: number | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
}

export interface BlameQuery {
  /** Number of examined commits; 500 if absent. */
  readonly limit?: number | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
}

export interface SourceQuery {
  /** As it was at a commit of the branch: its id, or how that begins. */
  readonly atRevision?: string | undefined;
  /** As it was at a time (RFC 3339). */
  readonly atTime?: string | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
}

export interface PutSourceQuery {
  /** All: nothing is stored, the answer is the same. */
  readonly dryRun?: string | undefined;
  /** Name of the person or program that makes the change: printable, at most 128 characters. */
  readonly fieldManager?: string | undefined;
  /** Take over fields that others own (server-side apply). Go on from the last good version of an object whose manifest in git is not valid; the commit message names what was dropped. */
  readonly force?: boolean | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect. */
  readonly show?: string | undefined;
}

export interface DeletecollectionQuery {
  /** A watch may send bookmarks. */
  readonly allowWatchBookmarks?: boolean | undefined;
  /** Where the last page ended. */
  readonly continue?: string | undefined;
  /** All: nothing is stored, the answer is the same. */
  readonly dryRun?: string | undefined;
  /** Only objects whose fields match. */
  readonly fieldSelector?: string | undefined;
  /** Seconds until the object is removed. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Only objects whose labels match. */
  readonly labelSelector?: string | undefined;
  /** At most this many objects; continue leads to the rest. */
  readonly limit?: number | undefined;
  /** Deprecated: use propagationPolicy. */
  readonly orphanDependents?: boolean | undefined;
  /** true: the answer is indented. */
  readonly pretty?: string | undefined;
  /** Orphan, Background or Foreground. */
  readonly propagationPolicy?: string | undefined;
  /** Which version may be answered. */
  readonly resourceVersion?: string | undefined;
  /** How to read resourceVersion: Exact or NotOlderThan. */
  readonly resourceVersionMatch?: string | undefined;
  /** A watch begins with the objects that exist. */
  readonly sendInitialEvents?: boolean | undefined;
  /** Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect. */
  readonly show?: string | undefined;
  /** How long a watch goes on. */
  readonly timeoutSeconds?: number | undefined;
  /** Stream the changes instead of listing. */
  readonly watch?: boolean | undefined;
}

export interface NamespacePath {
  readonly namespace: string;
}

export interface NameNamespacePath {
  readonly name: string;
  readonly namespace: string;
}

/** Operations by method and path. Paths of the Kubernetes API are relative to its root. */
export interface Operations {
  /** State of the platform: health, branch, held commits, pushes, degraded objects. Each section takes the right that shows the same elsewhere. With `since` the answer comes when the summary changes. */
  'GET /summary': Operation<NoFields, ReadSummaryQuery, undefined, Summary>;
  /** Objects of all kinds that the caller may list or get, best match first. */
  'GET /search': Operation<NoFields, SearchQuery, undefined, SearchResult>;
  /** Costs of the tenants that the caller may list or get. Observations are cached for a minute. 404: `costControl` is not enabled. */
  'GET /costs': Operation<NoFields, ReadCostsQuery, undefined, TenantCosts>;
  /** Commits of the branch, newest first. Takes the right to clone. */
  'GET /commits': Operation<NoFields, ListCommitsQuery, undefined, CommitList>;
  /** Branches that can be planned, newest first. Takes the right to clone. */
  'GET /branches': Operation<NoFields, ListBranchesQuery, undefined, BranchList>;
  /** Objects that differ between two moments. Takes the right to clone. */
  'GET /compare': Operation<NoFields, CompareQuery, undefined, Comparison>;
  /** Changes that a commit of the repository would make, with the verdict of a push by the caller. Takes the right to clone. */
  'POST /plan': Operation<NoFields, ReadCostsQuery, PlanTarget, Plan>;
  /** Reason why a user, team or key may do something, or not. Questions about others take `create` on `subjectaccessreviews`. */
  'GET /access/explain': Operation<NoFields, ExplainAccessQuery, undefined, AccessExplanation>;
  /** Users and groups that may do something. Takes `create` on `subjectaccessreviews`. */
  'GET /access/who': Operation<NoFields, ListSubjectsQuery, undefined, AccessList>;
  /** State of the platform relative to its branch. */
  'GET /sync': Operation<NoFields, NoFields, undefined, SyncStatus>;
  /** Fetches from the remote, and waits until a commit is applied. 409: it is held or refused. 504: it was not seen in time. */
  'POST /sync': Operation<NoFields, SyncQuery, undefined, SyncStatus>;
  /** Approves the removals of a held commit. */
  'POST /sync/approve': Operation<NoFields, NoFields, PruneApproval, SyncStatus>;
  /** State of the sync with the secret stores. */
  'GET /secret-store': Operation<NoFields, NoFields, undefined, SecretStoreStatus>;
  /** Begins a cycle. With `wait` the answer comes after it; 504: it takes longer. */
  'POST /secret-store/sync': Operation<
    NoFields,
    SyncSecretStoreQuery,
    undefined,
    SecretStoreStatus
  >;
  /** Suspensions in force. */
  'GET /suspensions': Operation<NoFields, NoFields, undefined, SuspensionList>;
  /** Stops a part of the platform for a time. */
  'POST /suspensions/{part}': Operation<PartPath, NoFields, SuspensionRequest, Suspension>;
  /** Ends a suspension. */
  'DELETE /suspensions/{part}': Operation<PartPath, NoFields, undefined, Suspension>;
  /** Stops a part of the platform for a time. */
  'POST /suspensions/{part}/{name}': Operation<
    NamePartPath,
    NoFields,
    SuspensionRequest,
    Suspension
  >;
  /** Ends a suspension. */
  'DELETE /suspensions/{part}/{name}': Operation<NamePartPath, NoFields, undefined, Suspension>;
  /** Audit events of the data store, newest first. 404: there is no data store. */
  'GET /audit/events': Operation<NoFields, ListAuditEventsQuery, undefined, AuditEventList>;
  /** Takes audit events of agents, all or none of them. */
  'POST /audit/events': Operation<NoFields, NoFields, AuditEventList, Status>;
  /** Parts of the configuration that programs act on. */
  'GET /platform/settings': Operation<NoFields, NoFields, undefined, PlatformSettings>;
  /** Look of user interfaces. */
  'GET /ui/settings': Operation<NoFields, NoFields, undefined, UISettings>;
  /** Ways to sign in. */
  'GET /auth/info': Operation<NoFields, NoFields, undefined, SignInInfo>;
  /** Version. The configuration can ask for credentials. */
  'GET /version': Operation<NoFields, NoFields, undefined, VersionInfo>;
  /** Health, as a status code and a text. */
  'GET /healthz': Operation<NoFields, HealthzQuery, undefined, string>;
  /** Health by one check. */
  'GET /healthz/{check}': Operation<CheckPath, NoFields, undefined, string>;
  /** Health, as a status code and a text. */
  'GET /livez': Operation<NoFields, HealthzQuery, undefined, string>;
  /** Health by one check. */
  'GET /livez/{check}': Operation<CheckPath, NoFields, undefined, string>;
  /** Health, as a status code and a text. */
  'GET /readyz': Operation<NoFields, HealthzQuery, undefined, string>;
  /** Health by one check. */
  'GET /readyz/{check}': Operation<CheckPath, NoFields, undefined, string>;
  /** Metrics in the format of Prometheus. */
  'GET /metrics': Operation<NoFields, NoFields, undefined, string>;
  /** This document. */
  'GET /openapi.json': Operation<NoFields, NoFields, undefined, Readonly<Record<string, unknown>>>;
  /** File names of the JSON schemas of manifests. */
  'GET /schemas': Operation<NoFields, NoFields, undefined, readonly string[]>;
  /** JSON schema of a manifest, for editors. */
  'GET /schemas/{name}.json': Operation<
    NamePath,
    NoFields,
    undefined,
    Readonly<Record<string, unknown>>
  >;
  /** Public keys of endpoint tokens. */
  'GET /.well-known/jwks.json': Operation<NoFields, NoFields, undefined, JsonWebKeySet>;
  /** Issuer of endpoint tokens. */
  'GET /.well-known/openid-configuration': Operation<NoFields, NoFields, undefined, IssuerMetadata>;
  /** Revoked endpoint tokens. */
  'GET /token/revocations': Operation<NoFields, NoFields, undefined, RevocationList>;
  /** Revokes an endpoint token (RFC 7009). */
  'POST /token/revoke': Operation<NoFields, NoFields, TokenToRevoke, Status>;
  /** Session of the browser, by its cookie. */
  'GET /auth/session': Operation<NoFields, NoFields, undefined, SessionInfo>;
  /** Holder and end of a key. */
  'POST /auth/token': Operation<NoFields, NoFields, KeyToCheck, SessionInfo>;
  /** Ends a login key. */
  'POST /auth/revoke': Operation<NoFields, NoFields, KeyToCheck, KeyRevocation>;
  /** list objects of kind Config */
  'GET /apis/management.gitplane.dev/v1/config': Operation<
    NoFields,
    ListQuery,
    undefined,
    ConfigList
  >;
  /** create an object of kind Config */
  'POST /apis/management.gitplane.dev/v1/config': Operation<NoFields, PostQuery, Config, Config>;
  /** read the specified Config */
  'GET /apis/management.gitplane.dev/v1/config/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    Config
  >;
  /** replace the specified Config */
  'PUT /apis/management.gitplane.dev/v1/config/{name}': Operation<
    NamePath,
    PutQuery,
    Config,
    Config
  >;
  /** partially update the specified Config */
  'PATCH /apis/management.gitplane.dev/v1/config/{name}': Operation<
    NamePath,
    PutQuery,
    Patch,
    Config
  >;
  /** delete the specified Config */
  'DELETE /apis/management.gitplane.dev/v1/config/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified Config */
  'GET /apis/management.gitplane.dev/v1/config/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    Config
  >;
  /** read the commits that changed the specified Config */
  'GET /apis/management.gitplane.dev/v1/config/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified Config */
  'GET /apis/management.gitplane.dev/v1/config/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified Config as it stands in git */
  'GET /apis/management.gitplane.dev/v1/config/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified Config, comments included */
  'PUT /apis/management.gitplane.dev/v1/config/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    ObjectSourceText,
    Config
  >;
  /** make the specified Config what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/config/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    Rollback,
    Config
  >;
  /** list objects of kind User */
  'GET /apis/management.gitplane.dev/v1/users': Operation<NoFields, ListQuery, undefined, UserList>;
  /** create an object of kind User */
  'POST /apis/management.gitplane.dev/v1/users': Operation<NoFields, PostQuery, User, User>;
  /** delete a collection of User */
  'DELETE /apis/management.gitplane.dev/v1/users': Operation<
    NoFields,
    DeletecollectionQuery,
    undefined,
    UserList
  >;
  /** read the specified User */
  'GET /apis/management.gitplane.dev/v1/users/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    User
  >;
  /** replace the specified User */
  'PUT /apis/management.gitplane.dev/v1/users/{name}': Operation<NamePath, PutQuery, User, User>;
  /** partially update the specified User */
  'PATCH /apis/management.gitplane.dev/v1/users/{name}': Operation<NamePath, PutQuery, Patch, User>;
  /** delete the specified User */
  'DELETE /apis/management.gitplane.dev/v1/users/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified User */
  'GET /apis/management.gitplane.dev/v1/users/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    User
  >;
  /** read the commits that changed the specified User */
  'GET /apis/management.gitplane.dev/v1/users/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified User */
  'GET /apis/management.gitplane.dev/v1/users/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified User as it stands in git */
  'GET /apis/management.gitplane.dev/v1/users/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified User, comments included */
  'PUT /apis/management.gitplane.dev/v1/users/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    ObjectSourceText,
    User
  >;
  /** make the specified User what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/users/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    Rollback,
    User
  >;
  /** list objects of kind Team */
  'GET /apis/management.gitplane.dev/v1/teams': Operation<NoFields, ListQuery, undefined, TeamList>;
  /** create an object of kind Team */
  'POST /apis/management.gitplane.dev/v1/teams': Operation<NoFields, PostQuery, Team, Team>;
  /** delete a collection of Team */
  'DELETE /apis/management.gitplane.dev/v1/teams': Operation<
    NoFields,
    DeletecollectionQuery,
    undefined,
    TeamList
  >;
  /** read the specified Team */
  'GET /apis/management.gitplane.dev/v1/teams/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    Team
  >;
  /** replace the specified Team */
  'PUT /apis/management.gitplane.dev/v1/teams/{name}': Operation<NamePath, PutQuery, Team, Team>;
  /** partially update the specified Team */
  'PATCH /apis/management.gitplane.dev/v1/teams/{name}': Operation<NamePath, PutQuery, Patch, Team>;
  /** delete the specified Team */
  'DELETE /apis/management.gitplane.dev/v1/teams/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified Team */
  'GET /apis/management.gitplane.dev/v1/teams/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    Team
  >;
  /** read the commits that changed the specified Team */
  'GET /apis/management.gitplane.dev/v1/teams/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified Team */
  'GET /apis/management.gitplane.dev/v1/teams/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified Team as it stands in git */
  'GET /apis/management.gitplane.dev/v1/teams/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified Team, comments included */
  'PUT /apis/management.gitplane.dev/v1/teams/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    ObjectSourceText,
    Team
  >;
  /** make the specified Team what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/teams/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    Rollback,
    Team
  >;
  /** list objects of kind OwnedAccessKey */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys': Operation<
    NoFields,
    ListQuery,
    undefined,
    OwnedAccessKeyList
  >;
  /** create an object of kind OwnedAccessKey */
  'POST /apis/management.gitplane.dev/v1/ownedaccesskeys': Operation<
    NoFields,
    PostQuery,
    OwnedAccessKey,
    OwnedAccessKey
  >;
  /** delete a collection of OwnedAccessKey */
  'DELETE /apis/management.gitplane.dev/v1/ownedaccesskeys': Operation<
    NoFields,
    DeletecollectionQuery,
    undefined,
    OwnedAccessKeyList
  >;
  /** read the specified OwnedAccessKey */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    OwnedAccessKey
  >;
  /** replace the specified OwnedAccessKey */
  'PUT /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}': Operation<
    NamePath,
    PutQuery,
    OwnedAccessKey,
    OwnedAccessKey
  >;
  /** partially update the specified OwnedAccessKey */
  'PATCH /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}': Operation<
    NamePath,
    PutQuery,
    Patch,
    OwnedAccessKey
  >;
  /** delete the specified OwnedAccessKey */
  'DELETE /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified OwnedAccessKey */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    OwnedAccessKey
  >;
  /** read the commits that changed the specified OwnedAccessKey */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified OwnedAccessKey */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified OwnedAccessKey as it stands in git */
  'GET /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified OwnedAccessKey, comments included */
  'PUT /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    ObjectSourceText,
    OwnedAccessKey
  >;
  /** make the specified OwnedAccessKey what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/ownedaccesskeys/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    Rollback,
    OwnedAccessKey
  >;
  /** create an object of kind DirectClusterEndpointToken */
  'POST /apis/management.gitplane.dev/v1/directclusterendpointtokens': Operation<
    NoFields,
    PostQuery,
    DirectClusterEndpointToken,
    DirectClusterEndpointToken
  >;
  /** list objects of kind SharedSecret */
  'GET /apis/management.gitplane.dev/v1/sharedsecrets': Operation<
    NoFields,
    ListQuery,
    undefined,
    SharedSecretList
  >;
  /** list objects of kind SharedSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    SharedSecretList
  >;
  /** create an object of kind SharedSecret */
  'POST /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets': Operation<
    NamespacePath,
    PostQuery,
    SharedSecret,
    SharedSecret
  >;
  /** delete a collection of SharedSecret */
  'DELETE /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    SharedSecretList
  >;
  /** read the specified SharedSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    SharedSecret
  >;
  /** replace the specified SharedSecret */
  'PUT /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    SharedSecret,
    SharedSecret
  >;
  /** partially update the specified SharedSecret */
  'PATCH /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    SharedSecret
  >;
  /** delete the specified SharedSecret */
  'DELETE /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified SharedSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/status': Operation<
    NameNamespacePath,
    StatusQuery,
    undefined,
    SharedSecret
  >;
  /** read the commits that changed the specified SharedSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/history': Operation<
    NameNamespacePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified SharedSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/blame': Operation<
    NameNamespacePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified SharedSecret as it stands in git */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/source': Operation<
    NameNamespacePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified SharedSecret, comments included */
  'PUT /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/source': Operation<
    NameNamespacePath,
    PutSourceQuery,
    ObjectSourceText,
    SharedSecret
  >;
  /** make the specified SharedSecret what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/namespaces/{namespace}/sharedsecrets/{name}/rollback': Operation<
    NameNamespacePath,
    PutSourceQuery,
    Rollback,
    SharedSecret
  >;
  /** list objects of kind ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/projectsecrets': Operation<
    NoFields,
    ListQuery,
    undefined,
    ProjectSecretList
  >;
  /** list objects of kind ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    ProjectSecretList
  >;
  /** create an object of kind ProjectSecret */
  'POST /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets': Operation<
    NamespacePath,
    PostQuery,
    ProjectSecret,
    ProjectSecret
  >;
  /** delete a collection of ProjectSecret */
  'DELETE /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    ProjectSecretList
  >;
  /** read the specified ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    ProjectSecret
  >;
  /** replace the specified ProjectSecret */
  'PUT /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    ProjectSecret,
    ProjectSecret
  >;
  /** partially update the specified ProjectSecret */
  'PATCH /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    ProjectSecret
  >;
  /** delete the specified ProjectSecret */
  'DELETE /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read status of the specified ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/status': Operation<
    NameNamespacePath,
    StatusQuery,
    undefined,
    ProjectSecret
  >;
  /** read the commits that changed the specified ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/history': Operation<
    NameNamespacePath,
    HistoryQuery,
    undefined,
    ObjectHistory
  >;
  /** read the commit that set each field of the specified ProjectSecret */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/blame': Operation<
    NameNamespacePath,
    BlameQuery,
    undefined,
    ObjectBlame
  >;
  /** read the manifest of the specified ProjectSecret as it stands in git */
  'GET /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/source': Operation<
    NameNamespacePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified ProjectSecret, comments included */
  'PUT /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/source': Operation<
    NameNamespacePath,
    PutSourceQuery,
    ObjectSourceText,
    ProjectSecret
  >;
  /** make the specified ProjectSecret what it was at a commit */
  'POST /apis/management.gitplane.dev/v1/namespaces/{namespace}/projectsecrets/{name}/rollback': Operation<
    NameNamespacePath,
    PutSourceQuery,
    Rollback,
    ProjectSecret
  >;
  /** list objects of kind Tenant */
  'GET /apis/management.gitplane.dev/v1/tenants': Operation<
    NoFields,
    ListQuery,
    undefined,
    TenantList
  >;
  /** read the specified Tenant */
  'GET /apis/management.gitplane.dev/v1/tenants/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    Tenant
  >;
  /** read status of the specified Tenant */
  'GET /apis/management.gitplane.dev/v1/tenants/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    Tenant
  >;
  /** read the manifest of the specified Tenant as it stands in git */
  'GET /apis/management.gitplane.dev/v1/tenants/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    ObjectSource
  >;
  /** write the text of the manifest of the specified Tenant, comments included */
  'PUT /apis/management.gitplane.dev/v1/tenants/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    ObjectSourceText,
    Tenant
  >;
  /** read how far the sync of each object of the specified Tenant is */
  'GET /apis/management.gitplane.dev/v1/tenants/{name}/sync': Operation<
    NamePath,
    StatusQuery,
    undefined,
    TenantSync
  >;
  /** show what Endpoints and Services would become by the patches of the specified Tenant */
  'POST /apis/management.gitplane.dev/v1/tenants/{name}/patches:preview': Operation<
    NamePath,
    StatusQuery,
    PatchesPreviewRequest,
    PatchesPreview
  >;
  /** list objects of kind Role */
  'GET /apis/rbac.authorization.k8s.io/v1/roles': Operation<
    NoFields,
    ListQuery,
    undefined,
    RoleList
  >;
  /** list objects of kind Role */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    RoleList
  >;
  /** create an object of kind Role */
  'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles': Operation<
    NamespacePath,
    PostQuery,
    Role,
    Role
  >;
  /** delete a collection of Role */
  'DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    RoleList
  >;
  /** read the specified Role */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    Role
  >;
  /** replace the specified Role */
  'PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Role,
    Role
  >;
  /** partially update the specified Role */
  'PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    Role
  >;
  /** delete the specified Role */
  'DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read the commits that changed the specified Role */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}/history': Operation<
    NameNamespacePath,
    HistoryQuery,
    undefined,
    RbacObjectHistory
  >;
  /** read the commit that set each field of the specified Role */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}/blame': Operation<
    NameNamespacePath,
    BlameQuery,
    undefined,
    RbacObjectBlame
  >;
  /** read the manifest of the specified Role as it stands in git */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}/source': Operation<
    NameNamespacePath,
    SourceQuery,
    undefined,
    RbacObjectSource
  >;
  /** write the text of the manifest of the specified Role, comments included */
  'PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}/source': Operation<
    NameNamespacePath,
    PutSourceQuery,
    RbacObjectSourceText,
    Role
  >;
  /** make the specified Role what it was at a commit */
  'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/{name}/rollback': Operation<
    NameNamespacePath,
    PutSourceQuery,
    RbacRollback,
    Role
  >;
  /** list objects of kind ClusterRole */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterroles': Operation<
    NoFields,
    ListQuery,
    undefined,
    ClusterRoleList
  >;
  /** create an object of kind ClusterRole */
  'POST /apis/rbac.authorization.k8s.io/v1/clusterroles': Operation<
    NoFields,
    PostQuery,
    ClusterRole,
    ClusterRole
  >;
  /** delete a collection of ClusterRole */
  'DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles': Operation<
    NoFields,
    DeletecollectionQuery,
    undefined,
    ClusterRoleList
  >;
  /** read the specified ClusterRole */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    ClusterRole
  >;
  /** replace the specified ClusterRole */
  'PUT /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}': Operation<
    NamePath,
    PutQuery,
    ClusterRole,
    ClusterRole
  >;
  /** partially update the specified ClusterRole */
  'PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}': Operation<
    NamePath,
    PutQuery,
    Patch,
    ClusterRole
  >;
  /** delete the specified ClusterRole */
  'DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read the commits that changed the specified ClusterRole */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    RbacObjectHistory
  >;
  /** read the commit that set each field of the specified ClusterRole */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    RbacObjectBlame
  >;
  /** read the manifest of the specified ClusterRole as it stands in git */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    RbacObjectSource
  >;
  /** write the text of the manifest of the specified ClusterRole, comments included */
  'PUT /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    RbacObjectSourceText,
    ClusterRole
  >;
  /** make the specified ClusterRole what it was at a commit */
  'POST /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    RbacRollback,
    ClusterRole
  >;
  /** list objects of kind RoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/rolebindings': Operation<
    NoFields,
    ListQuery,
    undefined,
    RoleBindingList
  >;
  /** list objects of kind RoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    RoleBindingList
  >;
  /** create an object of kind RoleBinding */
  'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings': Operation<
    NamespacePath,
    PostQuery,
    RoleBinding,
    RoleBinding
  >;
  /** delete a collection of RoleBinding */
  'DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    RoleBindingList
  >;
  /** read the specified RoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    RoleBinding
  >;
  /** replace the specified RoleBinding */
  'PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    RoleBinding,
    RoleBinding
  >;
  /** partially update the specified RoleBinding */
  'PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    RoleBinding
  >;
  /** delete the specified RoleBinding */
  'DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read the commits that changed the specified RoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}/history': Operation<
    NameNamespacePath,
    HistoryQuery,
    undefined,
    RbacObjectHistory
  >;
  /** read the commit that set each field of the specified RoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}/blame': Operation<
    NameNamespacePath,
    BlameQuery,
    undefined,
    RbacObjectBlame
  >;
  /** read the manifest of the specified RoleBinding as it stands in git */
  'GET /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}/source': Operation<
    NameNamespacePath,
    SourceQuery,
    undefined,
    RbacObjectSource
  >;
  /** write the text of the manifest of the specified RoleBinding, comments included */
  'PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}/source': Operation<
    NameNamespacePath,
    PutSourceQuery,
    RbacObjectSourceText,
    RoleBinding
  >;
  /** make the specified RoleBinding what it was at a commit */
  'POST /apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}/rollback': Operation<
    NameNamespacePath,
    PutSourceQuery,
    RbacRollback,
    RoleBinding
  >;
  /** list objects of kind ClusterRoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings': Operation<
    NoFields,
    ListQuery,
    undefined,
    ClusterRoleBindingList
  >;
  /** create an object of kind ClusterRoleBinding */
  'POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings': Operation<
    NoFields,
    PostQuery,
    ClusterRoleBinding,
    ClusterRoleBinding
  >;
  /** delete a collection of ClusterRoleBinding */
  'DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings': Operation<
    NoFields,
    DeletecollectionQuery,
    undefined,
    ClusterRoleBindingList
  >;
  /** read the specified ClusterRoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    ClusterRoleBinding
  >;
  /** replace the specified ClusterRoleBinding */
  'PUT /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}': Operation<
    NamePath,
    PutQuery,
    ClusterRoleBinding,
    ClusterRoleBinding
  >;
  /** partially update the specified ClusterRoleBinding */
  'PATCH /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}': Operation<
    NamePath,
    PutQuery,
    Patch,
    ClusterRoleBinding
  >;
  /** delete the specified ClusterRoleBinding */
  'DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}': Operation<
    NamePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** read the commits that changed the specified ClusterRoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}/history': Operation<
    NamePath,
    HistoryQuery,
    undefined,
    RbacObjectHistory
  >;
  /** read the commit that set each field of the specified ClusterRoleBinding */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}/blame': Operation<
    NamePath,
    BlameQuery,
    undefined,
    RbacObjectBlame
  >;
  /** read the manifest of the specified ClusterRoleBinding as it stands in git */
  'GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}/source': Operation<
    NamePath,
    SourceQuery,
    undefined,
    RbacObjectSource
  >;
  /** write the text of the manifest of the specified ClusterRoleBinding, comments included */
  'PUT /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}/source': Operation<
    NamePath,
    PutSourceQuery,
    RbacObjectSourceText,
    ClusterRoleBinding
  >;
  /** make the specified ClusterRoleBinding what it was at a commit */
  'POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}/rollback': Operation<
    NamePath,
    PutSourceQuery,
    RbacRollback,
    ClusterRoleBinding
  >;
  /** list objects of kind Namespace */
  'GET /api/v1/namespaces': Operation<NoFields, ListQuery, undefined, NamespaceList>;
  /** read the specified Namespace */
  'GET /api/v1/namespaces/{name}': Operation<NamePath, GetQuery, undefined, Namespace>;
  /** read status of the specified Namespace */
  'GET /api/v1/namespaces/{name}/status': Operation<NamePath, StatusQuery, undefined, Namespace>;
  /** list objects of kind Event */
  'GET /api/v1/events': Operation<NoFields, ListQuery, undefined, EventList>;
  /** list objects of kind Event */
  'GET /api/v1/namespaces/{namespace}/events': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    EventList
  >;
  /** create an object of kind Event */
  'POST /api/v1/namespaces/{namespace}/events': Operation<NamespacePath, PostQuery, Event, Event>;
  /** delete a collection of Event */
  'DELETE /api/v1/namespaces/{namespace}/events': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    EventList
  >;
  /** read the specified Event */
  'GET /api/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    Event
  >;
  /** replace the specified Event */
  'PUT /api/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Event,
    Event
  >;
  /** partially update the specified Event */
  'PATCH /api/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    Event
  >;
  /** delete the specified Event */
  'DELETE /api/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** list objects of kind Event */
  'GET /apis/events.k8s.io/v1/events': Operation<NoFields, ListQuery, undefined, EventsEventList>;
  /** list objects of kind Event */
  'GET /apis/events.k8s.io/v1/namespaces/{namespace}/events': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    EventsEventList
  >;
  /** create an object of kind Event */
  'POST /apis/events.k8s.io/v1/namespaces/{namespace}/events': Operation<
    NamespacePath,
    PostQuery,
    EventsEvent,
    EventsEvent
  >;
  /** delete a collection of Event */
  'DELETE /apis/events.k8s.io/v1/namespaces/{namespace}/events': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    EventsEventList
  >;
  /** read the specified Event */
  'GET /apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    EventsEvent
  >;
  /** replace the specified Event */
  'PUT /apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    EventsEvent,
    EventsEvent
  >;
  /** partially update the specified Event */
  'PATCH /apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    EventsEvent
  >;
  /** delete the specified Event */
  'DELETE /apis/events.k8s.io/v1/namespaces/{namespace}/events/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** list objects of kind CustomResourceDefinition */
  'GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions': Operation<
    NoFields,
    ListQuery,
    undefined,
    CustomResourceDefinitionList
  >;
  /** read the specified CustomResourceDefinition */
  'GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}': Operation<
    NamePath,
    GetQuery,
    undefined,
    CustomResourceDefinition
  >;
  /** read status of the specified CustomResourceDefinition */
  'GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}/status': Operation<
    NamePath,
    StatusQuery,
    undefined,
    CustomResourceDefinition
  >;
  /** list objects of kind Lease */
  'GET /apis/coordination.k8s.io/v1/leases': Operation<NoFields, ListQuery, undefined, LeaseList>;
  /** list objects of kind Lease */
  'GET /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    LeaseList
  >;
  /** create an object of kind Lease */
  'POST /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases': Operation<
    NamespacePath,
    PostQuery,
    Lease,
    Lease
  >;
  /** delete a collection of Lease */
  'DELETE /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    LeaseList
  >;
  /** read the specified Lease */
  'GET /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    Lease
  >;
  /** replace the specified Lease */
  'PUT /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Lease,
    Lease
  >;
  /** partially update the specified Lease */
  'PATCH /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    Lease
  >;
  /** delete the specified Lease */
  'DELETE /apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** list objects of kind Secret */
  'GET /api/v1/secrets': Operation<NoFields, ListQuery, undefined, SecretList>;
  /** list objects of kind Secret */
  'GET /api/v1/namespaces/{namespace}/secrets': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    SecretList
  >;
  /** create an object of kind Secret */
  'POST /api/v1/namespaces/{namespace}/secrets': Operation<
    NamespacePath,
    PostQuery,
    Secret,
    Secret
  >;
  /** delete a collection of Secret */
  'DELETE /api/v1/namespaces/{namespace}/secrets': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    SecretList
  >;
  /** read the specified Secret */
  'GET /api/v1/namespaces/{namespace}/secrets/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    Secret
  >;
  /** replace the specified Secret */
  'PUT /api/v1/namespaces/{namespace}/secrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Secret,
    Secret
  >;
  /** partially update the specified Secret */
  'PATCH /api/v1/namespaces/{namespace}/secrets/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    Secret
  >;
  /** delete the specified Secret */
  'DELETE /api/v1/namespaces/{namespace}/secrets/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** list objects of kind ConfigMap */
  'GET /api/v1/configmaps': Operation<NoFields, ListQuery, undefined, ConfigMapList>;
  /** list objects of kind ConfigMap */
  'GET /api/v1/namespaces/{namespace}/configmaps': Operation<
    NamespacePath,
    ListQuery,
    undefined,
    ConfigMapList
  >;
  /** create an object of kind ConfigMap */
  'POST /api/v1/namespaces/{namespace}/configmaps': Operation<
    NamespacePath,
    PostQuery,
    ConfigMap,
    ConfigMap
  >;
  /** delete a collection of ConfigMap */
  'DELETE /api/v1/namespaces/{namespace}/configmaps': Operation<
    NamespacePath,
    DeletecollectionQuery,
    undefined,
    ConfigMapList
  >;
  /** read the specified ConfigMap */
  'GET /api/v1/namespaces/{namespace}/configmaps/{name}': Operation<
    NameNamespacePath,
    GetQuery,
    undefined,
    ConfigMap
  >;
  /** replace the specified ConfigMap */
  'PUT /api/v1/namespaces/{namespace}/configmaps/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    ConfigMap,
    ConfigMap
  >;
  /** partially update the specified ConfigMap */
  'PATCH /api/v1/namespaces/{namespace}/configmaps/{name}': Operation<
    NameNamespacePath,
    PutQuery,
    Patch,
    ConfigMap
  >;
  /** delete the specified ConfigMap */
  'DELETE /api/v1/namespaces/{namespace}/configmaps/{name}': Operation<
    NameNamespacePath,
    DeleteQuery,
    DeleteOptions | undefined,
    Status
  >;
  /** create an object of kind LocalSubjectAccessReview */
  'POST /apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews': Operation<
    NamespacePath,
    PostQuery,
    LocalSubjectAccessReview,
    LocalSubjectAccessReview
  >;
  /** create an object of kind SelfSubjectAccessReview */
  'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews': Operation<
    NoFields,
    PostQuery,
    SelfSubjectAccessReview,
    SelfSubjectAccessReview
  >;
  /** create an object of kind SelfSubjectRulesReview */
  'POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews': Operation<
    NoFields,
    PostQuery,
    SelfSubjectRulesReview,
    SelfSubjectRulesReview
  >;
  /** create an object of kind SubjectAccessReview */
  'POST /apis/authorization.k8s.io/v1/subjectaccessreviews': Operation<
    NoFields,
    PostQuery,
    SubjectAccessReview,
    SubjectAccessReview
  >;
  /** create an object of kind SelfSubjectReview */
  'POST /apis/authentication.k8s.io/v1/selfsubjectreviews': Operation<
    NoFields,
    PostQuery,
    SelfSubjectReview,
    SelfSubjectReview
  >;
  /** create an object of kind TokenReview */
  'POST /apis/authentication.k8s.io/v1/tokenreviews': Operation<
    NoFields,
    PostQuery,
    TokenReview,
    TokenReview
  >;
}

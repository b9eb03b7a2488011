/** `GET /summary` and `GET /search`. */
import type { Author, Condition, ObjectKey } from './objects.ts';

export interface Summary {
  /** `version`: digest of the document, for a request that waits for a change. */
  readonly metadata: { readonly version: string; readonly time: string };
  readonly version: string;
  /** The moment of a summary of the past: it has neither health, pushes nor conditions. */
  readonly past?: { readonly revision: string; readonly time: string };
  readonly health?: { readonly ok: boolean; readonly checks: readonly HealthCheck[] };
  readonly branch?: BranchSummary;
  readonly held?: HeldSummary | null;
  readonly pushes?: { readonly since: string; readonly items: readonly PushSummary[] };
  readonly kinds: readonly KindSummary[];
  readonly degraded: { readonly count: number; readonly items: readonly DegradedObject[] };
  readonly problems?: { readonly count: number; readonly items: readonly FileProblem[] };
  readonly secretStore?: SecretStoreSummary;
  readonly suspensions?: readonly SuspensionSummary[];
  /** Objects with conditions of severity `Error` or `Warning`. */
  readonly conditions?: { readonly count: number; readonly items: readonly BadConditions[] };
  readonly replicas?: {
    readonly leader?: string | null;
    readonly items: readonly ReplicaSummary[];
  };
  /** Sections that the user has no right to, with the right. */
  readonly withheld: readonly {
    readonly section: string;
    readonly verb: string;
    readonly path: string;
  }[];
}

export interface HealthCheck {
  readonly name: string;
  readonly level: string;
  readonly message?: string;
}

export interface BranchSummary {
  readonly state: 'applied' | 'held' | 'failing' | 'past';
  readonly head: string | null;
  readonly revision: string | null;
  readonly message?: string;
  readonly lastAppliedTime?: string | null;
  readonly commit?: {
    readonly revision: string;
    readonly time: string;
    readonly author: Author;
    readonly message: string;
  };
}

export interface HeldSummary {
  readonly reason: string;
  readonly revision: string | null;
  readonly message: string;
  readonly remedy: string;
  readonly prunes: readonly (ObjectKey & { readonly path: string })[];
  readonly pruneCount: number;
  readonly mayApprove?: boolean;
}

export interface PushSummary {
  readonly time: string;
  readonly user: string;
  readonly revision: string | null;
  readonly result: 'accepted' | 'refused';
  readonly lines?: readonly string[];
  readonly problems?: number;
}

export interface KindSummary {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly objects: number;
  readonly degraded: number;
}

/** An object with a link. */
export interface NamedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface DegradedObject extends NamedObject {
  readonly path?: string;
  readonly line?: number;
  readonly col?: number;
  readonly message: string;
}

export interface FileProblem {
  readonly path: string;
  readonly line?: number;
  readonly col?: number;
  readonly message: string;
}

export interface SuspensionSummary {
  /** `remote`, `secret-store`, `tenants` or `tenants/<name>`. */
  readonly target: string;
  readonly user: string;
  readonly reason: string;
  readonly until: string;
}

export interface SecretStoreSummary {
  readonly name: string;
  readonly state: string;
  readonly message?: string;
  readonly counts?: Readonly<Record<string, number>>;
  readonly stores?: readonly {
    readonly name: string;
    readonly state: string;
    readonly message?: string;
  }[];
}

export interface BadConditions extends NamedObject {
  readonly conditions: readonly Condition[];
}

export interface ReplicaSummary {
  readonly id: string;
  readonly url?: string;
  readonly version?: string;
}

export interface SearchHit extends NamedObject {
  readonly displayName?: string;
  readonly owner?: string;
}

export interface SearchResult {
  readonly items: readonly SearchHit[];
  readonly total: number;
}

/** Objects and documents of the API, as JSON. */
import type { WriteEffect } from './plan.ts';

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly unknown[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: ObjectStatus;
  readonly [field: string]: unknown;
}

export interface ObjectStatus {
  readonly conditions?: readonly Condition[];
  readonly [field: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly severity?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface ListMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface ObjectList {
  readonly metadata: ListMeta;
  readonly items: readonly KubeObject[];
}

/** Table of `meta.k8s.io/v1`: the columns of a kind, and a row per object. */
export interface Table {
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly Column[];
  readonly rows: readonly TableRow[];
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Above 0: for wide tables. */
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object: { readonly metadata: ObjectMeta };
}

/** A kind of objects, from discovery. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** Plural, as in URLs. */
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

/** Names one object. `namespace` is empty for kinds without namespaces. */
export interface ObjectRef {
  readonly namespace: string;
  readonly name: string;
}

/** A moment of the past; absent fields: the present. */
export interface Moment {
  readonly atTime?: string | undefined;
  readonly atRevision?: string | undefined;
}

export interface Author {
  readonly name: string;
  readonly email?: string;
}

/** As the server judges it with the keys of now. */
export interface CommitSignature {
  readonly state: 'unsigned' | 'trusted' | 'untrusted' | 'unchecked';
  readonly signer?: string;
  readonly message?: string;
}

/** One commit that changed an object. */
export interface HistoryEntry {
  readonly revision: string;
  readonly time: string;
  readonly author: Author;
  readonly message: string;
  readonly verb: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly path: string;
  readonly previousPath?: string;
  readonly fields?: readonly string[];
  readonly degraded?: boolean;
  readonly signature?: CommitSignature;
}

export interface HistoryPage {
  readonly metadata: ListMeta;
  readonly items: readonly HistoryEntry[];
}

/** The manifest of an object as it stands in git. */
export interface ObjectSource {
  readonly revision: string;
  readonly path: string;
  readonly line: number;
  /** Absent without the right to clone. */
  readonly text?: string;
}

/** The commit that set each field. */
export interface Blame {
  readonly commits: Readonly<
    Record<string, { readonly time: string; readonly author: Author; readonly message: string }>
  >;
  readonly fields: readonly { readonly path: string; readonly revision?: string }[];
}

/** Result of a dry run: the file with `show=file`, the objects with `show=effect`. */
export interface WritePreview {
  /** Null: no file. Absent: not asked for. */
  readonly path?: string | null;
  readonly before?: string | null;
  readonly after?: string | null;
  readonly effect?: WriteEffect;
  readonly object: KubeObject;
}

export interface CommitPage {
  readonly metadata: ListMeta;
  readonly items: readonly Commit[];
}

export interface Commit {
  readonly revision: string;
  readonly parents: readonly string[];
  readonly time: string;
  readonly author: Author;
  readonly subject: string;
  readonly message: string;
  readonly files: readonly CommitFile[];
  readonly fileCount: number;
  readonly signature?: CommitSignature;
}

export interface CommitFile {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'removed';
  readonly objects: readonly {
    readonly group: string;
    readonly kind: string;
    readonly plural?: string;
    readonly namespace?: string;
    readonly name: string;
  }[];
}

/** `GET /sync`. */
export interface SyncStatus {
  readonly head: string | null;
  readonly revision: string | null;
  readonly state: 'applied' | 'held' | 'failing';
  readonly message?: string;
  readonly held: Hold | null;
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  readonly lastAppliedTime: string | null;
}

export interface Hold {
  readonly revision: string | null;
  readonly reason: string;
  readonly message: string;
  readonly prunes: readonly (ObjectKey & { readonly path: string })[];
  readonly pruneCount: number;
  readonly remedy: string;
}

export interface ObjectKey extends ObjectRef {
  readonly group: string;
  readonly kind: string;
}

/** A manifest that does not count, with its place. */
export interface Problem {
  readonly [field: string]: unknown;
}

/** Status of the API, the body of a refusal. */
export interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
    readonly retryAfterSeconds?: number;
  };
}

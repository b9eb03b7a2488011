/** Objects of any kind, and the documents about them. */
import type { ListMeta, ObjectHistory, WritePreview as Preview } from '../../client/index.ts';

export type {
  Commit,
  CommitList as CommitPage,
  CommitSignature,
  ObjectBlame as Blame,
  ObjectHistory as HistoryPage,
  ObjectSource,
  SyncStatus,
} from '../../client/index.ts';

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

/** One commit that changed an object. */
export type HistoryEntry = ObjectHistory['items'][number];

/** Result of a dry run: the file with `show=file`, the objects with `show=effect`. */
export type WritePreview = Omit<Preview, 'object'> & { readonly object: KubeObject };

/**
 * Interface to the part of the etcd v3 API in use: keys are UTF-8 text, values are bytes, revisions and
 * ids are bigint. This folder knows nothing about the data.
 */

import type { EtcdTls } from './etcd-options.ts';

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  /** Lease that the key is attached to; 0n: none. */
  readonly lease: bigint;
}

export interface RangeRequest {
  readonly key: string;
  /** Selects all keys that begin with `key`; '' selects every key. */
  readonly prefix?: boolean;
  /** First key after the range; overrides `prefix`. */
  readonly end?: string;
  readonly limit?: number;
  /** Reads at this revision; absent: at the current one. */
  readonly revision?: bigint;
  readonly keysOnly?: boolean;
  /** Allows an answer of a member that lags behind. */
  readonly serializable?: boolean;
}

export interface RangeResponse {
  /** Revision of the store at the time of the answer. */
  readonly revision: bigint;
  /** In bytewise order. */
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

/** Condition of a transaction. */
export type Compare =
  | { readonly key: string; readonly createRevision: bigint }
  | { readonly key: string; readonly modRevision: bigint }
  | { readonly key: string; readonly value: Buffer };

export type Operation =
  | { readonly put: string; readonly value: Buffer; readonly lease?: bigint }
  | { readonly remove: string; readonly prefix?: boolean; readonly end?: string }
  | { readonly range: RangeRequest };

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly operations: readonly Operation[];
  /** Runs if a condition is false. */
  readonly otherwise?: readonly Operation[];
}

export interface TxnResponse {
  readonly succeeded: boolean;
  readonly revision: bigint;
  /** Results of the range operations of the branch that ran, in order. */
  readonly ranges: readonly RangeResponse[];
}

export interface WatchEvent {
  readonly type: 'put' | 'delete';
  /** For a deletion, only key and modRevision are set. */
  readonly kv: KeyValue;
}

/** All changes of one revision below the watched keys, never a part of them. */
export interface WatchBatch {
  readonly revision: bigint;
  readonly events: readonly WatchEvent[];
}

export interface WatchRequest {
  readonly key: string;
  readonly prefix?: boolean;
  readonly end?: string;
  /** First revision to deliver; absent: the one after the current revision. */
  readonly from?: bigint;
}

/**
 * Survives the loss of a connection or member, without gap and without repetition. Iteration throws
 * CompactedRevisionError if etcd has compacted the next revision. It ends when the watch is closed.
 */
export interface EtcdWatch extends AsyncIterable<WatchBatch> {
  close(): void;
}

export interface Lease {
  readonly id: bigint;
  /**
   * Time until which the lease is surely alive, in milliseconds of performance.now(). Counted from the
   * sending of the last renewal that was answered.
   */
  readonly deadline: number;
  /** Aborted when etcd reports that the lease is gone, or when its deadline has passed. */
  readonly lost: AbortSignal;
  /** Revokes the lease at once, and deletes every key attached to it. */
  revoke(): Promise<void>;
}

export interface Etcd {
  /** Address for messages: `etcd://a:2379,b:2379`. */
  readonly place: string;
  range(request: RangeRequest): Promise<RangeResponse>;
  /** Reads all keys of the range at one revision, page by page. */
  scan(request: RangeRequest): AsyncIterable<KeyValue> & { readonly revision: Promise<bigint> };
  /**
   * Never sent twice. If the outcome is unknown (the connection broke), it throws an EtcdError with
   * `unknown: true`.
   */
  txn(request: TxnRequest): Promise<TxnResponse>;
  watch(request: WatchRequest): EtcdWatch;
  /** Grants a lease, renewed every third of its TTL until it is revoked. */
  grant(ttlSeconds: number): Promise<Lease>;
  /** Compacts all revisions before this one. */
  compact(revision: bigint): Promise<void>;
  close(): Promise<void>;
}

/** An etcd cluster on the network. */
export interface RemoteEtcd extends Etcd {
  /**
   * Uses these files for new connections. The current connection closes when its calls have ended.
   * Throws if the key does not belong to the certificate.
   */
  useTls(tls: EtcdTls): void;
}

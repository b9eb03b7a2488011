/**
 * What we use of etcd's v3 API, in our words: keys are UTF-8 text, values are bytes, revisions and
 * ids are bigint. Nothing in this folder knows what is kept there.
 */

import type { EtcdTls } from './etcd-options.ts';

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  /** The lease that it goes with; 0n: none. */
  readonly lease: bigint;
}

export interface RangeRequest {
  readonly key: string;
  /** All keys that begin with `key`; '' is every key. */
  readonly prefix?: boolean;
  /** The first key that is not meant any more; overrides `prefix`. */
  readonly end?: string;
  readonly limit?: number;
  /** As of this revision; absent: now. */
  readonly revision?: bigint;
  readonly keysOnly?: boolean;
  /** May be answered by a member that lags behind. */
  readonly serializable?: boolean;
}

export interface RangeResponse {
  /** Of the whole store when it answered. */
  readonly revision: bigint;
  /** In bytewise order. */
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

/** What must be so for a transaction to happen. */
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
  /** What happens when it is not so. */
  readonly otherwise?: readonly Operation[];
}

export interface TxnResponse {
  readonly succeeded: boolean;
  readonly revision: bigint;
  /** Of the range operations of the branch that was taken, in order. */
  readonly ranges: readonly RangeResponse[];
}

export interface WatchEvent {
  readonly type: 'put' | 'delete';
  /** Of a deletion: only key and modRevision count. */
  readonly kv: KeyValue;
}

/** Everything that one revision changed below the watched keys, never a part of it. */
export interface WatchBatch {
  readonly revision: bigint;
  readonly events: readonly WatchEvent[];
}

export interface WatchRequest {
  readonly key: string;
  readonly prefix?: boolean;
  readonly end?: string;
  /** The first revision that is wanted; absent: from when etcd hears of it, a moment after the call. */
  readonly from?: bigint;
}

/**
 * Goes on by itself when a connection or member is lost: no gap, no repetition. Ends by throwing
 * CompactedRevisionError when etcd does not have the revision any more, or when it is closed.
 */
export interface EtcdWatch extends AsyncIterable<WatchBatch> {
  close(): void;
}

export interface Lease {
  readonly id: bigint;
  /**
   * Until when the lease surely lives, in the milliseconds of performance.now(): counted from when
   * the last renewal that was answered had been sent.
   */
  readonly deadline: number;
  /** Aborted when etcd says that the lease is gone, or when its deadline has passed. */
  readonly lost: AbortSignal;
  /** Gives it back at once, and every key with it. */
  revoke(): Promise<void>;
}

export interface Etcd {
  /** For people: `etcd://a:2379,b:2379`. */
  readonly place: string;
  range(request: RangeRequest): Promise<RangeResponse>;
  /** All keys at one revision, page by page, however many they are. */
  scan(request: RangeRequest): AsyncIterable<KeyValue> & { readonly revision: Promise<bigint> };
  /**
   * Never sent twice: where it is not known whether it happened (the connection broke), it throws
   * an EtcdError with `unknown: true`.
   */
  txn(request: TxnRequest): Promise<TxnResponse>;
  watch(request: WatchRequest): EtcdWatch;
  /** Renewed every third of its life until it is revoked. */
  grant(ttlSeconds: number): Promise<Lease>;
  /** Forgets what was before the revision. */
  compact(revision: bigint): Promise<void>;
  close(): Promise<void>;
}

/** An etcd that is reached over the network. */
export interface RemoteEtcd extends Etcd {
  /**
   * Connects with these files from now on. A connection that is there ends when what is under way on
   * it has ended. Throws for a key that is not the certificate's.
   */
  useTls(tls: EtcdTls): void;
}

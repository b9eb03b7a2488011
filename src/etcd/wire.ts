/** Messages on the wire: 64-bit numbers are decimal text, keys are bytes. */
import { fromJSON } from '@grpc/proto-loader';
import { SCHEMA } from './schema.ts';

export interface Method<Request, Reply> {
  readonly path: string;
  requestSerialize(request: Request): Buffer;
  responseDeserialize(bytes: Buffer): Reply;
}

export interface WireHeader {
  readonly cluster_id: string;
  readonly revision: string;
}

/** Part of every response; null only if another server than etcd answers. */
export interface WireResponse {
  readonly header: WireHeader | null;
}

export interface WireKeyValue {
  readonly key: Buffer;
  readonly create_revision: string;
  readonly mod_revision: string;
  readonly value: Buffer;
  readonly lease: string;
}

export interface WireRange {
  readonly key: Buffer;
  readonly range_end?: Buffer | undefined;
  readonly limit?: number | undefined;
  readonly revision?: string | undefined;
  readonly serializable?: boolean | undefined;
  readonly keys_only?: boolean | undefined;
  readonly count_only?: boolean;
}

export interface WireRangeResponse extends WireResponse {
  readonly kvs: readonly WireKeyValue[];
  readonly more: boolean;
  readonly count: string;
}

export interface WireOperation {
  readonly request_range?: WireRange;
  readonly request_put?: {
    readonly key: Buffer;
    readonly value: Buffer;
    readonly lease?: string | undefined;
  };
  readonly request_delete_range?: { readonly key: Buffer; readonly range_end?: Buffer | undefined };
}

export interface WireCompare {
  readonly key: Buffer;
  readonly target: 'CREATE' | 'MOD' | 'VALUE';
  readonly create_revision?: string;
  readonly mod_revision?: string;
  readonly value?: Buffer;
}

export interface WireTxn {
  readonly compare: readonly WireCompare[];
  readonly success: readonly WireOperation[];
  readonly failure: readonly WireOperation[];
}

export interface WireTxnResponse extends WireResponse {
  readonly succeeded: boolean;
  readonly responses: readonly { readonly response_range?: WireRangeResponse | null }[];
}

export interface WireWatch {
  readonly create_request: {
    readonly key: Buffer;
    readonly range_end?: Buffer | undefined;
    readonly start_revision: string;
    readonly fragment: boolean;
  };
}

export interface WireEvent {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: WireKeyValue;
}

export interface WireWatchResponse extends WireResponse {
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compact_revision: string;
  readonly cancel_reason: string;
  readonly fragment: boolean;
  readonly events: readonly WireEvent[];
}

export interface WireLease {
  readonly ID: string;
}

export interface WireLeaseResponse extends WireResponse {
  readonly ID: string;
  readonly TTL: string;
}

const definition = fromJSON(SCHEMA, {
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});

function method<Request, Reply>(service: string, name: string): Method<Request, Reply> {
  const methods = definition[`etcdserverpb.${service}`] ?? {};
  const found: unknown = Object.entries(methods).find(([key]) => key === name)?.[1];
  if (!isMethod<Request, Reply>(found)) throw new Error(`No method ${name} of ${service}`);
  return found;
}

function isMethod<Request, Reply>(value: unknown): value is Method<Request, Reply> {
  return typeof value === 'object' && value !== null && 'requestSerialize' in value;
}

export const RANGE = method<WireRange, WireRangeResponse>('KV', 'Range');
export const TXN = method<WireTxn, WireTxnResponse>('KV', 'Txn');
export const COMPACT = method<{ revision: string }, WireResponse>('KV', 'Compact');
export const WATCH = method<WireWatch, WireWatchResponse>('Watch', 'Watch');
export const GRANT = method<{ TTL: string }, WireLeaseResponse>('Lease', 'LeaseGrant');
export const REVOKE = method<WireLease, WireResponse>('Lease', 'LeaseRevoke');
export const KEEP_ALIVE = method<WireLease, WireLeaseResponse>('Lease', 'LeaseKeepAlive');
export const AUTHENTICATE = method<
  { name: string; password: string },
  WireResponse & { readonly token: string }
>('Auth', 'Authenticate');

/** Conversion between the types of this folder and the messages on the wire. */
import type {
  Compare,
  KeyValue,
  Operation,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
} from './etcd.ts';
import type {
  WireCompare,
  WireKeyValue,
  WireOperation,
  WireRange,
  WireRangeResponse,
  WireTxn,
  WireTxnResponse,
} from './wire.ts';

interface KeySelection {
  readonly key: string;
  readonly prefix?: boolean;
  readonly end?: string;
}

const NUL = Buffer.of(0);

/** Key range in the form of etcd: without `range_end`, the single key. */
export function keyRange({ key, prefix, end }: KeySelection): { key: Buffer; range_end?: Buffer } {
  // Every key is greater than '\0', and etcd refuses the empty key.
  const first = key === '' ? NUL : Buffer.from(key);
  if (end !== undefined) return { key: first, range_end: Buffer.from(end) };
  if (prefix !== true) return { key: first };
  return { key: first, range_end: key === '' ? NUL : afterPrefix(first) };
}

/** First key that does not begin with the prefix. UTF-8 has no byte 0xff. */
function afterPrefix(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

export function wireRange(request: RangeRequest): WireRange {
  return {
    ...keyRange(request),
    limit: request.limit,
    revision: request.revision === undefined ? undefined : String(request.revision),
    serializable: request.serializable,
    keys_only: request.keysOnly,
  };
}

export function wireTxn({ compare, operations, otherwise = [] }: TxnRequest): WireTxn {
  return {
    compare: compare.map(wireCompare),
    success: operations.map(wireOperation),
    failure: otherwise.map(wireOperation),
  };
}

function wireCompare(compare: Compare): WireCompare {
  const key = Buffer.from(compare.key);
  if ('value' in compare) return { key, target: 'VALUE', value: compare.value };
  if ('modRevision' in compare) {
    return { key, target: 'MOD', mod_revision: String(compare.modRevision) };
  }
  return { key, target: 'CREATE', create_revision: String(compare.createRevision) };
}

function wireOperation(operation: Operation): WireOperation {
  if ('range' in operation) return { request_range: wireRange(operation.range) };
  if ('put' in operation) {
    const { put, value, lease } = operation;
    const bound = lease === undefined ? undefined : String(lease);
    return { request_put: { key: Buffer.from(put), value, lease: bound } };
  }
  return { request_delete_range: keyRange({ ...operation, key: operation.remove }) };
}

export function keyValue(kv: WireKeyValue): KeyValue {
  return {
    key: kv.key.toString(),
    value: kv.value,
    createRevision: BigInt(kv.create_revision),
    modRevision: BigInt(kv.mod_revision),
    lease: BigInt(kv.lease),
  };
}

/** `revision` is that of the whole response: a range in a transaction has none of its own. */
export function rangeResponse(answer: WireRangeResponse, revision: bigint): RangeResponse {
  return {
    revision,
    kvs: answer.kvs.map(keyValue),
    more: answer.more,
    count: Number(answer.count),
  };
}

export function txnResponse(answer: WireTxnResponse): TxnResponse {
  const revision = BigInt(answer.header?.revision ?? 0);
  const ranges = answer.responses
    .map((response) => response.response_range)
    .filter((range) => range !== undefined && range !== null)
    .map((range) => rangeResponse(range, revision));
  return { succeeded: answer.succeeded, revision, ranges };
}

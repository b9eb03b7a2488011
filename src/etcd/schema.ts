/**
 * The messages of the etcd v3 API in use, with the numbers and types of their fields, as JSON descriptors
 * of protobufjs. Fields that are not listed are neither sent nor read.
 */

import type { fromJSON } from '@grpc/proto-loader';

type Field = readonly [id: number, type: string, rule?: 'repeated'];

interface MessageDescriptor {
  readonly fields: Record<string, { id: number; type: string; rule?: string }>;
  readonly oneofs?: Record<string, { oneof: string[] }>;
}

function message(
  fields: Readonly<Record<string, Field>>,
  oneofs: Readonly<Record<string, string[]>> = {},
): MessageDescriptor {
  const described = Object.entries(fields).map(([name, [id, type, rule]]) => [
    name,
    rule === undefined ? { id, type } : { id, type, rule },
  ]);
  const groups = Object.entries(oneofs).map(([name, oneof]) => [name, { oneof }]);
  return { fields: Object.fromEntries(described), oneofs: Object.fromEntries(groups) };
}

function service(methods: Readonly<Record<string, readonly [request: string, answer: string]>>) {
  const described = Object.entries(methods).map(([name, [requestType, responseType]]) => [
    name,
    { requestType, responseType, comment: '' },
  ]);
  return { methods: Object.fromEntries(described) };
}

function streams(name: string, request: string, answer: string) {
  const types = { requestType: request, responseType: answer, comment: '' };
  return { methods: { [name]: { ...types, requestStream: true, responseStream: true } } };
}

const HEADER: Field = [1, 'ResponseHeader'];

const messages = {
  ResponseHeader: message({ cluster_id: [1, 'uint64'], revision: [3, 'int64'] }),
  KeyValue: message({
    key: [1, 'bytes'],
    create_revision: [2, 'int64'],
    mod_revision: [3, 'int64'],
    value: [5, 'bytes'],
    lease: [6, 'int64'],
  }),
  RangeRequest: message({
    key: [1, 'bytes'],
    range_end: [2, 'bytes'],
    limit: [3, 'int64'],
    revision: [4, 'int64'],
    serializable: [7, 'bool'],
    keys_only: [8, 'bool'],
    count_only: [9, 'bool'],
  }),
  RangeResponse: message({
    header: HEADER,
    kvs: [2, 'KeyValue', 'repeated'],
    more: [3, 'bool'],
    count: [4, 'int64'],
  }),
  PutRequest: message({ key: [1, 'bytes'], value: [2, 'bytes'], lease: [3, 'int64'] }),
  PutResponse: message({ header: HEADER }),
  DeleteRangeRequest: message({ key: [1, 'bytes'], range_end: [2, 'bytes'] }),
  DeleteRangeResponse: message({ header: HEADER, deleted: [2, 'int64'] }),
  RequestOp: message(
    {
      request_range: [1, 'RangeRequest'],
      request_put: [2, 'PutRequest'],
      request_delete_range: [3, 'DeleteRangeRequest'],
    },
    { request: ['request_range', 'request_put', 'request_delete_range'] },
  ),
  ResponseOp: message(
    {
      response_range: [1, 'RangeResponse'],
      response_put: [2, 'PutResponse'],
      response_delete_range: [3, 'DeleteRangeResponse'],
    },
    { response: ['response_range', 'response_put', 'response_delete_range'] },
  ),
  CompareTarget: { values: { VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3, LEASE: 4 } },
  // `result` is not listed, so that it is always EQUAL, its first value.
  Compare: message(
    {
      target: [2, 'CompareTarget'],
      key: [3, 'bytes'],
      create_revision: [5, 'int64'],
      mod_revision: [6, 'int64'],
      value: [7, 'bytes'],
    },
    { target_union: ['create_revision', 'mod_revision', 'value'] },
  ),
  TxnRequest: message({
    compare: [1, 'Compare', 'repeated'],
    success: [2, 'RequestOp', 'repeated'],
    failure: [3, 'RequestOp', 'repeated'],
  }),
  TxnResponse: message({
    header: HEADER,
    succeeded: [2, 'bool'],
    responses: [3, 'ResponseOp', 'repeated'],
  }),
  CompactionRequest: message({ revision: [1, 'int64'] }),
  CompactionResponse: message({ header: HEADER }),
  EventType: { values: { PUT: 0, DELETE: 1 } },
  Event: message({ type: [1, 'EventType'], kv: [2, 'KeyValue'] }),
  WatchCreateRequest: message({
    key: [1, 'bytes'],
    range_end: [2, 'bytes'],
    start_revision: [3, 'int64'],
    fragment: [8, 'bool'],
  }),
  WatchRequest: message(
    { create_request: [1, 'WatchCreateRequest'] },
    { request_union: ['create_request'] },
  ),
  WatchResponse: message({
    header: HEADER,
    created: [3, 'bool'],
    canceled: [4, 'bool'],
    compact_revision: [5, 'int64'],
    cancel_reason: [6, 'string'],
    fragment: [7, 'bool'],
    events: [11, 'Event', 'repeated'],
  }),
  LeaseGrantRequest: message({ TTL: [1, 'int64'] }),
  LeaseGrantResponse: message({ header: HEADER, ID: [2, 'int64'], TTL: [3, 'int64'] }),
  LeaseRevokeRequest: message({ ID: [1, 'int64'] }),
  LeaseRevokeResponse: message({ header: HEADER }),
  LeaseKeepAliveRequest: message({ ID: [1, 'int64'] }),
  LeaseKeepAliveResponse: message({ header: HEADER, ID: [2, 'int64'], TTL: [3, 'int64'] }),
  AuthenticateRequest: message({ name: [1, 'string'], password: [2, 'string'] }),
  AuthenticateResponse: message({ header: HEADER, token: [2, 'string'] }),
};

const services = {
  KV: service({
    Range: ['RangeRequest', 'RangeResponse'],
    Txn: ['TxnRequest', 'TxnResponse'],
    Compact: ['CompactionRequest', 'CompactionResponse'],
  }),
  Watch: streams('Watch', 'WatchRequest', 'WatchResponse'),
  Lease: {
    methods: {
      ...service({
        LeaseGrant: ['LeaseGrantRequest', 'LeaseGrantResponse'],
        LeaseRevoke: ['LeaseRevokeRequest', 'LeaseRevokeResponse'],
      }).methods,
      ...streams('LeaseKeepAlive', 'LeaseKeepAliveRequest', 'LeaseKeepAliveResponse').methods,
    },
  },
  Auth: service({ Authenticate: ['AuthenticateRequest', 'AuthenticateResponse'] }),
};

// Messages of other protobuf packages have the same bytes under the name of this one.
export const SCHEMA: Parameters<typeof fromJSON>[0] = {
  nested: { etcdserverpb: { nested: { ...messages, ...services } } },
};

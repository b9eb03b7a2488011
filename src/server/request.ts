/** The request that handlers get. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { User } from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';
import type { Collection } from '../state/index.ts';
import type { RequestInfo, ResourceInfo } from './input/request-info.ts';

/** A request that passed access control. */
export interface ApiRequest {
  readonly id: string;
  readonly info: RequestInfo;
  /** Undefined for public paths. */
  readonly user: User | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Takes the response over from the server; returns the headers that every answer has. */
  hijack(): readonly (readonly [string, string])[];
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
  readonly raw: { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/** A request for objects of a kind that exists and supports the verb. */
export interface ResourceRequest extends ApiRequest {
  readonly info: ResourceInfo;
  readonly user: User;
  readonly kind: Kind;
}

export function header(request: ApiRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export function collectionOf({ kind, info }: ResourceRequest): Collection {
  const namespace = info.namespace === '' ? undefined : info.namespace;
  return { group: kind.group, kind: kind.kind, namespace };
}

/** One request on its way through the filters: what they found out, its audit record, its metrics. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { noSuchRoute, type User } from '../apimachinery/index.ts';
import type { AuditTrail } from '../audit/index.ts';
import { forbidden } from '../auth/index.ts';
import type { ServerDependencies } from './dependencies.ts';
import {
  attributesOf,
  authenticateRequest,
  plainToken,
  refuseImpersonation,
} from './filters/access.ts';
import { type AuditedPart, beginAudit, endAudit } from './filters/audit.ts';
import { refuseWrongTimeout } from './filters/overload-limits.ts';
import { refuseContentEncoding } from './input/body.ts';
import type { RequestInfo } from './input/request-info.ts';
import type { Answer } from './output/answer.ts';
import type { ApiRequest } from './request.ts';

const API_DOCUMENT = /^\/(apis?|openapi|version)(\/|$)/;

/** The platform, or a cluster of a tenant: a Kubernetes API below a path of its own. */
export interface ApiRoot {
  readonly deps: ServerDependencies;
  /** Undefined for a URL that no route may answer. */
  read(method: string, url: string): RequestInfo | undefined;
  /** True if the path needs no key. */
  isPublic(info: RequestInfo): boolean;
  /** Root that answers users who must not learn that this one exists. Absent: everybody may know. */
  readonly hidden?: { isFrom(user: User): boolean; readonly behind: ApiRoot };
  /** Work before a request can be authenticated; undefined: none. Never rejects. */
  prepare?(headers: IncomingHttpHeaders): Promise<void> | undefined;
  /** Answers what is not a route of a kind: documents. Throws 404 and 405. */
  other(request: ApiRequest): Answer | Promise<Answer>;
}

/** Facts about a request that passed the filters; they are known before its body is read. */
export interface Admitted {
  readonly root: ApiRoot;
  readonly started: number;
  readonly info: RequestInfo;
  readonly user: User | undefined;
  /** Version of the platform state at the time of authorization. */
  readonly version: number;
}

export interface Exchange {
  /** Undefined: the filters refused the request. */
  readonly admitted: Admitted | undefined;
  /** Undefined: the request is not recorded. */
  readonly audit: { readonly trail: AuditTrail; readonly part: AuditedPart } | undefined;
}

/** Name of the Fastify request decorator that holds the exchange. */
export const EXCHANGE = 'exchange';

/** Undefined on routes with access control of their own. */
export function exchangeOf(request: FastifyRequest): Exchange | undefined {
  return request.getDecorator<Exchange | undefined>(EXCHANGE);
}

/** Runs the filters and begins the audit record. Returns the refusal; `refusal` is one from before. */
export function beginExchange(
  deps: ServerDependencies,
  of: {
    root: ApiRoot;
    request: FastifyRequest;
    response: Parameters<ServerDependencies['fairness']['admit']>[2];
    refusal: Error | undefined;
  },
): Error | undefined {
  const { root, request, response } = of;
  let { refusal } = of;
  const found: Found = { root, info: undefined, user: undefined };
  let admitted: Admitted | undefined;
  try {
    admitted = { version: deps.store.resourceVersion, ...admit(root, request, found) };
    if (refusal === undefined) deps.fairness.admit(admitted, request.raw, response);
  } catch (error) {
    refusal ??= error instanceof Error ? error : new Error(String(error));
  }
  const { info, user } = found;
  const part = info === undefined ? undefined : { deps: found.root.deps, info };
  const trail = part && beginAudit(part.deps, { request, info: part.info, user });
  const audit = part && trail && { trail, part };
  request.setDecorator<Exchange>(EXCHANGE, { admitted, audit });
  return refusal;
}

/** Facts that the audit record needs even when a filter throws. */
interface Found {
  root: ApiRoot;
  info: RequestInfo | undefined;
  user: User | undefined;
}

function admit(root: ApiRoot, request: FastifyRequest, found: Found): Omit<Admitted, 'version'> {
  const { deps, hidden } = root;
  const { method, url } = request;
  const info = root.read(method, url);
  if (info === undefined) throw noSuchRoute();
  Object.assign(found, { root, info });
  const started = performance.now();
  if (root.isPublic(info)) {
    refuseWrongTimeout(info);
    // As in Kubernetes: a key is optional here, but one that does not work is refused.
    if (isApiDocument(info) && plainToken(request.headers) !== undefined) {
      authenticateRequest(deps, request, 'bearer');
    }
    return { root, started, info, user: undefined };
  }
  const user = authenticateRequest(deps, request, 'bearer');
  found.user = user;
  refuseImpersonation(request.headers, user);
  const attributes = attributesOf(info, deps.kinds);
  const decision = deps.authorizer.authorize(user, attributes);
  const isShown = decision.allowed && info.isResource;
  if (!isShown && hidden?.isFrom(user) === true) return admit(hidden.behind, request, found);
  if (!decision.allowed) throw forbidden(user, attributes, decision.reason);
  refuseWrongTimeout(info);
  refuseContentEncoding(request.headers);
  return { root, started, info, user };
}

/** True for documents of a Kubernetes API. Health and sign-in are not among them. */
function isApiDocument(info: RequestInfo): boolean {
  return info.belowRoot && API_DOCUMENT.test(info.path);
}

export function endExchange(request: FastifyRequest, answer: Answer, isFault: boolean): void {
  const exchange = exchangeOf(request);
  if (exchange === undefined) return;
  const { admitted, audit } = exchange;
  if (audit !== undefined) endAudit(audit.trail, audit.part, { request, answer, isFault });
  if (admitted !== undefined) measure(admitted, answer.code);
}

function measure({ root, info, started }: Admitted, code: number): void {
  const { deps } = root;
  // Paths are not labels: clients could make any number of them.
  const isKnown = info.isResource && deps.kinds.byPlural(info.group, info.resource) !== undefined;
  const resource = isKnown ? info.resource : 'other';
  deps.metrics.requests.observe(
    { verb: info.verb, resource, code },
    (performance.now() - started) / 1000,
  );
}

/** Audit records of requests and their answers. */
import type { FastifyRequest } from 'fastify';
import { isRecord, type User, withoutValues } from '../../apimachinery/index.ts';
import type {
  AuditedAnswer,
  AuditedBodies,
  AuditedRoute,
  AuditTrail,
  Impersonated,
  ObjectIdentity,
  RequestTarget,
} from '../../audit/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { RequestInfo, ResourceInfo } from '../input/request-info.ts';
import type { Answer } from '../output/answer.ts';
import { auditedBodies, identityIn, namedInBody, sentObject } from './audit-bodies.ts';
import { auditedObjects, encryptedValues } from './audited-encryption.ts';

/** User of requests without a valid key. */
const STRANGER: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** The parts of a request that are recorded. */
type Asked = Pick<FastifyRequest, 'id' | 'method' | 'url' | 'ip' | 'headers' | 'body'>;

/** Facts about a request at the beginning of its record. */
export interface Recorded {
  readonly request: Asked;
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

/** Undefined: the policy records nothing of the request. */
export function beginAudit(
  deps: ServerDependencies,
  { request, info, user = STRANGER }: Recorded,
): AuditTrail | undefined {
  if (!deps.audit.isOn) return undefined;
  const { headers, id, url } = request;
  // Unix sockets and closed connections have no address.
  const ip: string | undefined = request.ip;
  const trail = deps.audit.begin({
    id,
    user,
    route: routeOf(deps, info, url).route,
    sourceIP: ip ?? '',
    userAgent: headers['user-agent'],
    impersonated: impersonatedBy(headers),
    receivedAt: deps.clock.now(),
  });
  trail?.received();
  return trail;
}

interface Known {
  readonly route: AuditedRoute;
  readonly kind: Kind | undefined;
}

/** Memoized per request info, which requests with one URL share. */
const known = new WeakMap<RequestInfo, Known>();

function routeOf(deps: ServerDependencies, info: RequestInfo, url: string): Known {
  const found = known.get(info);
  if (found !== undefined) return found;
  const { path, verb } = info;
  const made = {
    route: { url, path, verb, ...targetOf(deps.root), ...resourceOf(deps, info) },
    kind: info.isResource ? kindOf(deps, info) : undefined,
  };
  known.set(info, made);
  return made;
}

/** Includes the kinds of client state: their Secrets must not be logged either. */
function kindOf({ kinds, clientState }: ServerDependencies, info: ResourceInfo): Kind | undefined {
  const { group, resource } = info;
  return kinds.byPlural(group, resource) ?? clientState.kinds.byPlural(group, resource);
}

/** The root of a cluster ends with `virtualcluster` or `cluster` and its name. */
function targetOf(root: string): { target: RequestTarget; cluster: string | undefined } {
  const match = /\/(cluster|virtualcluster)\/([^/]+)$/.exec(root);
  if (match === null) return { target: 'Management', cluster: undefined };
  const target = match[1] === 'cluster' ? 'Cluster' : 'VCluster';
  return { target, cluster: match[2] };
}

function resourceOf(
  deps: ServerDependencies,
  info: RequestInfo,
): Pick<AuditedRoute, 'resource' | 'apiVersion'> {
  if (!info.isResource) return { resource: undefined, apiVersion: '' };
  const { group, subresource, namespace, version } = info;
  const resource = kindOf(deps, info)?.plural ?? info.resource;
  const name = info.name || info.selectedName;
  return { resource: { group, resource, subresource, namespace, name }, apiVersion: version };
}

/** The user that the request asked to impersonate. Impersonation is always refused. */
function impersonatedBy(headers: Asked['headers']): Impersonated | undefined {
  const name = headers['impersonate-user'];
  const groups = headers['impersonate-group'];
  if (name === undefined && groups === undefined) return undefined;
  // Node joins repeated headers.
  return { username: String(name ?? ''), groups: groups === undefined ? [] : [String(groups)] };
}

/** Outcome of a request. */
export interface AuditedPart {
  readonly deps: ServerDependencies;
  readonly info: RequestInfo;
}

/** Ends a record. Bodies are read only if the policy records them. */
export function endAudit(
  trail: AuditTrail,
  { deps, info }: AuditedPart,
  of: {
    readonly request: Asked;
    readonly answer: Answer;
    /** True for a fault of the server: stage Panic. */
    readonly isFault: boolean;
  },
): void {
  const { answer, request, isFault } = of;
  const stage = isFault ? 'Panic' : 'ResponseComplete';
  const { code } = answer;
  const failure = code >= 400 ? failureOf({ deps, info }, answer, request) : NO_FAILURE;
  const { reason, message, annotations } = failure;
  const revision = answer.headers?.['gitplane-commit'];
  // Only bodies of objects have known secret paths.
  const hasBodies = info.isResource && info.subresource === '' && trail.level !== 'Metadata';
  const bodies = hasBodies ? bodiesOf(trail.level, { deps, info }, of) : undefined;
  const object = identityOf({ deps, info }, of);
  trail.ended({ code, reason, message, revision, bodies, annotations, object }, stage);
}

/**
 * Identity of the object of a create or an update: the stored object, or after a refusal the object in
 * the body. Undefined: only the URL is known.
 */
function identityOf(
  { deps, info }: AuditedPart,
  { request, answer }: { readonly request: Asked; readonly answer: Answer },
): (() => ObjectIdentity) | undefined {
  const { written, code } = answer;
  const { verb } = info;
  const isWrite = verb === 'create' || verb === 'update' || code === 201;
  if (!info.isResource || !isWrite) return undefined;
  if (written !== undefined) return () => identityIn(written);
  if (verb !== 'create' || info.subresource !== '') return undefined;
  const { kind } = routeOf(deps, info, request.url);
  const { method, body } = request;
  return () => namedInBody(kind, { method, body, type: request.headers['content-type'] });
}

/** Copies field by field: spreading costs more than the rest of a record. */
function bodiesOf(
  level: AuditTrail['level'],
  { deps, info }: { readonly deps: ServerDependencies; readonly info: ResourceInfo },
  { request, answer }: { readonly request: Asked; readonly answer: Answer },
): () => AuditedBodies {
  const { kind } = routeOf(deps, info, request.url);
  const { method, body } = request;
  const type = request.headers['content-type'];
  const answered = level === 'RequestResponse' ? answer : undefined;
  const of = auditedObjects(deps, info, kind);
  return () => auditedBodies(of, { method, body, type }, answered);
}

type Failure = Pick<AuditedAnswer, 'reason' | 'message' | 'annotations'>;

const NO_FAILURE: Failure = {};

function failureOf(part: AuditedPart, { body, code }: Answer, request: Asked): Failure {
  const status = parsed(body);
  if (!isRecord(status)) return {};
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  const message = text(status['message']);
  const reason = text(status['reason']);
  if (code !== 401) return { reason, message: message && shownMessage(part, request, message) };
  return { reason, ...unauthenticated(message, request.headers) };
}

/** The message without values that a file encrypts, or would: a refusal quotes fields of its body. */
function shownMessage({ deps, info }: AuditedPart, request: Asked, message: string): string {
  if (!info.isResource) return message;
  const { kind } = routeOf(deps, info, request.url);
  if (kind === undefined) return message;
  const { method, body, headers } = request;
  const sent = sentObject(kind, { method, body, type: typeOfBody(info, headers) });
  const object = isRecord(sent) ? identityIn(sent['metadata']) : {};
  const encrypted = auditedObjects(deps, info, kind).encryptedOf(object, sent);
  const { group, kind: name } = kind;
  const key = { group, kind: name, namespace: info.namespace, name: info.name };
  const stored = info.name === '' ? undefined : deps.store.get(key)?.object;
  return withoutValues(message, encryptedValues(encrypted, [stored, sent]));
}

/** The text of a manifest may come as plain text. */
function typeOfBody({ subresource }: ResourceInfo, headers: Asked['headers']): string | undefined {
  return subresource === 'source' ? 'application/yaml' : headers['content-type'];
}

/** Reason in the words of Kubernetes; our message is beside it. */
function unauthenticated(
  message = '',
  { authorization }: Asked['headers'],
): Pick<AuditedAnswer, 'message' | 'annotations'> {
  const scheme = /^(\w+) /.exec(authorization ?? '')?.[1]?.toLowerCase();
  const method = scheme === 'bearer' || scheme === 'basic' ? scheme : 'other';
  const tried = authorization === undefined ? 'no credentials provided' : `attempted: ${method}`;
  return {
    message: `Authentication failed, ${tried}`,
    annotations: { 'authentication-failure': message },
  };
}

function parsed(body: Answer['body']): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

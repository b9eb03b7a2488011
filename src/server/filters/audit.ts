/** What the audit log is told of a request, and of its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRecord, type User } from '../../apimachinery/index.ts';
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
import { auditedBodies, identityIn, namedInBody } from './audit-bodies.ts';

/** Who asks without a key that works. */
const STRANGER: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** What is told of a request. */
type Asked = Pick<FastifyRequest, 'id' | 'method' | 'url' | 'ip' | 'headers' | 'body'>;

/** What is known of a request when its record begins. */
export interface Recorded {
  readonly request: Asked;
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

/** Undefined: nothing of the request is recorded. */
export function beginAudit(
  deps: ServerDependencies,
  { request, info, user = STRANGER }: Recorded,
): AuditTrail | undefined {
  if (!deps.audit.isOn) return undefined;
  const { headers, id, url } = request;
  // There is none on the socket of the clusters' loops, nor when who asked has gone already.
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

/** Of each reading of a URL, which is the same for all requests with that URL. */
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

/** Secrets of clients are of a kind as well: their bodies are not for the log. */
function kindOf({ kinds, clientState }: ServerDependencies, info: ResourceInfo): Kind | undefined {
  const { group, resource } = info;
  return kinds.byPlural(group, resource) ?? clientState.kinds.byPlural(group, resource);
}

/** The root of a cluster that is served ends in its door and its name. */
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

/** Nobody may impersonate here; who was asked for is said of the refusal. */
function impersonatedBy(headers: Asked['headers']): Impersonated | undefined {
  const name = headers['impersonate-user'];
  const groups = headers['impersonate-group'];
  if (name === undefined && groups === undefined) return undefined;
  // Node joins what a header says more than once.
  return { username: String(name ?? ''), groups: groups === undefined ? [] : [String(groups)] };
}

/** What a request led to. */
export interface AuditedPart {
  readonly deps: ServerDependencies;
  readonly info: RequestInfo;
}

/** The end of a record. Bodies are read only where the policy wants them. */
export function endAudit(
  trail: AuditTrail,
  { deps, info }: AuditedPart,
  of: {
    readonly request: Asked;
    readonly answer: Answer;
    /** A fault of ours, which is no answer of the API. */
    readonly isFault: boolean;
  },
): void {
  const { answer, request, isFault } = of;
  const stage = isFault ? 'Panic' : 'ResponseComplete';
  const { code } = answer;
  const failure = code >= 400 ? failureOf(answer, request) : NO_FAILURE;
  const { reason, message, remarks } = failure;
  const revision = answer.headers?.['gitplane-commit'];
  // Of anything but objects nobody knows what in its bodies is secret.
  const hasBodies = info.isResource && info.subresource === '' && trail.level !== 'Metadata';
  const bodies = hasBodies ? bodiesOf(trail, { deps, info }, of) : undefined;
  const object = identityOf({ deps, info }, of);
  trail.ended({ code, reason, message, revision, bodies, remarks, object }, stage);
}

/**
 * The object of a create or an update: the one that it left, or where it was refused what the body names.
 * Undefined: the URL tells all that is known.
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

/** Written out: objects that are copied here cost more than all the rest of a record. */
function bodiesOf(
  { level }: AuditTrail,
  { deps, info }: AuditedPart,
  { request, answer }: { readonly request: Asked; readonly answer: Answer },
): () => AuditedBodies {
  const { kind } = routeOf(deps, info, request.url);
  const { method, body } = request;
  const type = request.headers['content-type'];
  const answered = level === 'RequestResponse' ? answer : undefined;
  return () => auditedBodies(kind, { method, body, type }, answered);
}

type Failure = Pick<AuditedAnswer, 'reason' | 'message' | 'remarks'>;

const NO_FAILURE: Failure = {};

function failureOf({ body, code }: Answer, { headers }: Asked): Failure {
  const status = parsed(body);
  if (!isRecord(status)) return {};
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  const said = { reason: text(status['reason']), message: text(status['message']) };
  return code === 401 ? { ...said, ...unauthenticated(said.message, headers) } : said;
}

/** In the words of Kubernetes; what we said to the client stands beside it. */
function unauthenticated(
  message = '',
  { authorization }: Asked['headers'],
): Pick<AuditedAnswer, 'message' | 'remarks'> {
  const scheme = /^(\w+) /.exec(authorization ?? '')?.[1]?.toLowerCase();
  const method = scheme === 'bearer' || scheme === 'basic' ? scheme : 'other';
  const tried = authorization === undefined ? 'no credentials provided' : `attempted: ${method}`;
  return {
    message: `Authentication failed, ${tried}`,
    remarks: { 'authentication-failure': message },
  };
}

function parsed(body: Answer['body']): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Of an answer that others write to the socket: a watch, a push. Where nobody ends it before. */
export function endAuditWithAnswer(trail: AuditTrail, reply: FastifyReply): void {
  reply.raw.once('close', () => trail.ended({ code: reply.raw.statusCode }));
}

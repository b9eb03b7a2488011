/**
 * Lines of the audit log: an `Event` of `audit.k8s.io/v1`, as JSON. They are put together from parts
 * that are made once for each user, client and URL, since most requests are made again and again.
 */
import { memoize, type User } from '../apimachinery/index.ts';
import type { AuditedRequest, AuditLevel, AuditStage } from './policy.ts';
import { redactedMessage, redactedUrl } from './redaction.ts';

/**
 * Target of a URL and a method. Equal requests share one object, so that texts derived from it are
 * memoized.
 */
export interface AuditedRoute extends Omit<AuditedRequest, 'user' | 'groups'> {
  readonly url: string;
  readonly apiVersion: string;
}

/** Facts of a request that are known before its response. */
export interface AuditedCall {
  /** Goes into the commit of a write as `Request-Id`. */
  readonly id: string;
  readonly user: User;
  readonly route: AuditedRoute;
  /** Empty: none is known. */
  readonly sourceIP: string;
  readonly userAgent: string | undefined;
  /** The impersonated user, if the request names one. */
  readonly impersonated: Impersonated | undefined;
  /** In milliseconds. */
  readonly receivedAt: number;
}

export interface Impersonated {
  readonly username: string;
  readonly groups: readonly string[];
}

/** Response to a request. */
export interface AuditedAnswer {
  readonly code: number;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** The commit that it made. */
  readonly revision?: string | undefined;
  /** Asked for once, a moment later: what it gives must not depend on when. */
  readonly bodies?: (() => AuditedBodies) | undefined;
  /** The object of a write, where the URL does not name all of it. Asked for as `bodies`. */
  readonly object?: (() => ObjectIdentity) | undefined;
  readonly annotations?: AuditAnnotations | undefined;
}

/** Completes the reference to an object. */
export type ObjectIdentity = Partial<Readonly<Record<'namespace' | 'name' | 'uid', string>>>;

/** By the last part of the name of the annotation. */
export type AuditAnnotations = Readonly<Record<string, string>>;

export interface AuditedBodies {
  /** As JSON, on one line. */
  readonly requestObject?: string | undefined;
  readonly responseObject?: Buffer | undefined;
  readonly annotations?: AuditAnnotations | undefined;
}

/** The line without its last brace, and what belongs in front of that. */
export interface EventParts {
  readonly text: string;
  readonly bytes: Buffer | undefined;
}

/** Data of one event. */
export interface Happening {
  readonly call: AuditedCall;
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  /** In milliseconds. */
  readonly now: number;
  readonly answer: AuditedAnswer | undefined;
}

export function eventParts({ call, level, stage, now, answer }: Happening): EventParts {
  const impersonated =
    call.impersonated === undefined
      ? ''
      : `,"impersonatedUser":${JSON.stringify(call.impersonated)}`;
  const begun = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${level}","auditID":"${call.id}","stage":"${stage}"${routeText(call.route, answer?.object?.())}${userText(call.user)}${impersonated}${clientText(call)},"requestReceivedTimestamp":"${received.text(call.receivedAt)}","stageTimestamp":"${noted.text(now)}"`;
  if (answer === undefined) return { text: begun, bytes: undefined };
  const { requestObject, responseObject, annotations } = answer.bodies?.() ?? NO_BODIES;
  const all =
    annotations === undefined
      ? answer
      : { ...answer, annotations: { ...answer.annotations, ...annotations } };
  const request = requestObject === undefined ? '' : `,"requestObject":${requestObject}`;
  const response = responseObject === undefined ? '' : ',"responseObject":';
  return {
    text: `${begun}${statusText(answer)}${annotationsText(call.user, all)}${request}${response}`,
    bytes: responseObject,
  };
}

const NO_BODIES: AuditedBodies = {};

const routes = new WeakMap<AuditedRoute, string>();

function routeText(route: AuditedRoute, object: ObjectIdentity | undefined): string {
  if (object !== undefined) return routeWith(route, object);
  const known = routes.get(route);
  if (known !== undefined) return known;
  const text = routeWith(route, {});
  routes.set(route, text);
  return text;
}

function routeWith(route: AuditedRoute, object: ObjectIdentity): string {
  const { url, verb } = route;
  const said = { requestURI: redactedUrl(url), verb, ...objectRef(route, object) };
  return `,${JSON.stringify(said).slice(1, -1)}`;
}

/** As in Kubernetes, the URL comes before the object. */
function objectRef({ resource, apiVersion }: AuditedRoute, object: ObjectIdentity): object {
  if (resource === undefined) return {};
  const { group, subresource } = resource;
  const namespace = resource.namespace || object.namespace;
  const name = resource.name || object.name;
  const given = { namespace, name, uid: object.uid, apiGroup: group, apiVersion, subresource };
  const filled = Object.entries(given).filter(([, value]) => value !== '' && value !== undefined);
  return { objectRef: { resource: resource.resource, ...Object.fromEntries(filled) } };
}

const users = new WeakMap<User, string>();

function userText(user: User): string {
  const known = users.get(user);
  if (known !== undefined) return known;
  const { name, groups, uid } = user;
  const said = { username: name, ...(uid === undefined ? {} : { uid }), groups };
  const text = `,"user":${JSON.stringify(said)}`;
  users.set(user, text);
  return text;
}

const MOST_CLIENTS = 1024;
const LONGEST_USER_AGENT = 1024;

const ipText = memoize(MOST_CLIENTS, (ip) =>
  ip === '' ? '' : `,"sourceIPs":[${JSON.stringify(ip)}]`,
);
const agentText = memoize(MOST_CLIENTS, (agent) => {
  const isLong = agent.length > LONGEST_USER_AGENT;
  const shown = isLong ? `${agent.slice(0, LONGEST_USER_AGENT)}...TRUNCATED` : agent;
  return `,"userAgent":${JSON.stringify(shown)}`;
});

function clientText({ sourceIP, userAgent }: AuditedCall): string {
  return userAgent === undefined ? ipText(sourceIP) : ipText(sourceIP) + agentText(userAgent);
}

function statusText({ code, reason, message }: AuditedAnswer): string {
  if (code < 400) return `,"responseStatus":{"metadata":{},"code":${code}}`;
  const shown = message === undefined ? undefined : redactedMessage(message);
  const said = { metadata: {}, status: 'Failure', reason, message: shown, code };
  return `,"responseStatus":${JSON.stringify(said)}`;
}

const keys = new WeakMap<User, string>();

/** Annotations of most responses: the request was allowed, and for which access key. */
function allowedText(user: User): string {
  const known = keys.get(user);
  if (known !== undefined) return known;
  const { accessKey } = user;
  const key =
    accessKey === undefined ? '' : `,"gitplane.dev/access-key":${JSON.stringify(accessKey)}`;
  const text = `"authorization.k8s.io/decision":"allow"${key}`;
  keys.set(user, text);
  return text;
}

function annotationsText(user: User, { code, revision, annotations }: AuditedAnswer): string {
  if (annotations === undefined && code !== 401 && code !== 403) {
    const made = revision === undefined ? '' : `,"gitplane.dev/revision":"${revision}"`;
    return `,"annotations":{${allowedText(user)}${made}}`;
  }
  const decision = code === 403 ? 'forbid' : 'allow';
  const own = { 'access-key': user.accessKey, revision, ...annotations };
  const said = {
    ...(code === 401 ? {} : { 'authorization.k8s.io/decision': decision }),
    ...Object.fromEntries(
      Object.entries(own).map(([name, text]) => [`gitplane.dev/${name}`, text]),
    ),
  };
  return `,"annotations":${JSON.stringify(said)}`;
}

/** RFC 3339 with six decimals, as Kubernetes' MicroTime. Many events share a millisecond. */
class Times {
  #time = Number.NaN;
  #text = '';

  text(milliseconds: number): string {
    if (milliseconds !== this.#time) {
      this.#time = milliseconds;
      this.#text = new Date(milliseconds).toISOString().replace('Z', '000Z');
    }
    return this.#text;
  }
}

const received = new Times();
const noted = new Times();

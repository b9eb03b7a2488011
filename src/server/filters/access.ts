/**
 * Access control before a body is read: authentication (401), then authorization (403). Existence
 * (404) comes after both, so that clients without rights learn nothing.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  type Attributes,
  forbiddenError,
  rightOnObject,
  type StatusError,
  tooManyRequests,
  type User,
  unauthorized,
} from '../../apimachinery/index.ts';
import { forbidden } from '../../auth/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { cookieName, isOwnRequest, isSameOrigin, readCookie } from '../../sign-in/index.ts';
import { spareConnection } from '../connection-room.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { RequestInfo } from '../input/request-info.ts';
import { BRANCHES_PATH, COMMITS_PATH, COMPARE_PATH, GIT_PATH, PLAN_PATH } from '../paths.ts';

const BEARER = /^bearer +(\S+) *$/i;
const BASIC = /^basic +([A-Za-z0-9+/=]+) *$/i;

/** Throws 401, and 429 after too many failures. `basic`: the key may be the password of basic authentication, as git sends it. */
export function authenticateRequest(
  deps: ServerDependencies,
  request: Signed,
  scheme: 'bearer' | 'basic',
): User {
  const token = tokenOf(request.headers.authorization, scheme) ?? sessionOf(deps, request, scheme);
  if (token === undefined) throw unauthorized();
  const result = deps.authenticate(token);
  if ('user' in result) {
    spareConnection(request.raw);
    return result.user;
  }
  const wait = deps.failedLogins.failed(request.ip);
  if (wait > 0) throw tooManyRequests('Too many failed attempts to sign in', wait);
  throw unauthorized(result.message);
}

/** Checks a long request again. Returns its user; undefined: it would not pass now. */
export function userNow(
  deps: ServerDependencies,
  { headers }: Pick<Signed, 'headers'>,
  attributes: Attributes,
): User | undefined {
  const token = shownKey(deps, headers);
  const result = token === undefined ? undefined : deps.authenticate(token);
  if (result === undefined || !('user' in result)) return undefined;
  const { user } = result;
  const { allowed } = deps.authorizer.authorize(user, attributes);
  return allowed ? user : undefined;
}

/** Key of a request: from the Authorization header or the session cookie. */
export function shownKey(deps: SessionSource, headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  return authorization === undefined ? sessionKey(deps, headers) : tokenOf(authorization, 'basic');
}

/** Bearer token of a request without impersonation headers. */
export function plainToken(headers: IncomingHttpHeaders): string | undefined {
  return wantsImpersonation(headers) ? undefined : tokenOf(headers.authorization, 'bearer');
}

/** The parts of a request that authentication reads. */
interface Signed {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  /** Address of the client. */
  readonly ip: string;
  readonly raw: IncomingMessage;
}

const SAFE_METHODS = ['GET', 'HEAD'];
const FOREIGN = ['cross-site', 'same-site'];

/**
 * Key in the session cookie, for requests without an Authorization header. Browsers also send the
 * cookie with requests of foreign pages, so that a write must prove its origin (CSRF). Throws 403.
 */
function sessionOf(
  deps: ServerDependencies,
  { headers, method }: Signed,
  scheme: 'bearer' | 'basic',
): string | undefined {
  if (scheme !== 'bearer' || headers.cookie === undefined) return undefined;
  if (headers.authorization !== undefined) return undefined;
  const key = sessionKey(deps, headers);
  if (key === undefined) return undefined;
  const { origin } = new URL(deps.signIn.baseUrl);
  if (SAFE_METHODS.includes(method)) return isForeignRead(headers, origin) ? undefined : key;
  if (!isOwnRequest(headers, key, origin)) throw forbiddenError(CSRF);
  return key;
}

/** Another site can make the browser read with its cookies: by a link, an image, a script. */
function isForeignRead(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined
    ? isSameOrigin(headers, ownOrigin) === false
    : FOREIGN.includes(String(site));
}

const CSRF =
  'a change with the session of a browser needs a request from the same origin, and the header x-csrf-token as /auth/session tells it';

/** The base URL determines the name of the session cookie. */
interface SessionSource {
  readonly signIn: { readonly baseUrl: string };
}

function sessionKey(deps: SessionSource, headers: IncomingHttpHeaders): string | undefined {
  if (headers.cookie === undefined) return undefined;
  return readCookie(headers.cookie, cookieName('session', deps.signIn.baseUrl));
}

function tokenOf(header: string | undefined, scheme: 'bearer' | 'basic'): string | undefined {
  if (header === undefined) return undefined;
  const bearer = BEARER.exec(header)?.[1];
  if (bearer !== undefined || scheme === 'bearer') return bearer;
  const encoded = BASIC.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : text.slice(colon + 1);
}

/** Attributes for authorization. An alias of a plural counts as the plural. */
export function attributesOf(info: RequestInfo, kinds: KindTable): Attributes {
  // A plan reveals the same as a clone.
  if (info.path === PLAN_PATH && info.verb === 'post') return { verb: 'get', path: GIT_PATH };
  const showsCommits = [BRANCHES_PATH, COMMITS_PATH, COMPARE_PATH].includes(info.path);
  if (showsCommits && !info.isResource) return { verb: info.verb, path: GIT_PATH };
  if (!info.isResource) return { verb: info.verb, path: info.path };
  const { verb, group, subresource, namespace } = info;
  const resource = kinds.byPlural(group, info.resource)?.plural ?? info.resource;
  const name = info.name || info.selectedName;
  // The further rights of a rollback depend on the object.
  if (rightOnObject(subresource, verb) !== undefined) {
    return { verb: 'get', group, resource, namespace, name };
  }
  return { verb, group, resource, subresource, namespace, name };
}

/** Throws 403 in the words of Kubernetes. */
export function authorizeRequest(
  deps: ServerDependencies,
  user: User,
  attributes: Attributes,
): void {
  const decision = deps.authorizer.authorize(user, attributes);
  if (!decision.allowed) throw forbidden(user, attributes, decision.reason);
}

/** Impersonation is not supported. Ignoring its headers would act as the wrong user. */
export function refuseImpersonation(headers: Readonly<Record<string, unknown>>, user: User): void {
  if (wantsImpersonation(headers)) throw noImpersonation(headers, user);
}

function wantsImpersonation(headers: Readonly<Record<string, unknown>>): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

function noImpersonation(headers: Readonly<Record<string, unknown>>, user: User): StatusError {
  return forbiddenError(
    `users "${String(headers['impersonate-user'] ?? '')}" is forbidden: User ${JSON.stringify(user.name)} cannot impersonate resource "users" in API group "" at the cluster scope`,
  );
}

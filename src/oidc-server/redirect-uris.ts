/**
 * Redirect URIs of clients (spec section 2.8.8). A URI that is not identical to a configured one is
 * compared part by part, and only if all URL parsers read it in the same way.
 */
import type { OidcClientConfig } from './client-config.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export function allowsRedirect(client: OidcClientConfig, uri: string, wildcards: boolean): boolean {
  const { redirectURIs = [] } = client;
  if (redirectURIs.some((own) => own === uri && !own.includes('*'))) return true;
  const url = plainUrl(uri);
  if (url === undefined) return false;
  if (isPublic(client) && isLoopback(url)) {
    // RFC 8252, section 7.3: native programs listen on any port.
    return redirectURIs.length === 0 || redirectURIs.some((own) => isSameButPort(own, url));
  }
  return wildcards && redirectURIs.some((own) => own.includes('*') && fits(own, url));
}

/** True if a sign-out may redirect to the URI: it must be a page of the client. */
export function allowsAfterLogout(
  client: OidcClientConfig,
  uri: string,
  wildcards: boolean,
): boolean {
  const url = plainUrl(uri);
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false;
  return allowsOrigin(client, url.origin, wildcards);
}

/** True if pages of the origin belong to the client, judged by its redirect URIs. */
export function allowsOrigin(
  client: OidcClientConfig,
  origin: string,
  wildcards: boolean,
): boolean {
  const url = plainUrl(`${origin}/`);
  if (url === undefined || url.origin !== origin) return false;
  const { redirectURIs = [] } = client;
  if (isPublic(client) && isLoopback(url)) {
    return redirectURIs.length === 0 || redirectURIs.some((own) => isSameHost(own, url));
  }
  return redirectURIs.some((own) => {
    if (own.includes('*') && !wildcards) return false;
    const [scheme = '', , authority = ''] = own.split('/');
    return /^https?:$/.test(scheme) && fits(`${scheme}//${authority}/`, url);
  });
}

export function isPublic({ clientSecret }: OidcClientConfig): boolean {
  return clientSecret === undefined;
}

/**
 * Undefined if URL parsers could disagree: user names, fragments, dots in the path, escapes of separators,
 * backslashes, control characters, upper case in the host.
 */
function plainUrl(uri: string): URL | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  const isSame = url.href === uri || url.href === `${uri}/`;
  const isBare = url.username === '' && url.password === '' && !uri.includes('#');
  return isSame && isBare && !/[@\\]|%(2f|5c|00|2e)/i.test(uri) ? url : undefined;
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && LOOPBACK.has(hostname);
}

function isSameButPort(own: string, url: URL): boolean {
  return isSameHost(own, url) && new URL(own).pathname === url.pathname && hasQueryOf(own, url);
}

function isSameHost(own: string, url: URL): boolean {
  if (own.includes('*') || !URL.canParse(own)) return false;
  const { protocol, hostname } = new URL(own);
  return protocol === url.protocol && hostname === url.hostname;
}

function hasQueryOf(own: string, url: URL): boolean {
  return new URL(own).search === url.search;
}

/** `*` matches one label of the host or one segment of the path. */
function fits(pattern: string, url: URL): boolean {
  const match = /^(https?:)\/\/([^/?]+)([^?]*)(\?.*)?$/.exec(pattern);
  if (match === null) return false;
  const [, scheme, authority = '', path = '', query = ''] = match;
  const [host = '', port = ''] = authority.split(/:(?=\d+$)/);
  const hasPort = port === url.port || (url.port === '' && port === DEFAULT_PORTS[url.protocol]);
  return (
    scheme === url.protocol &&
    hasPort &&
    fitsParts(host.split('.'), url.hostname.split('.')) &&
    fitsParts((path === '' ? '/' : path).split('/'), url.pathname.split('/')) &&
    query === url.search
  );
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

function fitsParts(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((own, index) => (own === '*' ? parts[index] !== '' : own === parts[index]))
  );
}

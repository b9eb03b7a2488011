/** Rules for clients of the built-in OpenID provider (spec section 2.8.8, `oidc`). */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  invalidSecret,
  required,
} from '../../apimachinery/index.ts';
import { namedVariable } from './environment-references.ts';

interface OidcClient {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly redirectURIs?: readonly string[];
}

export interface OidcServerConfig {
  readonly wildcardRedirect?: boolean;
  readonly clients?: readonly OidcClient[];
}

export function oidcServerProblems(oidc: OidcServerConfig, path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return (oidc.clients ?? []).flatMap((client, index) => {
    const at = [...path, 'clients', index];
    const { clientId: id = '' } = client;
    const isTaken = seen.has(id);
    seen.add(id);
    return [
      ...(isTaken && id !== '' ? [duplicate([...at, 'clientId'], id)] : idProblems(id, at)),
      ...secretProblems(client, at),
      ...uriProblems(client, oidc.wildcardRedirect === true, at),
    ];
  });
}

/** Warnings about settings that work but are likely a mistake. */
export function oidcServerWarnings({ clients = [] }: OidcServerConfig): string[] {
  return clients.flatMap(({ clientSecret = '', redirectURIs = [] }, index) => {
    const at = `oidc.clients[${index}]`;
    const isShort = clientSecret !== '' && clientSecret.length < SHORTEST_SECRET;
    const short =
      isShort && namedVariable(clientSecret) === undefined
        ? [`${at}.clientSecret can be guessed; use ${SHORTEST_SECRET} random characters or more`]
        : [];
    const plain = redirectURIs.flatMap((uri, position) =>
      isPlainHttp(uri)
        ? [`${at}.redirectURIs[${position}] sends people's codes over plain HTTP`]
        : [],
    );
    return [...short, ...plain];
  });
}

const SHORTEST_SECRET = 16;

/** Visible ASCII: the alphabet of client ids and secrets in RFC 6749 (appendix A). */
const PRINTABLE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

function idProblems(id: string, at: FieldPath): FieldError[] {
  if (id === '') return [required([...at, 'clientId'])];
  return PRINTABLE.test(id)
    ? []
    : [invalid([...at, 'clientId'], id, 'must consist of ASCII characters (RFC 6749)')];
}

function secretProblems(
  { clientSecret, redirectURIs = [] }: OidcClient,
  at: FieldPath,
): FieldError[] {
  if (clientSecret === undefined) return [];
  const path = [...at, 'clientSecret'];
  if (clientSecret === '') {
    return [required(path, 'must not be empty; leave the field out for a public client')];
  }
  const errors = PRINTABLE.test(clientSecret)
    ? []
    : [invalidSecret(path, 'must consist of ASCII characters (RFC 6749)')];
  if (redirectURIs.length === 0) {
    const detail = 'a client with a secret needs at least one; only public clients need none';
    errors.push(required([...at, 'redirectURIs'], detail));
  }
  return errors;
}

function uriProblems(
  { redirectURIs = [] }: OidcClient,
  wildcards: boolean,
  at: FieldPath,
): FieldError[] {
  return redirectURIs.flatMap((uri, position) => {
    const path = [...at, 'redirectURIs', position];
    // The message does not repeat the URI: it may hold a password.
    if (uri.includes('@'))
      return [invalidSecret(path, 'must not hold "@", a user name or password')];
    const problem = redirectUriProblem(uri, wildcards);
    return problem === undefined ? [] : [invalid(path, uri, problem)];
  });
}

/** Schemes that would run in the page, or that have no host to send a code to. */
const FORBIDDEN_SCHEMES = new Set([
  'javascript:',
  'vbscript:',
  'data:',
  'blob:',
  'file:',
  'about:',
]);

function redirectUriProblem(uri: string, wildcards: boolean): string | undefined {
  if (uri.includes('*') && !wildcards) return 'may have "*" only where wildcardRedirect is true';
  if (/[\s\\#]/.test(uri)) return 'must have no spaces, no backslash and no fragment';
  const text = uri.replaceAll('*', STAND_IN);
  if (!URL.canParse(text))
    return 'must be an absolute URI, as in "https://app.example.com/callback"';
  const url = new URL(text);
  if (FORBIDDEN_SCHEMES.has(url.protocol)) return `must not have the scheme ${url.protocol}`;
  return uri.includes('*') ? wildcardProblem(uri, url) : undefined;
}

/** Stands for `*` while the URI is parsed. */
const STAND_IN = 'gitplane-any';
const FEWEST_FIXED_LABELS = 2;

/** `*` is one label of the host or one segment of the path. The last two labels are fixed. */
function wildcardProblem(uri: string, url: URL): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return 'may have "*" only in https:// and http:// URIs';
  }
  const labels = url.hostname.split('.');
  const segments = url.pathname.split('/');
  const whole = [...labels, ...segments].filter((part) => part === STAND_IN).length;
  if (whole !== uri.split('*').length - 1) {
    return '"*" must be a whole label of the host or a whole segment of the path';
  }
  const last = labels.lastIndexOf(STAND_IN);
  return last >= 0 && labels.length - 1 - last < FEWEST_FIXED_LABELS
    ? 'must have two labels behind a "*" in the host, as in "https://*.example.com/callback"'
    : undefined;
}

function isPlainHttp(uri: string): boolean {
  const text = uri.replaceAll('*', STAND_IN);
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

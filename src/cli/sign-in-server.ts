/** Requests of the command-line sign-in to a platform. */
import { readFile } from 'node:fs/promises';
import { isRecord } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { AnswerError, getJson } from './https-client.ts';

export interface SignInServer {
  /** `https://platform.example.com`. */
  readonly url: string;
  readonly caPem: string | undefined;
  readonly insecure: boolean;
}

/** A key that the platform made for this login. */
export interface GivenKey {
  readonly accessKey: string;
  readonly user: string;
  readonly apiRoot: string;
  readonly expirationTimestamp?: string | undefined;
}

/** User of a key. */
export interface KeyHolder extends GivenKey {
  readonly groups: readonly string[];
  /** Name of the access key. */
  readonly name: string;
}

export async function signInServer(options: ParsedOptions, url: string): Promise<SignInServer> {
  const caFile = options.text('ca-file');
  const insecure = options.isOn('insecure');
  if (caFile !== undefined && insecure) {
    throw new UsageError('Give --ca-file, or --insecure, and not both');
  }
  return {
    url: serverUrl(url),
    caPem: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    insecure,
  };
}

/** kubectl sends keys over TLS and nothing else; neither does this. */
export function serverUrl(text: string): string {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`Cannot use the server "${text}": write https://HOST[:PORT]`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

export async function ask(
  server: SignInServer,
  path: string,
  of: { readonly method: string; readonly body: unknown },
): Promise<Record<string, unknown>> {
  const { url, caPem: ca, insecure } = server;
  try {
    const answer = await getJson(`${url}${path}`, { ...of, ca, insecure });
    return isRecord(answer) ? answer : {};
  } catch (error) {
    throw isMistrust(error) ? untrusted(url, error) : error;
  }
}

export function givenKey(answer: Record<string, unknown>): GivenKey {
  const { accessKey, user, apiRoot, expirationTimestamp: end } = answer;
  if (typeof accessKey !== 'string' || typeof user !== 'string' || typeof apiRoot !== 'string') {
    throw new Error('The platform answered without a key');
  }
  return {
    accessKey,
    user,
    apiRoot,
    ...(typeof end === 'string' ? { expirationTimestamp: end } : {}),
  };
}

/** Throws AnswerError 401 for a key that does not work. */
export async function keyHolder(server: SignInServer, accessKey: string): Promise<KeyHolder> {
  const answer = await ask(server, '/auth/token', { method: 'POST', body: { key: accessKey } });
  const { groups, accessKey: name } = answer;
  return {
    ...givenKey({ ...answer, accessKey }),
    groups: Array.isArray(groups) ? groups.map(String) : [],
    name: String(name ?? ''),
  };
}

/** Ends a key that the platform made for a login; one that had ended before is as good. */
export async function endKey(server: SignInServer, accessKey: string): Promise<void> {
  try {
    await ask(server, '/auth/revoke', { method: 'POST', body: { key: accessKey } });
  } catch (error) {
    if (!(error instanceof AnswerError && error.code === 401)) throw error;
  }
}

const MISTRUST = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function isMistrust(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isRecord(cause) || cause instanceof Error
    ? MISTRUST.has(String((cause as { code?: unknown }).code))
    : false;
}

function untrusted(url: string, cause: unknown): Error {
  const remedy =
    'give its authority with --ca-file FILE (tls/ca.crt in the data directory of a daemon that made its own)';
  return new Error(`The certificate of ${url} has no trusted issuer: ${remedy}`, {
    cause,
  });
}

/**
 * Groups of a Workspace directory, read by a service account in the name of an administrator
 * (RFC 7523). The token endpoint is a constant: a file could name any other.
 */
import { readFileSync } from 'node:fs';
import { importPKCS8, SignJWT } from 'jose';
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { jsonApi, pagesFrom } from './json-api.ts';
import {
  type ProviderAnswer,
  readAnswer,
  recordOf,
  recordsOf,
  textOf,
} from './provider-responses.ts';

const TOKEN_URL = 'https://oauth2.googleapis.com/token';
const BASE = 'https://admin.googleapis.com';
const SCOPE = 'https://www.googleapis.com/auth/admin.directory.group.readonly';
const LIFE_SECONDS = 3600;
const MARGIN_MS = 60_000;

export interface DirectoryOptions {
  /** Of the service account's JSON file. */
  readonly path: string;
  readonly adminEmail: string;
  readonly http: ProviderHttp;
  readonly clock: { now(): number };
}

/** Addresses of the direct groups of an address. Throws SignInError, never final: failures are not about the user. */
export type DirectoryGroups = (email: string, signal: AbortSignal) => Promise<string[]>;

export function directoryGroups(options: DirectoryOptions): DirectoryGroups {
  let token = { text: '', endsAt: 0 };
  return async (email, signal) => {
    if (token.endsAt - MARGIN_MS <= options.clock.now()) token = await newToken(options, signal);
    const { http } = options;
    const api = jsonApi({ http, base: BASE, token: token.text, signal });
    try {
      return await groupsOf(email, api);
    } catch (error) {
      token = { text: '', endsAt: 0 };
      throw error;
    }
  };
}

async function groupsOf(email: string, api: ReturnType<typeof jsonApi>): Promise<string[]> {
  const place = `/admin/directory/v1/groups?maxResults=200&userKey=${encodeURIComponent(email)}`;
  const groups: string[] = [];
  const nextOf = (answer: ProviderAnswer): string | undefined => {
    const next = textOf(recordOf(answer)['nextPageToken']);
    return next && `${place}&pageToken=${encodeURIComponent(next)}`;
  };
  const first = await api.get(place);
  // An address unknown to the directory has no groups.
  if (first.status === 404) return [];
  if (first.status === 401 || first.status === 403) {
    throw refused(
      `the directory answers ${first.status}; does the service account have the scope?`,
    );
  }
  for await (const page of pagesFrom(api, first, nextOf)) {
    // The list is absent without groups.
    if (recordOf(page)['groups'] === undefined) continue;
    groups.push(...recordsOf(page, 'groups').flatMap((group) => textOf(group['email']) ?? []));
  }
  return groups;
}

async function newToken(
  { path, adminEmail, http, clock }: DirectoryOptions,
  signal: AbortSignal,
): Promise<{ text: string; endsAt: number }> {
  const now = Math.floor(clock.now() / 1000);
  const response = await http.fetch(TOKEN_URL, {
    method: 'POST',
    signal,
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await assertion(path, { adminEmail, now }),
    }),
  });
  const answer = await readAnswer(TOKEN_URL, response);
  const body = isRecord(answer.body) ? answer.body : {};
  const text = textOf(body['access_token']);
  if (answer.status !== 200 || text === undefined) {
    const word = String(body['error'] ?? answer.status);
    throw refused(`no token: ${/^[a-z0-9_]{1,64}$/.test(word) ? word : 'an error'}`);
  }
  const life = Number(body['expires_in'] ?? LIFE_SECONDS);
  return { text, endsAt: clock.now() + (Number.isFinite(life) ? life : 0) * 1000 };
}

async function assertion(
  path: string,
  { adminEmail, now }: { adminEmail: string; now: number },
): Promise<string> {
  const account = accountIn(path);
  const key = await importPKCS8(account.key, 'RS256').catch(() => undefined);
  if (key === undefined) throw refused(`${path} has no RSA key that can be read`);
  return new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...account.header })
    .setIssuer(account.email)
    .setSubject(adminEmail)
    .setAudience(TOKEN_URL)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFE_SECONDS)
    .sign(key);
}

interface ServiceAccount {
  readonly email: string;
  readonly key: string;
  readonly header: { readonly kid?: string };
}

function accountIn(path: string): ServiceAccount {
  const account = jsonIn(path);
  if (account === undefined) throw refused(`${path} cannot be read, or is not JSON`);
  const fields = isRecord(account) ? account : {};
  const email = textOf(fields['client_email']);
  const key = textOf(fields['private_key']);
  const kid = textOf(fields['private_key_id']);
  if (email === undefined || key === undefined) {
    throw refused(`${path} has no client_email and private_key of a service account`);
  }
  return { email, key, header: kid === undefined ? {} : { kid } };
}

/** Errors of the parser quote their input, so they are not passed on. */
function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function refused(why: string): SignInError {
  return new SignInError(`groups cannot be read with the service account: ${why}`, {
    reason: 'directory-refused',
    code: 502,
  });
}

/**
 * JSON API of a provider with a bearer token. The token is sent only to the origin of the API: not after a
 * redirect, and not to a next page on another origin.
 */
import type { ProviderHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { busy, type ProviderAnswer, readAnswer } from './provider-responses.ts';

export interface JsonApi {
  /** `place`: path below the base, or a whole URL of the same origin. */
  get(place: string): Promise<ProviderAnswer>;
  post(place: string, body: unknown): Promise<ProviderAnswer>;
}

export interface JsonApiOptions {
  readonly http: ProviderHttp;
  /** Without a trailing slash. */
  readonly base: string;
  readonly token: string;
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if a response asks for fewer requests; 429 always does. */
  readonly isBusy?: (answer: ProviderAnswer) => boolean;
}

export function jsonApi(options: JsonApiOptions): JsonApi {
  return {
    get: (place) => ask(options, { method: 'GET', place }),
    post: (place, body) => ask(options, { method: 'POST', place, body: JSON.stringify(body) }),
  };
}

async function ask(
  { http, base, token, signal, headers, isBusy }: JsonApiOptions,
  { method, place, body }: { method: string; place: string; body?: string },
): Promise<ProviderAnswer> {
  const url = placeIn(base, place);
  const response = await http.fetch(url, {
    method,
    signal,
    headers: {
      accept: 'application/json',
      'user-agent': 'gitplane',
      ...headers,
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const answer = await readAnswer(url, response);
  if (isBusy?.(answer) === true) throw busy(new URL(url).origin);
  return answer;
}

function placeIn(base: string, place: string): string {
  const url = new URL(place.startsWith('/') ? base + place : place);
  const isThere = url.origin === new URL(base).origin && url.username === '' && url.password === '';
  if (isThere) return url.href;
  throw new SignInError(
    `${new URL(base).origin} leads to ${url.origin}, to which no request is sent`,
    {
      reason: 'foreign-link',
      code: 502,
    },
  );
}

/** Limit of pages, far above any real list; stops a provider that returns pages endlessly. */
const MOST_PAGES = 100;
/** Characters of all pages: some 4,000 teams with their descriptions. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** A response and its next pages; `nextOf` finds the link, which may be relative. */
export async function* pagesFrom(
  api: JsonApi,
  first: ProviderAnswer | Promise<ProviderAnswer>,
  nextOf: (answer: ProviderAnswer) => string | undefined,
): AsyncGenerator<ProviderAnswer> {
  let answer = await first;
  let characters = 0;
  for (let page = 1; page <= MOST_PAGES; page++) {
    characters += answer.length;
    if (characters > MOST_CHARACTERS) break;
    yield answer;
    const link = nextOf(answer);
    if (link === undefined) return;
    if (!URL.canParse(link, answer.url)) break;
    answer = await api.get(new URL(link, answer.url).href);
  }
  const { origin } = new URL(answer.url);
  const message = `${origin} gives no end of pages`;
  throw new SignInError(message, { reason: 'endless-pages', code: 502 });
}

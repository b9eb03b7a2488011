/** Interpretation of provider responses for sign-in. */
import { isRecord } from '../../apimachinery/index.ts';
import { SignInError } from '../sign-in-error.ts';
import { TOKEN_REFUSED } from './tokens.ts';

export interface ProviderAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** Characters of the body. */
  readonly length: number;
  /** Parsed JSON; undefined: there is none. */
  readonly body: unknown;
}

/** Reads a response. Throws SignInError for redirects, overload and faults. */
export async function readAnswer(url: string, response: Response): Promise<ProviderAnswer> {
  const { origin } = new URL(url);
  const { status, headers } = response;
  if (status === 429) throw busy(origin);
  if (status >= 500) {
    throw new SignInError(`${origin} answers ${status}`, { reason: 'provider-failed', code: 502 });
  }
  const text = await response.text();
  return { url, status, headers, length: text.length, body: parsed(text) };
}

export function busy(origin: string): SignInError {
  return new SignInError(`${origin} asks for fewer requests`, {
    reason: 'provider-busy',
    code: 503,
  });
}

/** Body of a response with status 200. Throws SignInError for any other status. */
export function bodyOf({ url, status, body }: ProviderAnswer): unknown {
  const { origin } = new URL(url);
  if (status === 200 && body !== undefined) return body;
  if (status === 401) {
    const message = `${origin} does not accept the access token`;
    throw new SignInError(message, { reason: TOKEN_REFUSED, code: 502, isFinal: true });
  }
  if (status === 403) {
    throw new SignInError(`${origin} forbids what was asked`, {
      reason: 'provider-forbids',
      code: 403,
    });
  }
  throw unexpected(url, status === 200 ? 'no JSON' : `status ${status}`);
}

/** `what` contains no value. */
export function unexpected(url: string, what: string): SignInError {
  const { origin, pathname } = new URL(url);
  const message = `${origin}${pathname} gave an answer that was not expected: ${what}`;
  return new SignInError(message, { reason: 'unexpected-answer', code: 502 });
}

/** A record, or SignInError. */
export function recordOf(answer: ProviderAnswer): Record<string, unknown> {
  const body = bodyOf(answer);
  if (!isRecord(body)) throw unexpected(answer.url, 'no JSON object');
  return body;
}

/** Records of a list, which is the body or one of its fields. Throws SignInError if there is no list. */
export function recordsOf(answer: ProviderAnswer, field?: string): Record<string, unknown>[] {
  const list = field === undefined ? bodyOf(answer) : recordOf(answer)[field];
  if (!Array.isArray(list)) throw unexpected(answer.url, 'no list');
  return list.filter(isRecord);
}

/** A text that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Numeric account id. Throws SignInError: nobody is admitted without an id. */
export function numericId(answer: ProviderAnswer): string {
  const { id } = recordOf(answer);
  if (!Number.isSafeInteger(id) || Number(id) <= 0) throw unexpected(answer.url, 'no numeric id');
  return String(id);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

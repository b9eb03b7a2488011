/** Bodies of the routes below `/auth`: forms and JSON. */
import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../apimachinery/index.ts';
import { SignInError } from '../../sign-in/index.ts';
import { mediaTypeOf } from '../input/body.ts';

const MOST_FIELDS = 32;
const MEDIA_FORM = 'application/x-www-form-urlencoded';

/** Throws SignInError for a body that is not a form, or has a field twice. */
export function readForm(request: FastifyRequest): URLSearchParams {
  if (mediaTypeOf(request.headers['content-type']) !== MEDIA_FORM) throw unreadable(415);
  const form = new URLSearchParams(textOf(request));
  const names = [...form.keys()];
  if (names.length > MOST_FIELDS || new Set(names).size < names.length) throw unreadable(400);
  return form;
}

/** Text fields of a form or of a JSON object. Throws SignInError for anything else. */
export function readFields(request: FastifyRequest): ReadonlyMap<string, string> {
  if (mediaTypeOf(request.headers['content-type']) !== 'application/json') {
    return new Map(readForm(request));
  }
  const value = parsed(textOf(request));
  if (!isRecord(value)) throw unreadable(400);
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return new Map(texts);
}

function textOf({ body }: FastifyRequest): string {
  return Buffer.isBuffer(body) ? body.toString('utf8') : '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreadable(code: number): SignInError {
  return new SignInError('the body of the request cannot be read', { reason: 'bad-body', code });
}

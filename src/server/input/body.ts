/**
 * Bodies of requests: accepted media types, limits of size and depth, and parsing into JSON values.
 * Others judge the values.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import {
  badRequest,
  tooLarge,
  unsupportedContentEncoding,
  unsupportedMediaType,
} from '../../apimachinery/index.ts';
import { JSON_TYPE, YAML_TYPE } from '../output/negotiation.ts';
import { type DecodedText, decodeJson } from './json-input.ts';
import { decodeYaml } from './yaml-input.ts';

export type BodyFormat = 'json' | 'yaml';

export const DEFAULT_MAX_BODY_BYTES = 3 * 1024 * 1024;
/** Objects of every kind are far flatter; recursion over a value this deep is harmless. */
export const MAX_DEPTH = 100;

const FORMATS: Readonly<Record<string, BodyFormat>> = { [JSON_TYPE]: 'json', [YAML_TYPE]: 'yaml' };
/** Media types of bodies of POST, PUT and DELETE. */
export const BODY_TYPES = Object.keys(FORMATS);

/** The media type alone, in lower case; empty when the header is missing. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** For POST, PUT and DELETE. A missing Content-Type is JSON (kubectl --raw sends none). */
export function bodyFormatOf(contentType: string | undefined): BodyFormat {
  const mediaType = mediaTypeOf(contentType);
  const format = mediaType === '' ? 'json' : FORMATS[mediaType];
  if (format === undefined) throw unsupportedMediaType(BODY_TYPES);
  return format;
}

/** Throws 415 for a body that is compressed: an unpacked one could be of any size. */
export function refuseContentEncoding(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || /^(identity)?$/i.test(encoding)) return;
  const { 'content-length': length = '0', 'transfer-encoding': transfer } = headers;
  if (length !== '0' || transfer !== undefined) throw unsupportedContentEncoding(encoding);
}

/**
 * Throws 413 for too many bytes and 400, with line and column, for what does not parse. The value
 * shares nothing with itself or others, so the caller may change it.
 */
export function decodeBody(
  body: Uint8Array,
  format: BodyFormat,
  maxBytes: number = DEFAULT_MAX_BODY_BYTES,
): DecodedText {
  if (body.byteLength > maxBytes) throw tooLarge(maxBytes);
  const text = textOf(body);
  if (text.trim() === '') throw badRequest('the request has no body');
  return format === 'json' ? decodeJson(text, MAX_DEPTH) : decodeYaml(text);
}

/** Drops a byte order mark. */
function textOf(body: Uint8Array): string {
  if (!isUtf8(body)) throw badRequest('the body is not valid UTF-8');
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

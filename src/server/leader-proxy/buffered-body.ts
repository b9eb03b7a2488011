/** Buffered bodies of requests that may be sent again. */
import type { IncomingMessage } from 'node:http';
import { tooLarge } from '../../apimachinery/index.ts';
import { type BodyCounter, isChunked } from '../filters/overload-limits.ts';
import { DEFAULT_MAX_BODY_BYTES } from '../input/body.ts';

/**
 * Throws 413 above the body limit of the API, and the error of `count` for bytes without
 * Content-Length. The request stays open then, for the answer.
 */
export async function bufferedBody(request: IncomingMessage, count: BodyCounter): Promise<Buffer> {
  const tooMuch = tooLarge(DEFAULT_MAX_BODY_BYTES);
  if (Number(request.headers['content-length'] ?? 0) > DEFAULT_MAX_BODY_BYTES) throw tooMuch;
  const isCounted = isChunked(request.headers);
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    parts.push(part);
    length += part.length;
    if (length > DEFAULT_MAX_BODY_BYTES) throw tooMuch;
    if (isCounted) count(part.length);
  }
  return Buffer.concat(parts);
}

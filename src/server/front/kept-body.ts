/** Bodies of requests that may have to be sent twice. */
import type { IncomingMessage } from 'node:http';
import { tooLarge } from '../../apimachinery/status-error.ts';
import { DEFAULT_MAX_BODY_BYTES } from '../input/body.ts';

/** Throws 413 for one that is larger than any that the API takes; the rest of it was not read. */
export async function keptBody(request: IncomingMessage): Promise<Buffer> {
  const tooMuch = tooLarge(DEFAULT_MAX_BODY_BYTES);
  if (Number(request.headers['content-length'] ?? 0) > DEFAULT_MAX_BODY_BYTES) throw tooMuch;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > DEFAULT_MAX_BODY_BYTES) throw tooMuch;
  }
  return Buffer.concat(parts);
}

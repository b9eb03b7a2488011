/** Bodies of requests that may have to be sent twice. */
import type { IncomingMessage } from 'node:http';
import { DEFAULT_MAX_BODY_BYTES } from '../input/body.ts';

/** Undefined: it is larger than any that the API takes, and the rest of it was not read. */
export async function keptBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > DEFAULT_MAX_BODY_BYTES) return undefined;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > DEFAULT_MAX_BODY_BYTES) return undefined;
  }
  return Buffer.concat(parts);
}

/**
 * Puts an answer on the wire, all of it at once. Past the framework, which would copy every header
 * several times: half the cost of a read.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { SECURITY_HEADERS } from '../filters/hardening.ts';
import { type Answer, lengthOf, warningHeaders } from './answer.ts';

/** What every answer carries, streams as well. */
export function commonHeaders(requestId: string): (readonly [string, string])[] {
  return [['audit-id', requestId], ...SECURITY_HEADERS];
}

/** `closing`, once aborted: no further request is wanted on the connection. */
export function sendAnswer(reply: FastifyReply, answer: Answer, closing: AbortSignal): void {
  const { raw } = reply.hijack();
  // Somebody else answered, or nobody is there any more.
  if (raw.headersSent) return;
  // The framework says so where it answers before the body was read.
  const last = closing.aborted || reply.getHeader('connection') === 'close';
  writeAnswer(raw, answer, { id: reply.request.id, last });
}

/** `last`: the connection ends with the answer. */
export function writeAnswer(
  response: ServerResponse,
  answer: Answer,
  { id, last }: { readonly id: string; readonly last: boolean },
): void {
  response.writeHead(answer.code, headersOf(id, answer, last));
  const { body, rest } = answer;
  if (rest === undefined) {
    response.end(body);
    return;
  }
  // Both go out in one call.
  response.write(body);
  response.end(rest);
}

const SECURITY = SECURITY_HEADERS.flat();

/** Names and values in turn, as `writeHead` takes them without looking for doubles: there are none. */
function headersOf(requestId: string, answer: Answer, last: boolean): string[] {
  const { code, contentType, headers, warnings } = answer;
  const flat = ['audit-id', requestId, ...SECURITY, 'content-type', contentType];
  if (code !== 304) flat.push('content-length', String(lengthOf(answer)));
  if (headers?.['cache-control'] === undefined) flat.push('cache-control', 'no-cache, private');
  if (headers !== undefined) {
    for (const name of Object.keys(headers)) flat.push(name, headers[name] ?? '');
  }
  if (warnings !== undefined && warnings.length > 0) {
    for (const text of warningHeaders(warnings)) flat.push('warning', text);
  }
  if (last) flat.push('connection', 'close');
  return flat;
}

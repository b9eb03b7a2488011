/** Answer with a document in the negotiated form: JSON, with `?pretty` for readers, or YAML. */
import type { Answer } from '../output/answer.ts';
import { negotiate } from '../output/negotiation.ts';
import { encodeDocument } from '../output/representation.ts';
import { type ApiRequest, header } from '../request.ts';

export function documentAnswer(request: ApiRequest, document: object): Answer {
  const accept = header(request, 'accept');
  const userAgent = header(request, 'user-agent');
  const form = negotiate({ accept, userAgent, query: request.info.query }, 'object');
  const headers = { 'cache-control': 'no-cache, private' };
  return { code: 200, headers, ...encodeDocument(document, form) };
}

/** GET of one object. */

import type { ServerDependencies } from '../dependencies.ts';
import { waitForVersion } from '../freshness.ts';
import { parseResourceVersion } from '../input/list-options.ts';
import { parsePast } from '../input/past.ts';
import type { Answer } from '../output/answer.ts';
import { encodeObject } from '../output/representation.ts';
import type { ResourceRequest } from '../request.ts';
import { pastObject, REVISION_HEADER } from './past.ts';
import { answerForm, collectionOf, targetOf } from './shared.ts';

export async function handleGet(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'object');
  const past = parsePast(request.info.query);
  if (past !== undefined) {
    const { found, point } = await pastObject(deps, request, past);
    const headers = { [REVISION_HEADER]: point.revision };
    return { code: 200, headers, ...encodeObject(request.kind, found, form) };
  }
  const wanted = parseResourceVersion(request.info.query);
  if (wanted !== undefined) await waitForVersion(deps.store, collectionOf(request), wanted);
  const stored = deps.registry.get(targetOf(request));
  return { code: 200, ...encodeObject(request.kind, stored, form) };
}

/** GET of one object. */
import type { Past } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { waitForVersion } from '../filters/freshness.ts';
import { parseResourceVersion } from '../input/list-options.ts';
import { parsePast } from '../input/past.ts';
import type { Answer } from '../output/answer.ts';
import { type AnswerForm, encodeObject } from '../output/representation.ts';
import type { ResourceRequest } from '../request.ts';
import { pastObject, REVISION_HEADER } from './past.ts';
import { answerForm, shownToReader, targetOf } from './shared.ts';

export function handleGet(
  deps: ServerDependencies,
  request: ResourceRequest,
): Answer | Promise<Answer> {
  const form = answerForm(deps, request, 'object');
  const { query } = request.info;
  const past = parsePast(query);
  if (past !== undefined) return getPast(deps, request, { past, form });
  const wanted = parseResourceVersion(query);
  if (wanted !== undefined) return getNotOlder(deps, request, { wanted, form });
  return getNow(deps, request, form);
}

/** Synchronous: most requests are of this kind. */
function getNow(deps: ServerDependencies, request: ResourceRequest, form: AnswerForm): Answer {
  const target = targetOf(request);
  const stored = deps.registry.get(target);
  const ready = shownToReader(deps, request, { ready: stored, name: target.name });
  return { code: 200, ...encodeObject(request.kind, ready, form) };
}

async function getNotOlder(
  deps: ServerDependencies,
  request: ResourceRequest,
  { wanted, form }: { wanted: number; form: AnswerForm },
): Promise<Answer> {
  await waitForVersion(deps, request, wanted);
  return getNow(deps, request, form);
}

async function getPast(
  deps: ServerDependencies,
  request: ResourceRequest,
  { past, form }: { past: Past; form: AnswerForm },
): Promise<Answer> {
  const { found, point } = await pastObject(deps, request, past);
  const headers = { [REVISION_HEADER]: point.revision };
  // A deleted object of the same name may have belonged to another user.
  const ready = shownToReader(deps, request, { ready: found, name: '' });
  return { code: 200, headers, ...encodeObject(request.kind, ready, form) };
}

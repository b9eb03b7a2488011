/**
 * GET of `…/<name>/source`: the manifest of an object as it stands in git, with its place. The place takes
 * `get` on the object, the text also the right to clone: it has comments, and values that are write-only.
 */
import { badRequest, notFound } from '../../apimachinery/index.ts';
import { apiVersionOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { parsePast } from '../input/past.ts';
import type { Answer } from '../output/answer.ts';
import { encodeDocument } from '../output/representation.ts';
import { GIT_PATH } from '../paths.ts';
import type { ResourceRequest } from '../request.ts';
import { pastObject } from './past.ts';
import { answerForm, targetOf } from './shared.ts';
import { handleSourceWrite } from './source-write.ts';

export async function handleSource(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  if (request.info.verb === 'update') return await handleSourceWrite(deps, request);
  const form = answerForm(deps, request, 'object');
  if (form.transform !== undefined) throw badRequest('the source of an object has no table form');
  const { kind, info, user } = request;
  const past = parsePast(info.query);
  if (past === undefined) deps.registry.get(targetOf(request));
  const { shown } = deps.history;
  const at = past ?? (shown === undefined ? undefined : { revision: shown });
  if (at === undefined) throw notFound(kind, info.name);
  const { found, point } = await pastObject(deps, request, at);
  const { place, identity } = found.source;
  const mayClone = deps.authorizer.authorize(user, { verb: 'get', path: GIT_PATH }).allowed;
  const source = await deps.history.manifestText(found, point);
  const document = {
    kind: 'ObjectSource',
    apiVersion: apiVersionOf(kind),
    metadata: { name: info.name, uid: identity.uid },
    revision: point.revision,
    path: place.path,
    line: source.line,
    ...(mayClone ? { text: source.text } : { withheld: { verb: 'get', path: GIT_PATH } }),
  };
  return { code: 200, ...encodeDocument(document, form) };
}

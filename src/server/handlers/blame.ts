/** GET of `…/<name>/blame`: the commit that set each field of an object. */
import { badRequest, notFound } from '../../apimachinery/index.ts';
import { mapLimit } from '../../concurrency/index.ts';
import { apiVersionOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';
import { commitTime, subjectOf } from '../output/commit-fields.ts';
import { encodeDocument } from '../output/representation.ts';
import { pastFilter } from '../past-filter.ts';
import type { ResourceRequest } from '../request.ts';
import { answerForm, targetOf } from './shared.ts';

const USUAL_COMMITS = 500;
const MOST_COMMITS = 10_000;
const READ_AT_ONCE = 8;

export async function handleBlame(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'object');
  if (form.transform !== undefined) throw badRequest('the blame of an object has no table form');
  const { kind, info } = request;
  const { namespace, name } = info;
  const limit = limitOf(info.query);
  deps.registry.get(targetOf(request));
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  const blame = await deps.history.blame(key, limit);
  const isHidden =
    blame !== undefined && pastFilter(deps, request)?.({ key, uid: blame.uid }) === false;
  if (blame === undefined || isHidden)
    throw notFound({ ...kind, plural: `${kind.plural}/blame` }, name);
  const commits = await mapLimit([...blame.times], READ_AT_ONCE, async ([revision, time]) => {
    const { author, message } = await deps.history.describeCommit(revision);
    const when = commitTime(time);
    return [revision, { time: when, author, message: subjectOf(message) }] as const;
  });
  const { uid, fields, unread, truncated } = blame;
  const document = {
    kind: 'ObjectBlame',
    apiVersion: apiVersionOf(kind),
    metadata: { name, uid, ...(unread === 0 ? {} : { remainingItemCount: unread }) },
    commits: Object.fromEntries(commits),
    fields,
    ...(truncated ? { truncated } : {}),
  };
  return { code: 200, ...encodeDocument(document, form) };
}

function limitOf(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? USUAL_COMMITS);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_COMMITS) return limit;
  throw badRequest(`limit: must be a number of commits from 1 to ${MOST_COMMITS}`);
}

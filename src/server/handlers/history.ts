/** GET of `…/<name>/history`: the commits that changed an object, newest first. */
import { badRequest, expired, notFound } from '../../apimachinery/index.ts';
import { mapLimit } from '../../concurrency/index.ts';
import type { HistoryEntry } from '../../history/index.ts';
import { apiVersionOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { formatPosition, parsePosition } from '../input/continue-token.ts';
import { parseLimit } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { commitTime, subjectOf } from '../output/commit-fields.ts';
import { encodeDocument } from '../output/representation.ts';
import { pastFilter } from '../past-filter.ts';
import type { ResourceRequest } from '../request.ts';
import { answerForm } from './shared.ts';

/** Each entry costs the read of a commit. */
const LARGEST_PAGE = 500;
const READ_AT_ONCE = 8;

export async function handleHistory(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'object');
  if (form.transform !== undefined) throw badRequest('the history of an object has no table form');
  const { kind, info } = request;
  const asked = parseLimit(info.query);
  const limit = asked === 0 ? LARGEST_PAGE : Math.min(asked, LARGEST_PAGE);
  const entries = await visibleEntries(deps, request);
  if (entries.length === 0) throw notFound(kind, info.name);
  const start = startOf(entries, info.query.get('continue') ?? '');
  const page = entries.slice(start, start + limit);
  const signatures = await deps.signatures.of(page.map(({ revision }) => revision));
  const described = await mapLimit(page, READ_AT_ONCE, (entry) => describe(deps, entry));
  const items = described.map((item, at) => ({ ...item, signature: signatures[at] }));
  const last = page.at(-1);
  const left = entries.length - start - page.length;
  const metadata =
    left === 0 || last === undefined
      ? {}
      : { continue: formatPosition(last.revision), remainingItemCount: left };
  const document = { kind: 'ObjectHistory', apiVersion: apiVersionOf(kind), metadata, items };
  return { code: 200, ...encodeDocument(document, form) };
}

async function visibleEntries(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<readonly HistoryEntry[]> {
  const { kind, info } = request;
  const { namespace, name } = info;
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  const entries = await deps.history.entries(key);
  const filter = pastFilter(deps, request);
  return filter === undefined ? entries : entries.filter(({ uid }) => filter({ key, uid }));
}

/** New commits come first, so that a page begins after the last commit of the page before. */
function startOf(entries: readonly HistoryEntry[], token: string): number {
  if (token === '') return 0;
  const revision = parsePosition(token);
  const at = entries.findIndex((entry) => entry.revision === revision);
  if (at < 0) throw expired('The history was rewritten meanwhile; begin without continue.');
  return at + 1;
}

async function describe(deps: ServerDependencies, entry: HistoryEntry): Promise<object> {
  const { revision, time, verb, ...rest } = entry;
  const { author, message } = await deps.history.describeCommit(revision);
  const when = commitTime(time);
  return { revision, time: when, author, message: subjectOf(message), verb, ...rest };
}

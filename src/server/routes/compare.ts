/**
 * GET `/compare`: objects that differ between two moments of the platform. It takes the right to clone, which
 * shows the same; secret values are masked.
 */
import { badRequest, noSuchRoute } from '../../apimachinery/index.ts';
import { checkRevision, checkTime, type Past } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';
import { commitTime } from '../output/commit-fields.ts';
import { documentAnswer } from '../overview/document-answer.ts';
import { UserSlots } from '../overview/user-slots.ts';
import { COMPARE_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';

const MOST_RUNNING = 4;
const MOST_RUNNING_OF_ONE = 2;
const MOST_ITEMS = 500;
const MOST_BYTES = 4 * 1024 * 1024;
const ID = /^[0-9a-f]{4,40}$/i;

/** Undefined for other paths. */
export function compareRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== COMPARE_PATH) return undefined;
    if (verb !== 'get' && verb !== 'head') throw noSuchRoute();
    return running.run(request.user?.name ?? '', 'comparisons run', () => answer(deps, request));
  };
}

async function answer(deps: ServerDependencies, request: ApiRequest): Promise<Answer> {
  const { query } = request.info;
  const from = momentOf(query, 'from');
  if (from === undefined) throw badRequest('from: a commit or a time is required');
  const found = await deps.history.compare(from, momentOf(query, 'to'));
  if (found === undefined) throw badRequest('the branch has no commit yet');
  const { changes } = found;
  const summary: Record<string, number> = {};
  for (const { verb } of changes) summary[verb] = (summary[verb] ?? 0) + 1;
  const at = ({
    revision,
    time,
  }: {
    readonly revision: string;
    readonly time: number;
  }): object => ({
    revision,
    time: commitTime(time),
  });
  return documentAnswer(request, {
    kind: 'Comparison',
    apiVersion: `${deps.kinds.groups[0]}/v1`,
    from: at(found.from),
    to: at(found.to),
    summary,
    count: changes.length,
    items: changes.slice(0, lengthWithin(changes)).map((item) => {
      const kind = deps.kinds.byKind(item.apiVersion, item.kind);
      return kind === undefined ? item : { ...item, plural: kind.plural };
    }),
  });
}

/** Undefined: absent. Throws 400. */
function momentOf(query: URLSearchParams, name: string): Past | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  return ID.test(text) ? { revision: checkRevision(text) } : { time: checkTime(text) };
}

/** Number of the first items that an answer has room for. */
function lengthWithin(items: readonly object[]): number {
  let bytes = 0;
  let length = 0;
  for (const item of items.slice(0, MOST_ITEMS)) {
    bytes += JSON.stringify(item).length;
    if (bytes > MOST_BYTES) break;
    length++;
  }
  return length;
}

/** GET `/branches`: branches that can be planned, newest first. It takes the right to clone, which shows the same. */
import { noSuchRoute } from '../../apimachinery/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { parseLimit } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { commitTime } from '../output/commit-fields.ts';
import { documentAnswer } from '../overview/document-answer.ts';
import { UserSlots } from '../overview/user-slots.ts';
import { BRANCHES_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';

const USUAL = 100;
const MOST = 1000;
const MOST_RUNNING = 4;
const MOST_RUNNING_OF_ONE = 2;
const LONGEST_TEXT = 200;

/** Undefined for other paths. */
export function branchesRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== BRANCHES_PATH) return undefined;
    if (verb !== 'get' && verb !== 'head') throw noSuchRoute();
    const user = request.user?.name ?? '';
    return running.run(user, 'lists of branches run', () => answer(deps, request));
  };
}

async function answer(deps: ServerDependencies, request: ApiRequest): Promise<Answer> {
  const asked = parseLimit(request.info.query);
  const limit = asked === 0 ? USUAL : Math.min(asked, MOST);
  const found = await deps.planner.branches(limit + 1);
  return documentAnswer(request, {
    kind: 'BranchList',
    apiVersion: `${deps.kinds.groups[0]}/v1`,
    metadata: found.length > limit ? { hasMore: true } : {},
    items: found.slice(0, limit).map(({ name, tip, time, author, subject }) => ({
      name,
      revision: tip,
      time: commitTime(time),
      author: author.slice(0, LONGEST_TEXT),
      subject: subject.slice(0, LONGEST_TEXT),
    })),
  });
}

/**
 * POST `/plan`: the effects of a commit of the repository. It needs the right to clone, since a plan
 * reveals the same; secret values are masked. The verdict is that of a push by the caller.
 */
import { badRequest, isRecord, noSuchRoute, Yielding } from '../../apimachinery/index.ts';
import type { Plan, PlanTarget } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { negotiate } from '../output/negotiation.ts';
import { encodeDocument } from '../output/representation.ts';
import { UserSlots } from '../overview/user-slots.ts';
import { PLAN_PATH } from '../paths.ts';
import { type ApiRequest, header } from '../request.ts';

/** A plan may replay all of history, with memory for a catalog of its own. */
const MOST_RUNNING = 8;
const MOST_RUNNING_OF_ONE = 4;
const MOST_CHARACTERS = 32 * 2 ** 20;

/** Undefined for other paths. */
export function planRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== PLAN_PATH) return undefined;
    if (verb !== 'post') throw noSuchRoute();
    const user = request.user?.name ?? '';
    return running.run(user, 'plans run', () => answerPlan(deps, request));
  };
}

async function answerPlan(deps: ServerDependencies, request: ApiRequest): Promise<Answer> {
  const accept = header(request, 'accept');
  const userAgent = header(request, 'user-agent');
  const form = negotiate({ accept, userAgent, query: request.info.query }, 'object');
  const plan = await deps.planner.plan(targetOf(request), request.user);
  await refuseLarge(plan);
  return { code: 200, ...encodeDocument(plan, form) };
}

/** Throws 400. A part of the changes would hide others, such as access that they open. */
async function refuseLarge({ changes }: Plan): Promise<void> {
  const pauses = new Yielding();
  let characters = 0;
  for (const change of changes) {
    await pauses.take();
    characters += JSON.stringify(change).length;
    if (characters <= MOST_CHARACTERS) continue;
    const most = MOST_CHARACTERS / 2 ** 20;
    throw badRequest(
      `the plan of ${changes.length} changes has more than ${most} MiB: run gitplane plan in a clone`,
    );
  }
}

/** Throws 400. */
function targetOf(request: ApiRequest): PlanTarget {
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value } = decodeBody(request.body, format);
  const { revision, ref, ...others } = isRecord(value) ? value : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw badRequest(`unknown field ${JSON.stringify(unknown)}`);
  if (typeof revision === 'string' && ref === undefined) return { revision };
  if (typeof ref === 'string' && revision === undefined) return { ref };
  throw badRequest('expected {"revision": "<commit id>"} or {"ref": "<branch>"}');
}

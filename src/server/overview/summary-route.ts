/**
 * GET `/summary`. With `since`, the `metadata.version` of an earlier answer, it waits until the document
 * of the caller differs, so that a page is current without polling. With `atRevision` or `atTime` it is that of
 * the past.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { badRequest, noSuchRoute, unauthorized } from '../../apimachinery/index.ts';
import type { Past } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { attributesOf, userNow } from '../filters/access.ts';
import { parsePast } from '../input/past.ts';
import { readTimeoutParameter } from '../input/timeout-parameter.ts';
import type { Answer } from '../output/answer.ts';
import { SUMMARY_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';
import { badConditionIndex } from './bad-conditions.ts';
import { documentAnswer } from './document-answer.ts';
import { pastSummaryFor } from './past-summary.ts';
import { type Summary, type SummaryContext, summaryFor } from './summary.ts';
import { UserSlots } from './user-slots.ts';

const MOST_WAITING = 256;
const MOST_WAITING_OF_ONE = 32;
/** A summary of the past may read the history of many files. */
const MOST_READING = 8;
const MOST_READING_OF_ONE = 2;
const POLL_MS = 50;
/** A summary is computed once per change, but not more often than this, */
const SHORTEST_UNREAD_MS = 200;
/** and not more rarely: the states of secret stores change without an object. */
const LONGEST_UNREAD_MS = 5_000;
const VERSION = /^[0-9a-f]{64}$/;

/** Undefined for other paths. */
export function summaryRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const context = { deps, conditions: badConditionIndex(deps), started: deps.clock.now() };
  const reading = new UserSlots(MOST_READING, MOST_READING_OF_ONE);
  const waiting = new UserSlots(MOST_WAITING, MOST_WAITING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== SUMMARY_PATH) return undefined;
    if (verb !== 'get' && verb !== 'head') throw noSuchRoute();
    return answer(request);
  };

  async function answer(request: ApiRequest): Promise<Answer> {
    const { query } = request.info;
    const since = query.get('since');
    if (since !== null && !VERSION.test(since)) {
      throw badRequest('since: expected the metadata.version of an earlier summary');
    }
    const past = parsePast(query);
    if (past !== undefined) return await pastAnswer(request, { past, since });
    if (since === null) return documentAnswer(request, await currentSummary(context, request));
    const deadline = performance.now() + readTimeoutParameter(query.get('timeout'));
    const user = request.user?.name ?? '';
    const summary = await waiting.run(user, 'requests wait for a change', () =>
      changedSummary(context, request, { since, deadline }),
    );
    return documentAnswer(request, summary);
  }

  async function pastAnswer(
    request: ApiRequest,
    { past, since }: { readonly past: Past; readonly since: string | null },
  ): Promise<Answer> {
    const { user } = request;
    if (user === undefined) throw unauthorized();
    if (since !== null) throw badRequest('since is for the present: the past does not change');
    const summary = await reading.run(user.name, 'summaries of the past are read', () =>
      pastSummaryFor(deps, user, past),
    );
    return documentAnswer(request, summary);
  }
}

async function currentSummary(
  context: SummaryContext,
  { raw, info }: ApiRequest,
): Promise<Summary> {
  // A key may end while its request waits.
  const user = userNow(context.deps, raw.request, attributesOf(info, context.deps.kinds));
  if (user === undefined) throw unauthorized();
  return await summaryFor(context, user);
}

/** The unchanged summary after the deadline. */
async function changedSummary(
  context: SummaryContext,
  request: ApiRequest,
  { since, deadline }: { readonly since: string; readonly deadline: number },
): Promise<Summary> {
  for (;;) {
    const began = performance.now();
    const token = changeToken(context.deps);
    const summary = await currentSummary(context, request);
    if (summary.metadata.version !== since) return summary;
    for (let isDue = false; !isDue; ) {
      const now = performance.now();
      const gone = request.closing.aborted || request.raw.request.destroyed;
      if (gone || now >= deadline) return summary;
      await delay(POLL_MS);
      isDue =
        now - began >= LONGEST_UNREAD_MS ||
        (now - began >= SHORTEST_UNREAD_MS && changeToken(context.deps) !== token);
    }
  }
}

/** Changes with most changes of the document. */
function changeToken({ store, sync, health, rights, suspensions }: ServerDependencies): string {
  const checks = { ...health.live, ...health.ready, ...health.degraded };
  const problems = Object.values(checks).map((check) => check() ?? '');
  const { token } = sync.report;
  const suspended = suspensions.list().map(({ since }) => since);
  return [
    store.resourceVersion,
    rights.revision,
    token,
    sync.problem(),
    ...suspended,
    ...problems,
  ].join('\n');
}

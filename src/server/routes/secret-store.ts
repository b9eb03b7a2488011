/**
 * `/secret-store`: state of the secret sync, and a cycle on request. Rights are those on the paths:
 * `get` of `/secret-store`, `post` of `/secret-store/sync`. Tying secrets to paths of a store
 * needs `get` or `update` of `/secret-store/paths/<mount>/<path>`, or of
 * `/secret-store/stores/<name>/paths/<mount>/<path>`, which are paths without documents.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { badRequest, noSuchRoute, rfc3339, tooManyRequests } from '../../apimachinery/index.ts';
import type { StoreSyncReport } from '../../secret-store-sync/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { readTimeoutParameter } from '../input/timeout-parameter.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import type { ApiRequest } from '../request.ts';

const PATH = '/secret-store';
const MOST_LISTED = 1000;
const MOST_WAITING = 64;

/** Undefined for other paths. */
export function secretStoreRoutes(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | Answer | undefined {
  let waiting = 0;
  return (request) => {
    const { path, verb } = request.info;
    if (path === PATH && (verb === 'get' || verb === 'head')) return answerReport(deps);
    if (path === `${PATH}/sync` && verb === 'post') return syncNow(request);
    if (path === PATH || path.startsWith(`${PATH}/`)) throw noSuchRoute();
    return undefined;
  };

  async function syncNow(request: ApiRequest): Promise<Answer> {
    const { query } = request.info;
    const timeoutMs = readTimeoutParameter(query.get('timeout'));
    const allowDeletions = readSwitch(query, 'allowDeletions');
    const store = query.get('store') ?? undefined;
    if (store !== undefined && !deps.secretStore.has(store)) {
      throw badRequest(`store: the configuration has no secret store ${JSON.stringify(store)}`);
    }
    const cycle = deps.secretStore.syncNow({ allowDeletions, store });
    if (allowDeletions) {
      const user = request.user?.name ?? '';
      deps.logger.info(
        { user, requestId: request.id, store },
        'Deletions of the next cycle are approved',
      );
    }
    if (!readSwitch(query, 'wait')) return jsonAnswer(document(deps), 202);
    if (waiting >= MOST_WAITING) throw tooManyRequests('Too many requests wait for a cycle', 1);
    waiting++;
    const timer = new AbortController();
    try {
      const late = delay(timeoutMs, 'late', { signal: timer.signal }).catch(() => 'late');
      const ended = await Promise.race([cycle.then(() => 'done'), late]);
      return jsonAnswer(document(deps), ended === 'done' ? 200 : 504);
    } finally {
      timer.abort();
      waiting--;
    }
  }
}

function answerReport(deps: ServerDependencies): Answer {
  return jsonAnswer(document(deps));
}

function document({ secretStore }: ServerDependencies): object {
  const { stores, ...report } = secretStore.report();
  return { ...oneStore(report), stores: stores.map(oneStore) };
}

function oneStore(report: StoreSyncReport): object {
  const { attention, lastCycle, intervalMs, problem, pulls, ...rest } = report;
  return {
    ...rest,
    ...(problem === undefined ? {} : { message: problem }),
    ...(intervalMs === undefined ? {} : { intervalSeconds: intervalMs / 1000 }),
    attention: attention.slice(0, MOST_LISTED),
    attentionCount: attention.length,
    pulls: pulls.map(({ refused, ...pull }) => ({
      ...pull,
      refused: refused.slice(0, MOST_LISTED),
      refusedCount: refused.length,
    })),
    lastCycle:
      lastCycle === undefined ? null : { ...lastCycle, started: rfc3339(lastCycle.started) },
  };
}

function readSwitch(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === 'false') return false;
  if (text === '' || text === 'true') return true;
  throw badRequest(`${name}: expected true or false`);
}

/**
 * `/sync`: state of the platform relative to its branch, waiting for a commit to become readable, and
 * approval of prunes. The rights are `get` and `post` on `/sync` and `post` on `/sync/approve`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  badRequest,
  isRecord,
  noSuchRoute,
  rfc3339,
  type StatusError,
  tooManyRequests,
} from '../../apimachinery/index.ts';
import type { CommitVerdict, Hold } from '../../registry/index.ts';
import type { ServerDependencies, SyncService } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import { readReason } from '../input/reason.ts';
import { readTimeoutParameter } from '../input/timeout-parameter.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import { type ApiRequest, header } from '../request.ts';

const MOST_LISTED = 1000;
const MOST_WAITING = 256;
const POLL_MS = 20;
/** Interval of fetches while a client waits. */
const LOOK_MS = 2_000;
const REVISION = /^[0-9a-f]{40}$/;

/** Undefined for other paths. */
export function syncRoutes(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  let waiting = 0;
  return (request) => {
    const { path, verb } = request.info;
    if (path === '/sync' && (verb === 'get' || verb === 'head')) return answerStatus(deps.sync);
    if (path === '/sync' && verb === 'post') return syncNow(request);
    if (path === '/sync/approve' && verb === 'post') return approve(deps, request);
    if (path === '/sync' || path === '/sync/approve') throw noSuchRoute();
    return undefined;
  };

  async function syncNow(request: ApiRequest): Promise<Answer> {
    const { query } = request.info;
    const wanted = query.get('wait');
    const timeoutMs = readTimeoutParameter(query.get('timeout'));
    if (wanted !== null && !REVISION.test(wanted)) throw notARevision('wait', wanted);
    if (waiting >= MOST_WAITING) throw tooManyWaiting();
    waiting++;
    try {
      const failure = await refreshed(deps.sync);
      if (failure !== undefined && (wanted === null || !(await isApplied(deps.sync, wanted)))) {
        throw failure.error;
      }
      if (wanted === null) return await answerStatus(deps.sync);
      const verdict = await waitFor(deps.sync, wanted, { timeoutMs, request });
      return await answerStatus(deps.sync, verdict ?? { revision: wanted, result: 'unknown' });
    } finally {
      waiting--;
    }
  }
}

/** Reason why newer commits may be unknown; undefined: none. */
async function refreshed(sync: SyncService): Promise<{ readonly error: unknown } | undefined> {
  const failure = await sync.refresh?.().then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  await sync.catchUp();
  return failure;
}

/** True if no newer commit can change the answer. */
async function isApplied({ report }: SyncService, revision: string): Promise<boolean> {
  return (await report.verdictOn(revision))?.result === 'applied';
}

async function waitFor(
  { report, look }: SyncService,
  revision: string,
  { timeoutMs, request }: { timeoutMs: number; request: ApiRequest },
): Promise<CommitVerdict | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { token } = report;
    const verdict = await report.verdictOn(revision);
    if (verdict !== undefined) return verdict;
    let looked = performance.now();
    while (report.token === token) {
      const gone = request.closing.aborted || request.raw.request.destroyed;
      const now = performance.now();
      if (gone || now >= deadline) return undefined;
      // Fetches now: a push to the remote must not wait for the next scheduled fetch.
      if (now - looked >= LOOK_MS) {
        looked = now;
        look?.();
      }
      await delay(POLL_MS);
    }
  }
}

type Waited = CommitVerdict | { readonly revision: string; readonly result: 'unknown' };

/** Status code for pipelines that do not read the body. */
const CODES = { applied: 200, held: 409, refused: 409, unknown: 504 } as const;

async function answerStatus(sync: SyncService, waited?: Waited): Promise<Answer> {
  const { report } = sync;
  const { hold } = report;
  const problems = await report.problems();
  const applied = sync.lastApplied();
  const document = {
    head: (await report.head()) ?? null,
    revision: report.revision ?? null,
    ...syncState(sync),
    held: hold === undefined ? null : holdDocument(hold, MOST_LISTED),
    problems: problems.slice(0, MOST_LISTED),
    problemCount: problems.length,
    lastAppliedTime: applied === undefined ? null : rfc3339(applied),
  };
  if (waited === undefined) return jsonAnswer(document);
  return jsonAnswer({ ...document, waited: waitedDocument(waited) }, CODES[waited.result]);
}

/** State of the branch, its problem, and the review of writes to it. */
export function syncState(sync: SyncService): object {
  const failure = sync.problem();
  const url = sync.review?.();
  const review = url === undefined ? {} : { review: url };
  if (failure !== undefined) return { state: 'failing', message: failure, ...review };
  return { state: sync.report.hold === undefined ? 'applied' : 'held', ...review };
}

export function holdDocument(
  { revision, reason, message, prunes, remedy }: Hold,
  mostListed: number,
): object {
  return {
    revision: revision ?? null,
    reason,
    message,
    prunes: prunes.slice(0, mostListed).map(({ key, path }) => ({ ...key, path })),
    pruneCount: prunes.length,
    remedy,
  };
}

function waitedDocument(waited: Waited): object {
  if (waited.result === 'unknown') {
    const message = 'This commit was not seen on the branch in time';
    return { ...waited, message, files: [] };
  }
  const { revision, result, files, lines } = waited;
  const more = lines === undefined ? {} : { lines };
  return { revision, result, files: files.slice(0, MOST_LISTED), ...more };
}

async function approve(deps: ServerDependencies, request: ApiRequest): Promise<Answer> {
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value } = decodeBody(request.body, format);
  const { revision, reason: text } = isRecord(value) ? value : {};
  if (typeof revision !== 'string' || !REVISION.test(revision)) {
    throw notARevision('revision', String(revision ?? ''));
  }
  const reason = readReason(text);
  const user = request.user?.name ?? '';
  deps.logger.info({ user, revision, reason, requestId: request.id }, 'Revision approved');
  await deps.sync.approve({ revision, user, reason });
  return await answerStatus(deps.sync);
}

function notARevision(field: string, text: string): StatusError {
  const shown = JSON.stringify(text.slice(0, 64));
  return badRequest(`${field}: ${shown} is not a commit id; give all 40 hexadecimal digits`);
}

function tooManyWaiting(): StatusError {
  return tooManyRequests('Too many requests wait for a commit', 1);
}

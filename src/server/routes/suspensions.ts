/**
 * `/suspensions`: parts of the platform that are stopped for a time. `POST /suspensions/<part>[/<name>]`
 * suspends, `DELETE` resumes. The rights are `get`, `post` and `delete` on these paths.
 */
import {
  badRequest,
  isRecord,
  noSuchRoute,
  parseGoDuration,
  rfc3339,
  StatusError,
} from '../../apimachinery/index.ts';
import {
  isSuspendable,
  MOST_SUSPENSIONS,
  SUSPENDABLE,
  type Suspension,
  type SuspensionTarget,
  suspensionId,
} from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import { readReason } from '../input/reason.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import { SUSPENSIONS_PATH } from '../paths.ts';
import { type ApiRequest, header } from '../request.ts';

const DEFAULT_DURATION = '24h';
const LONGEST_MS = 90 * 24 * 3_600_000;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined for other paths. */
export function suspensionRoutes(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | Answer | undefined {
  return (request) => {
    const { path, verb } = request.info;
    if (path === SUSPENSIONS_PATH && (verb === 'get' || verb === 'head')) return answerList(deps);
    if (!path.startsWith(`${SUSPENSIONS_PATH}/`)) {
      if (path === SUSPENSIONS_PATH) throw noSuchRoute();
      return undefined;
    }
    const target = targetIn(path.slice(SUSPENSIONS_PATH.length + 1));
    if (verb === 'post') return suspend(deps, request, target);
    if (verb === 'delete') return resume(deps, request, target);
    throw noSuchRoute();
  };
}

/** Throws 404 for a part that there is not. */
function targetIn(path: string): SuspensionTarget {
  const [part = '', name, ...more] = path.split('/');
  const isKnown = isSuspendable(part) && more.length === 0;
  if (!isKnown || (name !== undefined && !(SUSPENDABLE[part] && NAME.test(name)))) {
    const parts = Object.entries(SUSPENDABLE).flatMap(([known, hasNames]) =>
      hasNames ? [known, `${known}/NAME`] : [known],
    );
    throw new StatusError(
      404,
      'NotFound',
      `Nothing to suspend is at this path; use ${parts.join(', ')}`,
    );
  }
  return { part, ...(name === undefined ? {} : { name }) };
}

async function suspend(
  deps: ServerDependencies,
  request: ApiRequest,
  target: SuspensionTarget,
): Promise<Answer> {
  const { value } = decodeBody(request.body, bodyFormatOf(header(request, 'content-type')));
  const { reason: text, for: duration = DEFAULT_DURATION } = isRecord(value) ? value : {};
  const reason = readReason(text);
  const length = typeof duration === 'string' ? parseGoDuration(duration) : undefined;
  if (length === undefined || length <= 0 || length > LONGEST_MS) {
    throw badRequest('"for": expected a duration of up to 2160h, such as 30m or 24h');
  }
  requireTarget(deps, target);
  if (deps.suspensions.list().length >= MOST_SUSPENSIONS) {
    throw badRequest(`${MOST_SUSPENSIONS} suspensions are the limit; resume one first`);
  }
  const since = deps.clock.now();
  const user = request.user?.name ?? '';
  const suspension = { ...target, user, reason, since, until: since + length };
  await deps.suspensions.suspend(suspension);
  return jsonAnswer(suspensionDocument(suspension), 201);
}

/** Throws 400 where a suspension would stop nothing. */
function requireTarget(deps: ServerDependencies, { part, name }: SuspensionTarget): void {
  if (part === 'remote' && deps.sync.refresh === undefined) {
    throw badRequest('The repository is hosted here: there is no remote to suspend');
  }
  if (part === 'secret-store' && name !== undefined && !deps.secretStore.has(name)) {
    throw badRequest(`The configuration has no secret store ${JSON.stringify(name)}`);
  }
  if (part === 'tenants' && name !== undefined && !deps.tenants.has(name)) {
    throw badRequest(`There is no tenant ${JSON.stringify(name)}`);
  }
}

async function resume(
  deps: ServerDependencies,
  request: ApiRequest,
  target: SuspensionTarget,
): Promise<Answer> {
  const ended = await deps.suspensions.resume(target, request.user?.name ?? '');
  if (ended === undefined) {
    throw new StatusError(404, 'NotFound', `${suspensionId(target)} is not suspended`);
  }
  return jsonAnswer(suspensionDocument(ended));
}

function answerList({ suspensions }: ServerDependencies): Answer {
  return jsonAnswer({ items: suspensions.list().map(suspensionDocument) });
}

export function suspensionDocument(suspension: Suspension): object {
  const { part, name, user, reason, since, until } = suspension;
  return {
    target: suspensionId(suspension),
    ...{ part, ...(name === undefined ? {} : { name }), user, reason },
    ...{ since: rfc3339(since), until: rfc3339(until) },
  };
}

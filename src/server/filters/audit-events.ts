/**
 * `/audit/events`: POST relays events that agents recorded, GET reads events from the data store. The
 * rights are `post` and `get` on the path.
 */

import {
  badRequest,
  forbiddenError,
  noSuchRoute,
  tooManyRequests,
  unavailable,
} from '../../apimachinery/index.ts';
import { type EventQuery, relayedEvents } from '../../audit/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import { JSON_TYPE } from '../output/negotiation.ts';
import { AUDIT_EVENTS_PATH } from '../paths.ts';
import { type ApiRequest, header } from '../request.ts';

const FIELDS = [
  ['auditID', 'auditId'],
  ['user', 'username'],
  ['verb', 'verb'],
  ['resource', 'resource'],
  ['namespace', 'namespace'],
  ['name', 'name'],
  ['revision', 'revision'],
  ['source', 'source'],
] as const;
const TIMES = ['since', 'until'] as const;
const USUAL_LIMIT = 100;
const MOST_LIMIT = 1000;
/** Retry-After for agents while the queue is full or the data store is unavailable. */
const RETRY_SECONDS = 2;

/** Undefined for other paths. */
export function auditEventRoutes(
  deps: ServerDependencies,
): (request: ApiRequest) => Answer | Promise<Answer> | undefined {
  return (request) => {
    const { path, verb } = request.info;
    if (path !== AUDIT_EVENTS_PATH) return undefined;
    if (verb === 'get') return findEvents(deps, request);
    if (verb === 'post') return takeEvents(deps, request);
    throw noSuchRoute();
  };
}

async function findEvents(deps: ServerDependencies, request: ApiRequest): Promise<Answer> {
  const query = queryOf(request.info.query);
  const events = await deps.audit.find(query).catch((error: unknown) => {
    deps.logger.warn({ err: error, requestId: request.id }, 'Audit data store cannot be read');
    throw unavailable(
      'The data store of audit events cannot be read; the condition AuditWritten of the Config has the reason',
      RETRY_SECONDS,
    );
  });
  if (events === undefined) throw noSuchRoute();
  const head = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[';
  return { code: 200, contentType: JSON_TYPE, body: Buffer.from(`${head}${events.join(',')}]}`) };
}

/** Throws 400 for unknown fields: a misspelt filter would match too much. */
function queryOf(query: URLSearchParams): EventQuery {
  const known: string[] = [...FIELDS.map(([name]) => name), ...TIMES, 'limit'];
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw badRequest(`unknown parameter ${JSON.stringify(unknown)}; use ${known.join(', ')}`);
  }
  const limit = Number(query.get('limit') ?? USUAL_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LIMIT) {
    throw badRequest(`limit: must be a number from 1 to ${MOST_LIMIT}`);
  }
  const texts = FIELDS.map(([name, field]) => [field, query.get(name) ?? undefined]);
  const times = TIMES.map((name) => [name, timeOf(name, query.get(name))]);
  return { ...Object.fromEntries([...texts, ...times]), limit };
}

function timeOf(name: string, text: string | null): number | undefined {
  if (text === null) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw badRequest(`${name}: must be a time, as in 2026-01-31T12:00:00Z`);
  return time;
}

function takeEvents(deps: ServerDependencies, request: ApiRequest): Answer {
  if (deps.config.current.audit?.disableAgentSyncBack === true) {
    throw forbiddenError('Agents keep their events: audit.disableAgentSyncBack is set');
  }
  if (!deps.audit.isOn) throw forbiddenError('Nothing is recorded: audit.enabled is not set');
  const { value } = decodeBody(request.body, bodyFormatOf(header(request, 'content-type')));
  const events = relayedEvents(value, request.user?.name ?? '');
  if (typeof events === 'string') throw badRequest(events);
  if (!deps.audit.relay(events)) {
    throw tooManyRequests(
      'Too many events wait for the audit log: send these again',
      RETRY_SECONDS,
    );
  }
  return jsonAnswer({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
}

/** One line of the audit log: an `Event` of `audit.k8s.io/v1`, as JSON. */
import type { User } from '../apimachinery/request.ts';
import type { AuditedRequest, AuditLevel, AuditStage } from './policy.ts';
import { redactedUrl } from './redaction.ts';

/** What is known of a request before it is answered. */
export interface AuditedCall extends AuditedRequest {
  /** Goes into the commit of a write as `Request-Id`. */
  readonly id: string;
  readonly who: User;
  readonly url: string;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string | undefined;
  readonly apiVersion: string;
  /** In milliseconds. */
  readonly receivedAt: number;
}

/** How a request was answered. */
export interface AuditedAnswer {
  readonly code: number;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** The commit that it made. */
  readonly revision?: string | undefined;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  /** The same as JSON on one line, where nothing has to be taken out of it. */
  readonly responseJson?: string | undefined;
  /** By the last part of the name of the annotation. */
  readonly remarks?: Readonly<Record<string, string>>;
}

const LONGEST_USER_AGENT = 1024;

export function eventLine(of: {
  readonly call: AuditedCall;
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  /** In milliseconds. */
  readonly now: number;
  readonly answer?: AuditedAnswer | undefined;
}): string {
  const { call, level, stage, now, answer } = of;
  const { who, userAgent } = call;
  const event = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: call.id,
    stage,
    requestURI: redactedUrl(call.url),
    verb: call.verb,
    user: userOf(who),
    sourceIPs: call.sourceIPs,
    ...(userAgent === undefined ? {} : { userAgent: shortened(userAgent) }),
    ...objectRef(call),
    ...(answer === undefined ? {} : answered(answer)),
    requestReceivedTimestamp: micro(call.receivedAt),
    stageTimestamp: micro(now),
    ...annotations(answer),
  };
  const text = JSON.stringify(event);
  const json = answer?.responseJson;
  return json === undefined ? `${text}\n` : `${text.slice(0, -1)},"responseObject":${json}}\n`;
}

function userOf({ name, groups, uid }: User): object {
  return { username: name, ...(uid === undefined ? {} : { uid }), groups };
}

function shortened(text: string): string {
  return text.length <= LONGEST_USER_AGENT
    ? text
    : `${text.slice(0, LONGEST_USER_AGENT)}...TRUNCATED`;
}

function objectRef({ resource, apiVersion }: AuditedCall): object {
  if (resource === undefined) return {};
  const { group, subresource, namespace, name } = resource;
  const given = { namespace, name, apiGroup: group, apiVersion, subresource };
  const filled = Object.entries(given).filter(([, value]) => value !== '');
  return { objectRef: { resource: resource.resource, ...Object.fromEntries(filled) } };
}

function answered({ code, reason, message, ...bodies }: AuditedAnswer): object {
  const failed = code >= 400 ? { status: 'Failure', reason, message } : {};
  return {
    responseStatus: { metadata: {}, ...failed, code },
    requestObject: bodies.requestObject,
    responseObject: bodies.responseObject,
  };
}

function annotations(answer: AuditedAnswer | undefined): object {
  if (answer === undefined) return {};
  const { code, revision, remarks = {} } = answer;
  const own = Object.entries(remarks).map(([name, text]) => [`gitplane.dev/${name}`, text]);
  return {
    annotations: {
      ...(code === 401
        ? {}
        : { 'authorization.k8s.io/decision': code === 403 ? 'forbid' : 'allow' }),
      ...(revision === undefined ? {} : { 'gitplane.dev/revision': revision }),
      ...Object.fromEntries(own),
    },
  };
}

/** RFC 3339 with six decimals, as Kubernetes' MicroTime. */
function micro(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}

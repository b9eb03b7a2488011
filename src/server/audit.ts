/** What the audit log is told of a request, and of its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRecord } from '../apimachinery/object.ts';
import type { User } from '../apimachinery/request.ts';
import type { AuditTrail } from '../audit/auditor.ts';
import type { AuditedAnswer, AuditedCall } from '../audit/event.ts';
import type { RequestTarget } from '../audit/policy.ts';
import { isPlain, redactedRequest, redactedResponse } from '../audit/redaction.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ServerDependencies } from './dependencies.ts';
import { decodeBody, mediaTypeOf } from './input/body.ts';
import type { RequestInfo } from './input/request-info.ts';
import type { Answer } from './output/answer.ts';
import { JSON_TYPE } from './output/negotiation.ts';

/** Who asks without a key that works. */
const STRANGER: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** What is known of a request when its record begins. */
export interface Recorded {
  readonly request: FastifyRequest;
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

/** Undefined: nothing of the request is recorded. */
export function beginAudit(
  deps: ServerDependencies,
  { request, info, user = STRANGER }: Recorded,
): AuditTrail | undefined {
  if (!deps.audit.isOn) return undefined;
  const { headers, ip, id, url } = request;
  const call: AuditedCall = {
    id,
    who: user,
    user: user.name,
    groups: user.groups,
    url,
    path: info.path,
    verb: info.verb,
    sourceIPs: [ip],
    userAgent: headers['user-agent'],
    receivedAt: deps.clock.now(),
    ...targetOf(deps.root),
    ...resourceOf(deps, info),
  };
  const trail = deps.audit.begin(call);
  trail?.received();
  return trail;
}

/** The root of a cluster that is served ends in its door and its name. */
function targetOf(root: string): { target: RequestTarget; cluster: string | undefined } {
  const match = /\/(cluster|virtualcluster)\/([^/]+)$/.exec(root);
  if (match === null) return { target: 'Management', cluster: undefined };
  const target = match[1] === 'cluster' ? 'Cluster' : 'VCluster';
  return { target, cluster: match[2] };
}

function resourceOf(
  deps: ServerDependencies,
  info: RequestInfo,
): Pick<AuditedCall, 'resource' | 'apiVersion'> {
  if (!info.isResource) return { resource: undefined, apiVersion: '' };
  const { group, subresource, namespace, version } = info;
  const resource = deps.kinds.byPlural(group, info.resource)?.plural ?? info.resource;
  const name = info.name || info.selectedName;
  return { resource: { group, resource, subresource, namespace, name }, apiVersion: version };
}

/** The end of a record. Bodies are read only where the policy wants them. */
export function endAudit(
  trail: AuditTrail,
  of: Recorded & { readonly deps: ServerDependencies; readonly answer: Answer },
): void {
  const { deps, info, answer, request } = of;
  const remarks: Record<string, string> = {};
  const kind = info.isResource ? deps.kinds.byPlural(info.group, info.resource) : undefined;
  // Of anything but objects nobody knows what in its bodies is secret.
  const hasBodies = info.isResource && info.subresource === '' && trail.level !== 'Metadata';
  const revision = answer.headers?.['gitplane-commit'];
  const failure = answer.code >= 400 ? failureOf(answer) : {};
  const user = of.user?.accessKey;
  if (user !== undefined) remarks['access-key'] = user;
  trail.ended({
    code: answer.code,
    ...failure,
    revision,
    requestObject: hasBodies ? requestObject(kind, request, remarks) : undefined,
    ...(hasBodies && trail.level === 'RequestResponse' ? responseBody(kind, answer, remarks) : {}),
    remarks,
  });
}

function failureOf({ body }: Answer): Pick<AuditedAnswer, 'reason' | 'message'> {
  const status = parsed(body);
  if (!isRecord(status)) return {};
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  return { reason: text(status['reason']), message: text(status['message']) };
}

const LARGEST_BODY = 2 * 1024 * 1024;

function requestObject(
  kind: Kind | undefined,
  { body, headers }: FastifyRequest,
  remarks: Record<string, string>,
): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  if (body.length > LARGEST_BODY) return omitted(remarks, 'request', 'too-large');
  const type = mediaTypeOf(headers['content-type']);
  if (type.includes('protobuf')) return omitted(remarks, 'request', 'unsupported-encoding');
  try {
    const { value } = decodeBody(body, type.includes('yaml') ? 'yaml' : 'json');
    const found = redactedRequest(kind, value);
    return 'value' in found ? found.value : omitted(remarks, 'request', found.omitted);
  } catch {
    return omitted(remarks, 'request', 'decode-failed');
  }
}

const NEW_LINE = 0x0a;

function responseBody(
  kind: Kind | undefined,
  { body, contentType }: Answer,
  remarks: Record<string, string>,
): Pick<AuditedAnswer, 'responseObject' | 'responseJson'> {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  if (bytes.length > LARGEST_BODY) {
    omitted(remarks, 'response', 'too-large');
    return {};
  }
  if (contentType !== JSON_TYPE) {
    omitted(remarks, 'response', 'unsupported-encoding');
    return {};
  }
  // Parsing takes longer than all the rest.
  if (kind !== undefined && isPlain(kind) && !bytes.includes(NEW_LINE)) {
    return { responseJson: bytes.toString() };
  }
  return { responseObject: redactedResponse(kind, parsed(bytes)) };
}

function parsed(body: Answer['body']): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function omitted(remarks: Record<string, string>, which: string, why: string): undefined {
  remarks[`${which}-object-omitted`] = why;
  return undefined;
}

/** Of an answer that others write to the socket: a watch, a push. */
export function endAuditWithAnswer(trail: AuditTrail, reply: FastifyReply, user?: User): void {
  const key = user?.accessKey;
  const remarks = key === undefined ? {} : { 'access-key': key };
  reply.raw.once('close', () => trail.ended({ code: reply.raw.statusCode, remarks }));
}

/** The idempotency key of a write, and a digest that tells it from other writes with the same key. */
import { createHmac } from 'node:crypto';
import { badRequest, isRecord } from '../../apimachinery/index.ts';
import type { WriteOptions } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { identityIn, sentObject } from '../filters/audit-bodies.ts';
import { type AuditedObjects, auditedObjects } from '../filters/audited-encryption.ts';
import { header, type ResourceRequest } from '../request.ts';

type Idempotency = Pick<WriteOptions, 'idempotencyKey' | 'idempotencyDigest' | 'requestDigest'>;

/** Query parameters that do not change the outcome of a write. */
const OF_NO_MATTER = ['pretty', 'timeout'];
const PRINTABLE = /^[\x20-\x7e]{1,256}$/;
/** 128 bits. */
const DIGITS = 32;

/** Throws 400. `hasSecrets`: the present version of the object has secret values. */
export function idempotencyOf(
  deps: Pick<ServerDependencies, 'store' | 'encryption'>,
  request: ResourceRequest,
  hasSecrets: boolean,
): Idempotency {
  const idempotencyKey = header(request, 'idempotency-key');
  if (idempotencyKey === undefined || idempotencyKey === '') return {};
  if (!PRINTABLE.test(idempotencyKey)) {
    throw badRequest('Idempotency-Key must be at most 256 printable ASCII characters');
  }
  const requestDigest = digestOf(request, idempotencyKey);
  // A reader of the commit has every other input of the digest and could guess a secret by trial, so
  // that the digest for an object with secrets stays in memory.
  const { kind, info } = request;
  const { secretPaths, writeOnly } = kind;
  const isPlain = !hasSecrets && secretPaths.length === 0 && writeOnly.length === 0;
  const isTold = isPlain && !isEncrypted(auditedObjects(deps, info, kind), request);
  return { idempotencyKey, requestDigest, idempotencyDigest: isTold ? requestDigest : undefined };
}

/** True if `.sops.yaml` encrypts what the request writes, or may do so. */
function isEncrypted({ kind, encryptedOf }: AuditedObjects, request: ResourceRequest): boolean {
  const { info, body } = request;
  const method = info.verb.startsWith('delete') ? 'DELETE' : 'POST';
  const sent = sentObject(kind, { method, body, type: header(request, 'content-type') });
  // It cannot be read here, or is a deletion without options.
  if (sent === undefined) return body.length > 0;
  const named = isRecord(sent) ? identityIn(sent['metadata']) : {};
  return encryptedOf(named, sent) !== undefined;
}

/** Digest of the request as received: a retry sends the same bytes. */
function digestOf(request: ResourceRequest, idempotencyKey: string): string {
  const { kind, info, body } = request;
  const { verb, group, version, subresource, namespace, name } = info;
  const query = [...info.query].filter(([option]) => !OF_NO_MATTER.includes(option)).sort();
  const type = header(request, 'content-type') ?? '';
  const what = [verb, group, version, kind.kind, subresource, namespace, name, query, type];
  const hmac = createHmac('sha256', idempotencyKey).update(`${JSON.stringify(what)}\n`);
  return hmac.update(body).digest('hex').slice(0, DIGITS);
}

/**
 * Bodies in the audit log: on one line, without secrets, and made from stored bytes where possible.
 */
import { isRecord } from '../../apimachinery/index.ts';
import {
  type AuditedBodies,
  isPlain,
  type ObjectIdentity,
  redactedRequest,
  redactedResponse,
} from '../../audit/index.ts';
import type { Kind, SecretPaths } from '../../kinds/index.ts';
import { encryptedFields } from '../../registry/index.ts';
import { decodeBody, mediaTypeOf } from '../input/body.ts';
import { MAX_PATCH_OPERATIONS } from '../input/json-patch.ts';
import { DELETE_OPTIONS_MESSAGE, KIND_MESSAGES } from '../input/kind-messages.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import { type Answer, bodyOf, lengthOf } from '../output/answer.ts';
import { JSON_TYPE } from '../output/negotiation.ts';
import { listParts, type ReadyObject } from '../output/representation.ts';
import { type AuditedObjects, encryptedValues, withoutTexts } from './audited-encryption.ts';

/** A rule of `.sops.yaml` decides about values of the body, and is not known. */
const UNKNOWN = 'encryption-unknown';
const LARGEST_BODY = 2 * 1024 * 1024;

interface AuditedRequestBody {
  readonly method: string;
  readonly body: unknown;
  readonly type: string | undefined;
}

/** `answer`: set if its body is recorded. */
export function auditedBodies(
  of: AuditedObjects,
  request: AuditedRequestBody,
  answer: Answer | undefined,
): AuditedBodies {
  const asked = requestBody(of, request);
  const answered = answer && responseBody(of, answer, () => valuesOf(of, request));
  if (asked === undefined) return answered ?? {};
  const annotations =
    asked.annotations === undefined && answered?.annotations === undefined
      ? undefined
      : { ...asked.annotations, ...answered?.annotations };
  return { ...asked, ...answered, annotations };
}

/** Encrypted values of a request, for texts that quote them. */
function valuesOf({ kind, encryptedOf }: AuditedObjects, request: AuditedRequestBody): string[] {
  const sent = sentObject(kind, request);
  const named = isRecord(sent) ? identityIn(sent['metadata']) : {};
  return encryptedValues(encryptedOf(named, sent), [sent]);
}

/** Undefined: the request had no body. */
function requestBody(
  { kind, encryptedOf }: AuditedObjects,
  request: AuditedRequestBody,
): AuditedBodies | undefined {
  const read = decoded(kind, request);
  if (read === undefined) return undefined;
  if ('omitted' in read) return omitted('request', read.omitted);
  try {
    const named = isRecord(read.value) ? identityIn(read.value['metadata']) : {};
    const encrypted = encryptedOf(named, read.value);
    if (encrypted === 'unknown') return omitted('request', UNKNOWN);
    const found = redactedRequest(kind, read.value, encrypted);
    return 'value' in found
      ? { requestObject: JSON.stringify(found.value) }
      : omitted('request', found.omitted);
  } catch {
    return omitted('request', 'decode-failed');
  }
}

/** Identity of the object in the body of a refused create. */
export function namedInBody(kind: Kind | undefined, request: AuditedRequestBody): ObjectIdentity {
  const object = sentObject(kind, request);
  return isRecord(object) ? identityIn(object['metadata']) : {};
}

/** The body of a request, decoded. Undefined: there is none, or it cannot be read. */
export function sentObject(kind: Kind | undefined, request: AuditedRequestBody): unknown {
  const read = decoded(kind, request);
  return read !== undefined && 'value' in read ? read.value : undefined;
}

export function identityIn(metadata: unknown): ObjectIdentity {
  if (!isRecord(metadata)) return {};
  const given = IDENTITY.flatMap((field) => {
    const value = metadata[field];
    // No name is longer.
    return typeof value === 'string' && value.length <= LONGEST_NAME ? [[field, value]] : [];
  });
  return Object.fromEntries(given);
}

const IDENTITY = ['namespace', 'name', 'uid'] as const;
const LONGEST_NAME = 253;

type Decoded = { readonly value: unknown } | { readonly omitted: string };

/** Undefined: there is no body. */
function decoded(
  kind: Kind | undefined,
  { method, body, type: contentType }: AuditedRequestBody,
): Decoded | undefined {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  if (body.length > LARGEST_BODY) return { omitted: 'too-large' };
  const type = mediaTypeOf(contentType);
  const message = method === 'DELETE' ? DELETE_OPTIONS_MESSAGE : kind && KIND_MESSAGES.get(kind);
  if (type.includes('protobuf') && message === undefined) {
    return { omitted: 'unsupported-encoding' };
  }
  try {
    const { value } = type.includes('protobuf')
      ? decodeTypedBody(body, type, message)
      : decodeBody(body, type.includes('yaml') ? 'yaml' : 'json');
    const isRefused = Array.isArray(value) && value.length > MAX_PATCH_OPERATIONS;
    return isRefused ? { omitted: 'too-large' } : { value };
  } catch {
    return { omitted: 'decode-failed' };
  }
}

/** `hidden`: values of the request that an answer may not repeat. */
function responseBody(
  of: AuditedObjects,
  answer: Answer,
  hidden: () => readonly string[],
): AuditedBodies {
  const { kind } = of;
  const { contentType, shown } = answer;
  if (lengthOf(answer) > LARGEST_BODY) return omitted('response', 'too-large');
  if (contentType !== JSON_TYPE) return omitted('response', 'unsupported-encoding');
  const bytes = bodyOf(answer);
  if (kind !== undefined && shown !== undefined) {
    const { head, items } = shown;
    const safe = items.flatMap((ready) => withoutSecrets(of, ready) ?? []);
    if (safe.length < items.length) return omitted('response', UNKNOWN);
    // Stored bytes are on one line each.
    if (safe.every((one, at) => one === items[at])) return { responseObject: bytes };
    return { responseObject: head === undefined ? safe[0]?.json() : bodyOf(listParts(head, safe)) };
  }
  const body = parsed(bytes);
  let isKnown = true;
  const encryptedOf = (object: unknown): SecretPaths | undefined => {
    if (!isRecord(object)) return undefined;
    const found = of.encryptedOf(identityIn(object['metadata']), object);
    isKnown &&= found !== 'unknown';
    return found === 'unknown' ? [] : found;
  };
  // A Status names an object, and its messages quote values of the request.
  const isStatus = isRecord(body) && body['kind'] === 'Status';
  const safe = isStatus
    ? withoutTexts(redactedResponse(kind, body), hidden())
    : redactedResponse(kind, body, encryptedOf);
  return isKnown ? { responseObject: encoded(safe) } : omitted('response', UNKNOWN);
}

/** Memoized per version of an object. */
const redacted = new WeakMap<ReadyObject, Pick<ReadyObject, 'json'>>();

/** Undefined: it is not known which values are secret. */
function withoutSecrets(
  { kind, encryptedOf }: AuditedObjects,
  ready: ReadyObject,
): Pick<ReadyObject, 'json'> | undefined {
  const found = redacted.get(ready);
  if (found !== undefined || kind === undefined) return found ?? ready;
  const encrypted =
    ready.provenance === undefined
      ? encryptedOf(identityIn(ready.object.metadata), ready.object)
      : encryptedFields(ready);
  if (encrypted === 'unknown') return undefined;
  if (encrypted === undefined && isPlain(kind)) {
    redacted.set(ready, ready);
    return ready;
  }
  const bytes = encoded(redactedResponse(kind, parsed(ready.json()), () => encrypted));
  const made = { json: () => bytes };
  redacted.set(ready, made);
  return made;
}

function encoded(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value) ?? 'null');
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function omitted(which: 'request' | 'response', why: string): AuditedBodies {
  return { annotations: { [`${which}-object-omitted`]: why } };
}

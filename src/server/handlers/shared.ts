/** Shared steps of the handlers. */
import { type KubeObject, type ObjectMeta, withoutValues } from '../../apimachinery/index.ts';
import { masked, type SecretPaths, secretsOf, valuesAt } from '../../kinds/index.ts';
import {
  encryptedFields,
  shownObject,
  type Target,
  type WriteOptions,
  type WriteResult,
} from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { authorizeRequest } from '../filters/access.ts';
import { fieldManagerOf, parseWriteOptions, type WriteOperation } from '../input/write-options.ts';
import type { Answer } from '../output/answer.ts';
import { negotiate, type Shape } from '../output/negotiation.ts';
import {
  type AnswerForm,
  encodeObject,
  type ReadyObject,
  readyObject,
} from '../output/representation.ts';
import { parseIncludeObject } from '../output/table.ts';
import { pastFilter } from '../past-filter.ts';
import { header, type ResourceRequest } from '../request.ts';
import { idempotencyOf } from './idempotency.ts';
import { previewAnswer, previewsOf } from './preview.ts';

/** Throws 406 if the server supports none of the accepted media types. */
export function answerForm(
  deps: ServerDependencies,
  request: ResourceRequest,
  shape: Shape,
): AnswerForm {
  const { query } = request.info;
  const wish = {
    accept: header(request, 'accept'),
    userAgent: header(request, 'user-agent'),
    query,
  };
  const { mediaType, transform, pretty } = negotiate(wish, shape);
  const includeObject = parseIncludeObject(query);
  return { mediaType, transform, pretty, includeObject, now: deps.clock.now() };
}

/**
 * Options of a write. By default unknown fields are refused, so that a misspelt key is never dropped
 * silently.
 */
export function writeOptions(
  deps: ServerDependencies,
  request: ResourceRequest,
  operation: WriteOperation,
): WriteOptions {
  const { query } = request.info;
  const parsed = parseWriteOptions(query, operation);
  return {
    user: request.user,
    dryRun: parsed.dryRun,
    force: parsed.force,
    fieldValidation: query.get('fieldValidation') ? parsed.fieldValidation : 'Strict',
    fieldManager: fieldManagerOf(parsed, header(request, 'user-agent')),
    requestId: request.id,
    ...idempotencyOf(deps, request, secretsIn(deps, request, request.info.name).length > 0),
    previews: previewsOf(request),
    reason: reasonOf(request),
  };
}

/** Header with the reason of a write: as UTF-8, or in the Latin-1 of HTTP. */
export function reasonOf(request: ResourceRequest): string | undefined {
  const text = header(request, 'gitplane-reason');
  if (text === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'));
  } catch {
    return text;
  }
}

/** True if the user of a write may read its object. */
export function mayRead(deps: ServerDependencies, request: ResourceRequest, name: string): boolean {
  const { kind, info, user } = request;
  const resource = { group: kind.group, resource: kind.plural, namespace: info.namespace, name };
  return deps.authorizer.authorize(user, { verb: 'get', ...resource }).allowed;
}

/** Paths of the secret values of an object, also of those that only its file encrypts; empty: it has none. */
export function secretsIn(
  { store }: Pick<ServerDependencies, 'store'>,
  { kind, info }: Pick<ResourceRequest, 'kind' | 'info'>,
  name: string,
  ...versions: (SecretPaths | undefined)[]
): SecretPaths {
  const { namespace } = info;
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  const present = name === '' ? undefined : store.get(key);
  const encrypted = [encryptedFields(present), ...versions];
  const isPlain = kind.secretPaths.length === 0 && encrypted.every((paths) => paths === undefined);
  return isPlain ? [] : secretsOf(kind, ...encrypted);
}

function encryptedIn({ stored, encrypted }: Pick<WriteResult, 'stored' | 'encrypted'>) {
  return [encryptedFields(stored), encrypted];
}

/** The object as the reader may see it: some kinds hide fields from users without the right to write. */
export function shownToReader<T extends ReadyObject>(
  deps: ServerDependencies,
  request: ResourceRequest,
  of: { readonly ready: T; readonly name: string },
): T | ReadyObject {
  const { kind, info, user } = request;
  const { ready, name } = of;
  if (kind.forReaders === undefined) return ready;
  const resource = { group: kind.group, resource: kind.plural, namespace: info.namespace, name };
  const mayWrite = ['update', 'patch'].some(
    (verb) => deps.authorizer.authorize(user, { verb, ...resource }).allowed,
  );
  return mayWrite ? ready : readyObject(kind.forReaders(shownObject(kind, ready)));
}

/**
 * The object in the answer to a write, without secrets if the user may not `get` it. `before`: the
 * version that the write replaced.
 */
export function shownAfterWrite(
  deps: ServerDependencies,
  request: ResourceRequest,
  result: Omit<WriteResult, 'warnings'>,
  before?: ReadyObject,
): ReadyObject {
  const { object, stored, isReplayed } = result;
  const { group, kind } = request.kind;
  const { name = '', namespace = '', uid } = object.metadata;
  const life = { key: { group, kind, namespace, name }, uid };
  const isHidden = isReplayed === true && pastFilter(deps, request)?.(life) === false;
  if (isHidden) return readyObject(namedOnly(object));
  const { storedIn } = request.kind;
  // A manifest that left git has no record of its encrypted values.
  const isLeaving = storedIn === 'git' && object.metadata.deletionTimestamp !== undefined;
  if (isLeaving && before === undefined && !mayRead(deps, request, name)) {
    return readyObject(leavingOnly(object));
  }
  const secrets = secretsIn(deps, request, name, ...encryptedIn(result), encryptedFields(before));
  if (secrets.length === 0 || mayRead(deps, request, name)) {
    return shownToReader(deps, request, { ready: stored ?? readyObject(object, before), name });
  }
  return readyObject(masked(object, [], secrets) as KubeObject);
}

/** Warnings about an object, without its secret values if the user may not `get` it. */
function shownWarnings(
  deps: ServerDependencies,
  request: ResourceRequest,
  result: WriteResult,
): readonly string[] {
  const { object, warnings } = result;
  const { name = '' } = object.metadata;
  if (warnings.length === 0) return warnings;
  const secrets = secretsIn(deps, request, name, ...encryptedIn(result));
  if (secrets.length === 0 || mayRead(deps, request, name)) return warnings;
  const values = valuesAt([object], secrets);
  return warnings.map((text) => withoutValues(text, values));
}

const OF_CLIENT = ['name', 'namespace'] as const;
const OF_SERVER = ['uid', 'creationTimestamp', 'deletionTimestamp'] as const;

/** An object that waits for its finalizers, without what its manifest gave. */
function leavingOnly(object: KubeObject): KubeObject {
  return withMetadata(object, [...OF_CLIENT, ...OF_SERVER]);
}

/** The parts of a deleted object that the client named itself. */
function namedOnly(object: KubeObject): KubeObject {
  return withMetadata(object, OF_CLIENT);
}

function withMetadata(
  { apiVersion, kind, metadata }: KubeObject,
  fields: readonly (keyof ObjectMeta)[],
): KubeObject {
  const kept = fields.flatMap((field) => (field in metadata ? [[field, metadata[field]]] : []));
  return { apiVersion, kind, metadata: Object.fromEntries(kept) };
}

/** The answer to a create: the object as its user wrote it. */
export async function createdAnswer(
  deps: ServerDependencies,
  request: ResourceRequest,
  result: WriteResult,
): Promise<Answer> {
  return await answerWith(deps, request, {
    result,
    ready: result.stored ?? readyObject(result.object),
    code: 201,
  });
}

/** The answer to any other write. */
export async function objectAnswer(
  deps: ServerDependencies,
  request: ResourceRequest,
  result: WriteResult,
  code: number,
): Promise<Answer> {
  return await answerWith(deps, request, {
    result: { ...result, warnings: shownWarnings(deps, request, result) },
    ready: shownAfterWrite(deps, request, result),
    code,
  });
}

async function answerWith(
  deps: ServerDependencies,
  request: ResourceRequest,
  of: { result: WriteResult; ready: ReadyObject; code: number },
): Promise<Answer> {
  const { result, ready, code } = of;
  const form = answerForm(deps, request, 'object');
  if (previewsOf(request).length > 0) {
    return await previewAnswer(deps, request, { result, ready, form, code });
  }
  const headers = result.commit === undefined ? {} : { 'gitplane-commit': result.commit };
  const { warnings, object } = result;
  const written = object.metadata;
  return { code, warnings, headers, written, ...encodeObject(request.kind, ready, form) };
}

/** Observes the time of a write from its arrival until it is durable and visible. */
export async function timed<T extends WriteResult>(
  deps: ServerDependencies,
  write: Promise<T>,
): Promise<T> {
  const started = performance.now();
  const result = await write;
  if (result.commit !== undefined) {
    deps.metrics.writeToCommit.observe((performance.now() - started) / 1000);
  }
  return result;
}

export function targetOf({ kind, info }: ResourceRequest): {
  kind: ResourceRequest['kind'];
  namespace: string;
  name: string;
} {
  return { kind, namespace: info.namespace, name: info.name };
}

/**
 * The same for a write, which runs later. A right on one name counts only for the object that has the
 * name now.
 */
export function writeTarget(deps: ServerDependencies, request: ResourceRequest): Target {
  const target = targetOf(request);
  const { kind, info, user } = request;
  const { verb, namespace, name } = info;
  const every = { verb, group: kind.group, resource: kind.plural, namespace, name: '' };
  if (deps.authorizer.authorize(user, every).allowed) return target;
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  return { ...target, rightOn: deps.store.get(key)?.object.metadata.uid };
}

/** A PUT that creates an object needs the right to create. */
export function requireCreate(
  deps: ServerDependencies,
  { kind, info, user }: ResourceRequest,
): void {
  const { namespace, name } = info;
  const attributes = { verb: 'create', group: kind.group, resource: kind.plural, namespace, name };
  authorizeRequest(deps, user, attributes);
}

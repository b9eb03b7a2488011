/** Decodes the body of a request to an object of the right kind and namespace. */
import {
  badRequest,
  cloneJson,
  dropEmptyMeta,
  type FieldError,
  firstProblems,
  formatPath,
  invalid,
  invalidObject,
  isKubeObject,
  isRecord,
  type KubeObject,
  type OwnerReference,
  SERVER_POPULATED_META,
  unknownField,
} from '../../apimachinery/index.ts';
import { apiVersionOf, type CompiledSchema, type Kind } from '../../kinds/index.ts';

/** Handling of fields that the schema does not have. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface Decoding {
  readonly kind: Kind;
  readonly schema: CompiledSchema;
  readonly fieldValidation: FieldValidation;
  /** From the URL; empty for kinds without a namespace. */
  readonly namespace: string;
  /** Duplicate keys of the body, in the words of the parser. */
  readonly duplicates: readonly string[];
  /** A patch that fails strict decoding is 422, a whole object 400, as in Kubernetes. */
  readonly isPatch: boolean;
}

/**
 * A copy of `body` with kind and namespace filled in and unknown fields removed; `warnings` are
 * texts for Warning headers. Throws 400 and 422 as Kubernetes does.
 */
export function decodeObject(
  body: unknown,
  decoding: Decoding,
): { object: KubeObject; warnings: string[] } {
  const { kind, schema, fieldValidation } = decoding;
  if (!isRecord(body)) {
    throw badRequest(`error decoding: expected an object of kind ${kind.kind}`);
  }
  const object = envelope(cloneJson(body), decoding);
  schema.dropNulls(object);
  const found = schema.check(object);
  const misshapen = found.find((error) => isNoObject(kind, error));
  if (misshapen !== undefined) throw misshapenError(object, misshapen, decoding);
  const unknown = [
    ...found.filter((error) => error.unknownField === true),
    ...schema.unknownInStatus(object).map((path) => unknownField(path, undefined)),
  ].map(describeUnknown);
  const problems = [...decoding.duplicates, ...unknown];
  if (problems.length > 0 && fieldValidation === 'Strict')
    throw strictError(object, problems, decoding);
  schema.prune(object);
  dropEmptyMeta(object.metadata);
  fillNamespace(object, decoding);
  const warnings = fieldValidation === 'Warn' ? problems : [];
  return { object, warnings: [...warnings, ...withoutDoubleOwners(object)] };
}

/** Removes repeated, equal owner references. */
function withoutDoubleOwners({ metadata }: KubeObject): string[] {
  const all = metadata.ownerReferences ?? [];
  const unique = new Map<string, OwnerReference>();
  const doubles: OwnerReference[] = [];
  for (const one of all) {
    const text = JSON.stringify(Object.entries(one).sort());
    if (unique.has(text)) doubles.push(one);
    else unique.set(text, one);
  }
  if (doubles.length === 0) return [];
  metadata.ownerReferences = [...unique.values()];
  const uids = [...new Set(doubles.map(({ uid }) => uid))].join(', ');
  return [
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`,
  ];
}

/** Removes fields that clients cannot set (spec section 2.2). */
export function stripServerFields(object: KubeObject): void {
  for (const field of SERVER_POPULATED_META) delete object.metadata[field];
  delete object.status;
}

function envelope(body: Record<string, unknown>, { kind, isPatch }: Decoding): KubeObject {
  const apiVersion = apiVersionOf(kind);
  const name = isRecord(body['metadata']) ? String(body['metadata']['name'] ?? '') : '';
  const isInferred = body['apiVersion'] === '' && !isPatch;
  const stated = isInferred ? undefined : body['apiVersion'];
  const sent = { apiVersion: stated ?? apiVersion, kind: body['kind'] || kind.kind };
  if (!isPatch) requireTexts(sent);
  if (sent.apiVersion !== apiVersion) {
    if (isPatch) {
      const ofNoGroup = { ...kind, group: '' };
      const detail = `must be ${apiVersion}`;
      throw invalidObject(ofNoGroup, name, [invalid(['apiVersion'], sent.apiVersion, detail)]);
    }
    throw badRequest(
      `the API version in the data (${String(sent.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (sent.kind !== kind.kind && kind.strategicMerge && !isPatch) {
    const version = JSON.stringify(kind.version);
    throw badRequest(
      `${String(sent.kind)} in version ${version} cannot be handled as a ${kind.kind}`,
    );
  }
  if (sent.kind !== kind.kind) {
    const ofItsKind = typeof sent.kind === 'string' ? { ...kind, kind: sent.kind } : kind;
    const detail = `must be ${kind.kind}`;
    throw invalidObject(ofItsKind, name, [invalid(['kind'], sent.kind, detail)]);
  }
  const { apiVersion: _given, kind: _kind, metadata: given, ...rest } = body;
  const metadata = given ?? {};
  const object = { apiVersion, kind: kind.kind, metadata, ...rest };
  if (isKubeObject(object)) return object;
  const words = 'metadata must be an object';
  if (isPatch) throw invalidObject(kind, name, [invalid(['patch'], metadata, words)]);
  throw badRequest(`error decoding: ${words}`);
}

function requireTexts(sent: Readonly<Record<string, unknown>>): void {
  const wrong = Object.keys(sent).find((field) => typeof sent[field] !== 'string');
  if (wrong !== undefined) {
    throw badRequest(`the object provided is unrecognized: ${wrong} must be a string`);
  }
}

/**
 * Kubernetes decodes metadata and its own kinds into Go types: a wrong type there makes the whole
 * body undecodable.
 */
function isNoObject({ strategicMerge }: Kind, { type, path }: FieldError): boolean {
  return type === 'FieldValueTypeInvalid' && (strategicMerge || path[0] === 'metadata');
}

function misshapenError(object: KubeObject, error: FieldError, decoding: Decoding): Error {
  const { kind, isPatch } = decoding;
  if (isPatch) {
    const { name } = object.metadata;
    return invalidObject(kind, typeof name === 'string' ? name : '', [
      { ...error, type: 'FieldValueInvalid', path: ['patch'] },
    ]);
  }
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${formatPath(error.path)}: ${error.message}`,
  );
}

function fillNamespace(object: KubeObject, { kind, namespace }: Decoding): void {
  if (kind.scope === 'Cluster') {
    delete object.metadata.namespace;
    return;
  }
  const own = object.metadata.namespace;
  if (own === undefined || own === '') object.metadata.namespace = namespace;
  else if (own !== namespace) {
    throw badRequest(
      `the namespace of the provided object does not match the namespace sent on the request (${own} is not ${namespace})`,
    );
  }
}

function describeUnknown(error: FieldError): string {
  const hint = /did you mean "([^"]+)"/.exec(error.message)?.[1];
  const suffix = hint === undefined ? '' : ` (did you mean "${hint}"?)`;
  return `unknown field ${JSON.stringify(formatPath(error.path))}${suffix}`;
}

function strictError(object: KubeObject, problems: readonly string[], decoding: Decoding): Error {
  const { kind } = decoding;
  const { shown, more } = firstProblems(problems);
  const text = `strict decoding error: ${[...shown, ...more].join(', ')}`;
  if (!decoding.isPatch) {
    return badRequest(
      `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${text}`,
    );
  }
  const { message: _words, ...error } = unknownField(['patch'], undefined);
  return invalidObject(kind, object.metadata.name ?? '', [
    { ...error, type: 'FieldValueInvalid', message: `Invalid value: ${text}` },
  ]);
}

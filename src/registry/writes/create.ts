/** POST: a new object becomes a new manifest (spec section 4; Kubernetes API, section 2.8). */
import { randomUUID } from 'node:crypto';
import { fillDefaults, objectProblems, objectWarnings } from '../../admission/index.ts';
import {
  alreadyExists,
  asKubeObject,
  badRequest,
  cloneJson,
  GENERATE_ATTEMPTS,
  generateName,
  generateNameExhausted,
  invalidObject,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  rfc3339,
  StatusError,
  withWarnings,
} from '../../apimachinery/index.ts';
import type { Managers } from '../../field-management/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { defaultPath, fanOutPaths } from '../../manifests/index.ts';
import { serveObject } from '../projection/served-object.ts';
import { authorOf, commitMessage } from './commit-message.ts';
import { decodeObject, stripServerFields } from './decode.ts';
import { type FieldWrite, managerOf, recordAfter } from './field-managers.ts';
import type { FormerFile } from './former-document.ts';
import { applyGuards } from './guards.ts';
import { missingDependencies } from './missing-dependencies.ts';
import { desiredPart } from './patch-manifest.ts';
import { createdInState } from './state-objects.ts';
import type { Prepared, Write } from './write.ts';
import { type DecisionParts, keyOf, type WriteOptions } from './write-context.ts';
import { byPath, takeWriteOnly, withConcealed } from './write-only.ts';

export interface CreateRequest {
  readonly kind: Kind;
  readonly namespace: string;
  readonly body: unknown;
  readonly duplicates: readonly string[];
  readonly options: WriteOptions;
  /** Path of the manifest; default: from the layout. */
  readonly path?: string | undefined;
  /** A past file of the restored object, whose bytes the manifest takes over. */
  readonly former?: FormerFile | undefined;
  /** Managers of its fields, if an apply creates it. */
  readonly managers?: Managers | undefined;
  /** The object is stored in the state alone: see `state-objects.ts`. */
  readonly inState?: true;
}

/** A valid create, ready to be decided under the mutex. */
export interface PreparedCreate extends Write {
  readonly warnings: readonly string[];
  /** The object as it would be served, with a provisional identity; for dry runs. */
  preview(): KubeObject;
  /** Values that the server generated; shown once, in the answer. */
  readonly generated: ReadonlyMap<readonly (string | number)[], string>;
}

/** Checks everything that does not depend on other objects. Throws StatusError. */
export function prepareCreate(parts: DecisionParts, request: CreateRequest): PreparedCreate {
  const { kind, options } = request;
  const schema = parts.kinds.schemaOf(kind);
  const decoded = decodeObject(request.body, { ...request, ...options, schema, isPatch: false });
  return withWarnings(decoded.warnings, () => prepareDecoded(parts, request, decoded));
}

function prepareDecoded(
  parts: DecisionParts,
  request: CreateRequest,
  decoded: ReturnType<typeof decodeObject>,
): PreparedCreate {
  const { kind, options } = request;
  const schema = parts.kinds.schemaOf(kind);
  const { object } = decoded;
  if (!['', '0'].includes(object.metadata.resourceVersion ?? '')) {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  stripServerFields(object);
  const name = nameFor(parts, kind, object);
  kind.canonicalize(object);
  const { concealed, generated, problems } = takeWriteOnly(kind, object, true);
  const served = cloneJson(object);
  fillDefaults(kind, schema, served);
  const errors = [...objectProblems(kind, schema, { object: served }), ...problems];
  if (errors.length > 0) throw invalidObject(kind, name, errors);
  const manifest = withConcealed(desiredPart(object), concealed);
  const key = keyOf({ kind, namespace: object.metadata.namespace ?? '', name });
  const fields: FieldWrite =
    request.managers === undefined
      ? { do: 'update', manager: managerOf(kind, options.fieldManager) }
      : { do: 'replace', managers: request.managers };
  const warnings = [
    ...decoded.warnings,
    ...objectWarnings(kind, served),
    ...missingDependencies(parts, { kind, object: served, user: options.user }),
  ];
  return {
    key,
    warnings,
    generated,
    preview: () => preview(kind, { key, manifest, now: parts.clock.now(), fields }),
    prepare: (inFlight) => {
      const { user } = options;
      const brings = byPath(concealed);
      const change = { user, kind, object: served, old: undefined, brings, inFlight };
      withWarnings(decoded.warnings, () => applyGuards(parts.guards, change));
      withWarnings(warnings, () => refuseExisting(parts, kind, key));
      if (request.inState === true) return createdInState({ kind, key, manifest }, parts);
      return commit(parts, { ...request, key, manifest, fields });
    },
  };
}

/** Resolves metadata.generateName before the commit, so that a manifest always has its name. */
function nameFor(parts: DecisionParts, kind: Kind, object: KubeObject): string {
  const { metadata } = object;
  if (metadata.name !== undefined && metadata.name !== '') return metadata.name;
  const base = metadata.generateName ?? (kind.namedByServer ? `${kind.singular}-` : '');
  if (base === '') {
    const path = ['metadata', 'name'];
    const message = 'Required value: name or generateName is required';
    throw invalidObject(kind, '', [{ type: 'FieldValueRequired', path, message }]);
  }
  let name = '';
  for (let attempt = 0; attempt < GENERATE_ATTEMPTS; attempt++) {
    name = generateName(base);
    const namespace = metadata.namespace ?? '';
    if (!parts.store.get(keyOf({ kind, namespace, name }))) {
      metadata.name = name;
      return name;
    }
  }
  throw generateNameExhausted(kind, name);
}

function refuseExisting(parts: DecisionParts, kind: Kind, key: ObjectKey): void {
  const existing = parts.store.get(key);
  if (existing?.object.metadata.deletionTimestamp !== undefined) {
    throw new StatusError(
      409,
      'AlreadyExists',
      `object is being deleted: ${alreadyExists(kind, key.name).message}`,
      { name: key.name, group: kind.group, kind: kind.plural },
    );
  }
  if (existing !== undefined) throw alreadyExists(kind, key.name);
}

function commit(
  parts: DecisionParts,
  write: Pick<CreateRequest, 'kind' | 'options' | 'path' | 'former'> & {
    key: ObjectKey;
    manifest: JsonObject;
    fields: FieldWrite;
  },
): Prepared {
  const { kind, key, manifest, options } = write;
  const standard = defaultPath(parts.under, kind.plural, key);
  const { path = standard } = write;
  return {
    do: 'commit',
    edit: {
      key,
      newPaths: path === standard ? fanOutPaths(standard) : [path],
      former: write.former,
      manifest: () => manifest,
    },
    author: authorOf(options.user),
    message: commitMessage('create', key, options),
    fields: write.fields,
  };
}

function preview(
  kind: Kind,
  of: { key: ObjectKey; manifest: JsonObject; now: number; fields: FieldWrite },
): KubeObject {
  const identity = {
    // A dry run commits nothing, so no object will ever have this uid.
    uid: randomUUID(),
    creationTimestamp: rfc3339(of.now),
    generation: 1,
  };
  const source = {
    identity,
    manifest: asKubeObject(of.manifest),
    problems: [],
  };
  const { object } = serveObject(kind, source, { previous: undefined, time: 0 });
  const time = rfc3339(of.now);
  const write = of.fields;
  const record = recordAfter(kind, {
    before: undefined,
    after: object,
    write,
    isInGit: true,
    time,
  });
  if (record !== undefined) object.metadata.managedFields = record;
  return object;
}

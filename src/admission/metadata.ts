/** Rules of `metadata` for every kind (spec section 2.2; messages of Kubernetes). */
import {
  dnsLabelProblems,
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  type KubeObject,
  labelValueProblems,
  type ObjectMeta,
  type OwnerReference,
  qualifiedNameProblems,
  required,
  tooLong,
} from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';

const ANNOTATIONS_LIMIT = 262_144;

/** Finalizers that Kubernetes defines; all others need a domain. */
const STANDARD_FINALIZERS = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** Every problem of an object's metadata. Its shape must be valid. */
export function metadataProblems(kind: Kind, object: KubeObject): FieldError[] {
  const meta = object.metadata;
  return [
    ...nameProblems(kind, meta),
    ...namespaceProblems(kind, meta),
    ...labelProblems(meta),
    ...annotationProblems(meta),
    ...finalizerProblems(meta),
    ...ownerReferenceProblems(meta.ownerReferences ?? []),
  ];
}

function nameProblems(kind: Kind, meta: ObjectMeta): FieldError[] {
  if (meta.name === undefined || meta.name === '') {
    return [required(['metadata', 'name'], 'name or generateName is required')];
  }
  return kind
    .nameRule(meta.name)
    .map((problem) => invalid(['metadata', 'name'], meta.name, problem));
}

function namespaceProblems(kind: Kind, meta: ObjectMeta): FieldError[] {
  const path = ['metadata', 'namespace'];
  if (kind.scope === 'Cluster') {
    return meta.namespace === undefined || meta.namespace === ''
      ? []
      : [forbidden(path, `not allowed on this type: ${kind.kind} has no namespace`)];
  }
  if (meta.namespace === undefined || meta.namespace === '') return [required(path)];
  return dnsLabelProblems(meta.namespace).map((problem) => invalid(path, meta.namespace, problem));
}

function labelProblems(meta: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    const path: FieldPath = ['metadata', 'labels', key];
    errors.push(...qualifiedNameProblems(key).map((text) => invalid(path, key, text)));
    errors.push(...labelValueProblems(value).map((text) => invalid(path, value, text)));
  }
  return errors;
}

function annotationProblems(meta: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(meta.annotations ?? {})) {
    const path: FieldPath = ['metadata', 'annotations', key];
    errors.push(
      ...qualifiedNameProblems(key.toLowerCase()).map((text) => invalid(path, key, text)),
    );
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_LIMIT)
    errors.push(tooLong(['metadata', 'annotations'], ANNOTATIONS_LIMIT));
  return errors;
}

function finalizerProblems(meta: ObjectMeta): FieldError[] {
  const finalizers = meta.finalizers ?? [];
  const path = ['metadata', 'finalizers'];
  const errors = finalizers.flatMap((name, index) =>
    qualifiedNameProblems(name).map((text) => invalid([...path, index], name, text)),
  );
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(
      invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    );
  }
  return errors;
}

/** Deprecated spellings; never refused. */
export function metadataWarnings(object: KubeObject): string[] {
  return (object.metadata.finalizers ?? [])
    .filter((name) => !name.includes('/') && !STANDARD_FINALIZERS.has(name))
    .map(
      (name) =>
        `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name ${name.includes('.') ? 'including a path (/) ' : ''}to avoid accidental conflicts with other finalizer writers`,
    );
}

function ownerReferenceProblems(references: readonly OwnerReference[]): FieldError[] {
  const path = ['metadata', 'ownerReferences'];
  const errors: FieldError[] = [];
  const uids = new Set<string>();
  for (const [index, reference] of references.entries()) {
    const at = [...path, index];
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (reference[field] === '') errors.push(invalid([...at, field], '', 'must not be empty'));
    }
    if (reference.apiVersion.split('/').length > 2) {
      errors.push(
        invalid([...at, 'apiVersion'], reference.apiVersion, 'version must not be empty'),
      );
    }
    if (reference.apiVersion === 'v1' && reference.kind === 'Event') {
      errors.push(invalid(at, reference.uid, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (uids.has(reference.uid)) errors.push(duplicate([...at, 'uid'], reference.uid));
    uids.add(reference.uid);
  }
  const controllers = references.filter((reference) => reference.controller === true);
  if (controllers.length > 1) {
    const [first, second] = controllers.map((reference) => reference.name);
    errors.push(
      invalid(
        path,
        controllers.map((reference) => reference.name),
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`,
      ),
    );
  }
  return errors;
}

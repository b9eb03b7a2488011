/**
 * Values in a request and its answer that a file of git encrypts beside the secret fields of the kind,
 * or that `.sops.yaml` would encrypt if the write was accepted.
 */
import { isRecord, type JsonObject, withoutValues } from '../../apimachinery/index.ts';
import type { ObjectIdentity } from '../../audit/index.ts';
import { type Kind, type SecretPaths, valuesAt } from '../../kinds/index.ts';
import { encryptedFields } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { MAX_DEPTH } from '../input/body.ts';
import type { ResourceInfo } from '../input/request-info.ts';

/** `unknown`: the body must not be recorded. Undefined: nothing is encrypted beside the secret fields. */
export type Encryption = SecretPaths | 'unknown' | undefined;

/** Kind of the objects in bodies, and their encrypted values. */
export interface AuditedObjects {
  readonly kind: Kind | undefined;
  /** `body`: the object, or a change of it. */
  encryptedOf(object: ObjectIdentity, body: unknown): Encryption;
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** Looks at the stored object at once: the record is made later, and a deletion may be between. */
export function auditedObjects(
  { store, encryption }: Pick<ServerDependencies, 'store' | 'encryption'>,
  info: ResourceInfo,
  kind: Kind | undefined,
): AuditedObjects {
  const { namespace } = info;
  const stored = (name: string | undefined): SecretPaths | undefined =>
    kind === undefined || name === undefined || name === ''
      ? undefined
      : encryptedFields(store.get({ group: kind.group, kind: kind.kind, namespace, name }));
  const ofUrl = stored(info.name);
  const planned = (name: string | undefined, body: unknown): Encryption => {
    if (kind === undefined || !WRITES.includes(info.verb)) return undefined;
    if (encryption === undefined) return kind.storedIn === 'git' ? 'unknown' : undefined;
    return isTooDeep(body)
      ? 'unknown'
      : encryption.pathsOf({ kind, namespace, name, parts: partsOf(body) });
  };
  return {
    kind,
    encryptedOf: (object, body) => {
      const isOther = object.namespace !== undefined && object.namespace !== namespace;
      const named = info.name || object.name;
      const found = ofUrl ?? (isOther ? storedAs(object) : stored(object.name));
      const more = planned(named, body);
      if (more === 'unknown' || found === undefined) return more;
      return [...found, ...(more ?? [])];
    },
  };

  /** A list of all namespaces. */
  function storedAs({ namespace: own = '', name = '' }: ObjectIdentity): SecretPaths | undefined {
    if (kind === undefined) return undefined;
    return encryptedFields(store.get({ group: kind.group, kind: kind.kind, namespace: own, name }));
  }
}

/** True for a JSON patch that names a place deeper than an object may be. */
function isTooDeep(body: unknown): boolean {
  return (
    Array.isArray(body) && body.some((operation) => (stepsOf(operation)?.length ?? 0) > MAX_DEPTH)
  );
}

/** Tokens of the pointer of an operation (RFC 6901). */
function stepsOf(operation: unknown): string[] | undefined {
  const path = isRecord(operation) ? operation['path'] : undefined;
  return typeof path === 'string' ? path.split('/', MAX_DEPTH + 2).slice(1) : undefined;
}

/** The object, or what the operations of a JSON patch put at their places, cut off at the limit of depth. */
export function partsOf(body: unknown): JsonObject[] {
  if (isRecord(body)) return [body as JsonObject];
  if (!Array.isArray(body)) return [];
  return body.flatMap((operation: unknown) => {
    const steps = stepsOf(operation);
    if (steps === undefined || !isRecord(operation)) return [];
    const part = steps.reduceRight<unknown>(
      (value, step) =>
        /^(\d+|-)$/.test(step)
          ? [value]
          : { [step.replaceAll('~1', '/').replaceAll('~0', '~')]: value },
      operation['value'],
    );
    return isRecord(part) ? [part as JsonObject] : [];
  });
}

/** Texts of bodies that a message must not repeat. */
export function encryptedValues(of: Encryption, bodies: readonly unknown[]): string[] {
  if (of === undefined) return [];
  const paths =
    of === 'unknown' ? [['spec'], ['metadata', 'labels'], ['metadata', 'annotations']] : of;
  return valuesAt(bodies.flatMap(partsOf), paths);
}

/** A copy of an answer without the values, in whatever text it repeats them. */
export function withoutTexts(value: unknown, values: readonly string[]): unknown {
  if (values.length === 0) return value;
  if (typeof value === 'string') return withoutValues(value, values);
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item, values));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutTexts(item, values)]),
  );
}

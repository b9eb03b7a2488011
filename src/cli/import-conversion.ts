/** Objects of other management clusters, and of Kubernetes, as objects of the platform. */
import {
  isRecord,
  type JsonObject,
  SERVER_POPULATED_META,
  shownPath,
} from '../apimachinery/index.ts';
import { apiVersionOf, type Kind, type KindTable } from '../kinds/index.ts';

/** Groups of the platform whose API gitplane speaks. */
export const FOREIGN_GROUPS = ['management.loft.sh', 'storage.loft.sh'] as const;

export interface Converted {
  readonly kind: Kind;
  readonly object: JsonObject & {
    readonly metadata: { readonly name: string; readonly namespace?: string };
  };
}

type LeftOut = { readonly reason: string };

/** Annotations of programs that keep copies of the object, with its secrets. */
const COPIES = ['kubectl.kubernetes.io/last-applied-configuration'];
const WITHOUT_FIELDS: readonly string[] = [
  ...SERVER_POPULATED_META,
  'ownerReferences',
  'finalizers',
];

export function convertObject(kinds: KindTable, given: JsonObject): Converted | LeftOut {
  const { metadata } = given;
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  if (!isRecord(metadata) || typeof name !== 'string' || name === '') {
    return { reason: 'it has no name' };
  }
  const source = given['kind'] === 'Secret' ? secretAsShared(kinds, given) : given;
  if ('reason' in source && typeof source['reason'] === 'string')
    return { reason: source['reason'] };
  const kind = kindOf(kinds, source as JsonObject);
  if (kind === undefined) return { reason: 'the platform has no such kind' };
  const refusal = refusalOf(kind, metadata);
  if (refusal !== undefined) return { reason: refusal };
  const { status: _status, apiVersion: _version, ...fields } = source as JsonObject;
  const { namespace } = metadata;
  const where = kind.scope === 'Namespaced' && typeof namespace === 'string' ? { namespace } : {};
  const meta = { ...keptMetadata(metadata), name, ...where };
  return {
    kind,
    object: { ...fields, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: meta },
  };
}

/** The same group, or one whose kinds have the same names. */
function kindOf(kinds: KindTable, { apiVersion, kind: name }: JsonObject): Kind | undefined {
  const [group = ''] = String(apiVersion).split('/');
  const isForeign = FOREIGN_GROUPS.some((foreign) => foreign === group);
  const wanted = isForeign ? kinds.groups[0] : group;
  return kinds.kinds.find((kind) => kind.kind === name && kind.group === wanted);
}

function refusalOf(kind: Kind, metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { name, labels, ownerReferences } = metadata;
  if (!kind.verbs.includes('create')) return 'objects of the kind are made by the platform';
  if (kind.plural === 'ownedaccesskeys') {
    return 'the text of a key is not taken over: make a new one with gitplane keys create';
  }
  const isBootstrap = isRecord(labels) && 'kubernetes.io/bootstrapping' in labels;
  if (isBootstrap || String(name).startsWith('system:')) return 'it belongs to Kubernetes itself';
  if (Array.isArray(ownerReferences) && ownerReferences.length > 0) {
    return 'another object owns it, and makes it anew';
  }
  return undefined;
}

function keptMetadata(metadata: Readonly<Record<string, unknown>>): JsonObject {
  const fields = Object.entries(metadata).filter(([field]) => !WITHOUT_FIELDS.includes(field));
  const kept = Object.fromEntries(fields) as JsonObject;
  const { annotations } = kept;
  if (!isRecord(annotations)) return kept;
  const own = Object.entries(annotations).filter(([name]) => !COPIES.includes(name));
  const { annotations: _annotations, ...others } = kept;
  return own.length === 0
    ? others
    : { ...others, annotations: Object.fromEntries(own) as JsonObject };
}

/** A Secret of a kind that people make. */
function secretAsShared(kinds: KindTable, secret: JsonObject): JsonObject | LeftOut {
  const { type = 'Opaque', data, metadata } = secret;
  if (type !== 'Opaque')
    return { reason: `secrets of type ${shownPath(String(type))} belong to a cluster` };
  const [group = ''] = kinds.groups;
  const kind = kinds.kinds.find((one) => one.group === group && one.plural === 'sharedsecrets');
  if (kind === undefined) return { reason: 'the platform has no shared secrets' };
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: metadata ?? {},
    spec: { data: data ?? {} },
  };
}

/**
 * Persisted provenance of an object beside its served form, from which the next start rebuilds the
 * catalog: a few facts, and the manifest unless it follows from the served form.
 */
import {
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type KubeObject,
  type ObjectKey,
  SERVER_POPULATED_META,
} from '../apimachinery/index.ts';
import type { SecretPaths } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { CatalogObject, ManifestSource } from './catalog-object.ts';
import type { OwnerBinding } from './owner-binding.ts';

/** An object in the state store, with its provenance. */
export interface PersistedObject {
  readonly key: ObjectKey;
  readonly object: KubeObject;
  provenance(): PersistedProvenance | undefined;
}

/** Provenance that the state store persists with an object. */
export interface PersistedProvenance {
  readonly facts: JsonValue;
  readonly text?: string | undefined;
}

/** Short, since there is one per object. */
export type ObjectFacts = readonly [
  path: string,
  index: number,
  line: number,
  blob: string,
  birth: string,
  birthTime: number,
  generation: number,
  problems: readonly Problem[],
  /**
   * Absent: the manifest is complete, has no plaintext secret and no encrypted value beside its
   * secrets, and the object has no owner binding.
   */
  flaws?: Flaws,
];

/** Facts that most objects do not have. */
export interface Flaws {
  readonly partial?: true;
  readonly clear?: readonly Problem[];
  readonly encrypted?: SecretPaths;
  /** Of an object with an owner binding: kind and name of the owner, and its incarnation. */
  readonly tie?: readonly [kind: string, name: string, life?: string, namespace?: string];
}

/**
 * Provenance for the served form of an object. Its text is the manifest, unless that follows from
 * `served`.
 */
export function provenanceOf(
  object: CatalogObject,
  parsed: { readonly manifest: KubeObject; readonly served: KubeObject },
): PersistedProvenance {
  return { facts: provenanceFacts(object), text: textOf(parsed) };
}

/** Provenance without the manifest. */
export function provenanceFacts({
  place,
  identity,
  source,
  problems,
  ownerBinding,
}: CatalogObject): JsonValue {
  const { birth, generation } = identity;
  const facts: ObjectFacts = [
    place.path,
    place.index,
    source.line,
    source.blob,
    birth.id,
    birth.committerTime,
    generation,
    problems,
    ...flawsOf(source, ownerBinding),
  ];
  return facts as unknown as JsonValue;
}

function flawsOf(
  { partial, clear = NONE, encrypted }: ManifestSource,
  binding: OwnerBinding | undefined,
): [Flaws] | [] {
  const isUsual = partial !== true && clear.length === 0 && encrypted === undefined;
  if (isUsual && binding === undefined) return [];
  return [
    {
      ...(partial === true && { partial }),
      ...(clear.length > 0 && { clear }),
      ...(encrypted && { encrypted }),
      ...(binding && { tie: bindingFacts(binding) }),
    },
  ];
}

function bindingFacts({ owner, incarnation }: OwnerBinding): NonNullable<Flaws['tie']> {
  const { kind, name, namespace } = owner;
  if (namespace !== '') return [kind, name, incarnation ?? '', namespace];
  return incarnation === undefined ? [kind, name] : [kind, name, incarnation];
}

/** The owner binding of an object, from its facts. */
export function persistedBinding(
  { group }: ObjectKey,
  tie: Flaws['tie'],
): OwnerBinding | undefined {
  if (tie === undefined) return undefined;
  const [kind, name, incarnation = '', namespace = ''] = tie;
  return { owner: { group, kind, namespace, name }, incarnation: incarnation || undefined };
}

/** Values of a served object that its file encrypts beside the secret fields of the kind. */
export function encryptedIn(
  stored: { provenance?(): unknown } | undefined,
): SecretPaths | undefined {
  const provenance = stored?.provenance?.();
  const facts = isRecord(provenance) ? provenance['facts'] : undefined;
  const flaws: unknown = Array.isArray(facts) ? facts[8] : undefined;
  return (flaws as Flaws | undefined)?.encrypted;
}

/** Provenance of an object whose served form changes, and whose manifest does not. */
export function persistedProvenance(
  stored: PersistedObject,
  served: KubeObject,
): PersistedProvenance | undefined {
  const facts = stored.provenance()?.facts;
  if (facts === undefined) return undefined;
  return { facts, text: textOf({ manifest: persistedManifest(stored), served }) };
}

function textOf(of: { manifest: KubeObject; served: KubeObject }): string | undefined {
  return jsonEqual(manifestIn(of.served), of.manifest) ? undefined : JSON.stringify(of.manifest);
}

const populated: ReadonlySet<string> = new Set(SERVER_POPULATED_META);

/** The manifest of an object that is served as written. */
function manifestIn(served: KubeObject): KubeObject {
  const { status: _status, ...manifest } = served;
  const metadata: JsonObject = {};
  // Deleting properties would make V8 use a slow representation.
  for (const [name, value] of Object.entries(served.metadata)) {
    if (!populated.has(name)) metadata[name] = value;
  }
  return { ...manifest, metadata };
}

/** True if the manifest of the persisted object is the one of `source`. */
export function isProvenanceOf(
  { blob, index }: ManifestSource & { readonly index: number },
  stored: Pick<PersistedObject, 'provenance'>,
): boolean {
  const facts = stored.provenance()?.facts as ObjectFacts | undefined;
  return facts?.[3] === blob && facts[1] === index;
}

/** The manifest of an object with provenance. */
export function persistedManifest(stored: PersistedObject): KubeObject {
  const text = stored.provenance()?.text;
  return text === undefined ? manifestIn(stored.object) : (JSON.parse(text) as KubeObject);
}

const NONE: readonly Problem[] = [];

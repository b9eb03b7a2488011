/**
 * What is kept of an object of the catalog beside its served form, so that the next start knows it: a
 * few facts, and the manifest where the served form does not tell it.
 */
import {
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type KubeObject,
  type ObjectKey,
  SERVER_POPULATED_META,
} from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { CatalogObject, ManifestSource } from './catalog-object.ts';
import type { Tie } from './tie.ts';

/** An object as the state store has it, with what was kept beside it. */
export interface PersistedObject {
  readonly key: ObjectKey;
  readonly object: KubeObject;
  provenance(): PersistedProvenance | undefined;
}

/** What the state store keeps beside an object. */
export interface PersistedProvenance {
  readonly facts: JsonValue;
  readonly text?: string | undefined;
}

/** Short, since there is one of them an object. */
export type ObjectFacts = readonly [
  path: string,
  index: number,
  line: number,
  blob: string,
  birth: string,
  birthTime: number,
  generation: number,
  problems: readonly Problem[],
  /** Absent: the manifest is whole, no secret in it is in the clear, and it is no access key. */
  flaws?: Flaws,
];

/** Facts that most objects do not have. */
export interface Flaws {
  readonly partial?: true;
  readonly clear?: readonly Problem[];
  /** Of an access key: kind and name of its owner, and the life of it that the key belongs to. */
  readonly tie?: readonly [kind: string, name: string, life?: string];
}

/**
 * What to keep beside the served form of an object. The text is its manifest, where that does not
 * follow from `served`.
 */
export function provenanceOf(
  { place, identity, source, problems, tie }: CatalogObject,
  parsed: { readonly manifest: KubeObject; readonly served: KubeObject },
): PersistedProvenance {
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
    ...flawsOf(source, tie),
  ];
  return { facts: facts as unknown as JsonValue, text: textOf(parsed) };
}

function flawsOf({ partial, clear = NONE }: ManifestSource, tie: Tie | undefined): [Flaws] | [] {
  if (partial !== true && clear.length === 0 && tie === undefined) return [];
  return [
    {
      ...(partial === true && { partial }),
      ...(clear.length > 0 && { clear }),
      ...(tie && { tie: tieFacts(tie) }),
    },
  ];
}

function tieFacts({ owner, life }: Tie): NonNullable<Flaws['tie']> {
  return life === undefined ? [owner.kind, owner.name] : [owner.kind, owner.name, life];
}

/** The tie of an access key, from its facts. */
export function persistedTie({ group }: ObjectKey, tie: Flaws['tie']): Tie | undefined {
  if (tie === undefined) return undefined;
  const [kind, name, life] = tie;
  return { owner: { group, kind, namespace: '', name }, life };
}

/** The remark of an object whose served form changes, and whose manifest does not. */
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

/** The manifest of an object that is served as it was written. */
function manifestIn(served: KubeObject): KubeObject {
  const { status: _status, ...manifest } = served;
  const metadata: JsonObject = {};
  // Taking fields out of an object would make it a slow one.
  for (const [name, value] of Object.entries(served.metadata)) {
    if (!populated.has(name)) metadata[name] = value as JsonValue;
  }
  return { ...manifest, metadata } as unknown as KubeObject;
}

/** The manifest of an object that has a remark of ours. */
export function persistedManifest(stored: PersistedObject): KubeObject {
  const text = stored.provenance()?.text;
  return text === undefined ? manifestIn(stored.object) : (JSON.parse(text) as KubeObject);
}

const NONE: readonly Problem[] = [];

/**
 * Reverse sync: labels and annotations that changed on the control-plane cluster flow back if a
 * patch with a reverseExpression names them. Every other change there is overwritten.
 *
 * The object carries a hash of each value from the last write. A value that differs from its hash
 * only on the control-plane cluster flows back; if the tenant changed it, the tenant wins. No value
 * flows back twice, whether the expressions are inverse or not.
 */
import { isRecord, type JsonObject, type KubeObject, valueAt } from '../apimachinery/index.ts';
import {
  labelsToTenant,
  longHash,
  matchPath,
  type PatchProgram,
  type Place,
  shortHash,
  TooManyMatchesError,
} from '../endpoint-patches/index.ts';
import { toKubeObject } from './kube-json.ts';
import { LEADER, MANAGED_ANNOTATIONS } from './managed-annotations.ts';

const PARTS = ['labels', 'annotations'] as const;
type Part = (typeof PARTS)[number];
type Values = Readonly<Record<Part, Readonly<Record<string, string>>>>;

/** Names that have a meaning only on the cluster where they were written. */
const NOT_SYNCED_BACK: ReadonlySet<string> = new Set([
  ...Object.values(MANAGED_ANNOTATIONS),
  LEADER,
  'kubectl.kubernetes.io/last-applied-configuration',
]);

export function hasReversePatch({ patches }: PatchProgram): boolean {
  return patches.some(({ expressions }) => expressions.reverse !== undefined);
}

/** Adds a hash of each value that may flow back. */
export function withHashes(wanted: KubeObject, program: PatchProgram): KubeObject {
  const values = valuesOf(wanted);
  const hashes = Object.fromEntries(
    PARTS.map((part) => [
      part,
      Object.fromEntries(
        namesIn(part, program, [wanted]).map((name) => [name, longHash(values[part][name] ?? '')]),
      ),
    ]),
  );
  const annotations = {
    ...values.annotations,
    [MANAGED_ANNOTATIONS.syncedValues]: JSON.stringify(hashes),
  };
  return { ...wanted, metadata: { ...wanted.metadata, annotations } };
}

/**
 * The wanted object with the changes made only on the control-plane cluster. Undefined: there are
 * none.
 */
export function changedOnTarget(
  wanted: KubeObject,
  actual: KubeObject,
  program: PatchProgram,
): KubeObject | undefined {
  const hashes = readHashes(actual);
  if (hashes === undefined) return undefined;
  const [here, there] = [valuesOf(wanted), valuesOf(actual)];
  const merged = { labels: { ...here.labels }, annotations: { ...here.annotations } };
  let found = false;
  for (const part of PARTS) {
    for (const name of namesIn(part, program, [wanted, actual])) {
      const [ours, theirs] = [here[part][name], there[part][name]];
      const before = hashes[part][name];
      if (ours === theirs || !isOf(before, ours)) continue;
      found = true;
      if (theirs === undefined) delete merged[part][name];
      else merged[part][name] = theirs;
    }
  }
  return found ? { ...wanted, metadata: { ...wanted.metadata, ...merged } } : undefined;
}

/** Earlier versions wrote the short hash; the next write replaces it. */
function isOf(hash: string | undefined, value: string | undefined): boolean {
  if (value === undefined || hash === undefined) return value === hash;
  return hash === longHash(value) || hash === shortHash(value);
}

/** The part that reverse expressions see: neither subsets nor a spec flows back. */
export function metadataOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata };
}

/**
 * The tenant object with the difference between two results of the reverse patches. Undefined:
 * unchanged.
 */
export function withDifference(
  object: KubeObject,
  { from, to }: { from: JsonObject; to: JsonObject },
  tenant: string,
): KubeObject | undefined {
  const owner = { tenant, namespace: object.metadata.namespace ?? '' };
  const [before, after] = [from, to].map((side) => {
    const { labels, annotations } = valuesOf(toKubeObject(side));
    const own = (labelsToTenant({ ...labels }, owner) ?? {}) as Record<string, string>;
    return { labels: own, annotations };
  });
  const now = valuesOf(object);
  const result = { labels: { ...now.labels }, annotations: { ...now.annotations } };
  let changes = false;
  for (const part of PARTS) {
    const [old, made] = [before?.[part] ?? {}, after?.[part] ?? {}];
    for (const name of new Set([...Object.keys(old), ...Object.keys(made)])) {
      if (
        NOT_SYNCED_BACK.has(name) ||
        old[name] === made[name] ||
        result[part][name] === made[name]
      )
        continue;
      changes = true;
      const value = made[name];
      if (value === undefined) delete result[part][name];
      else result[part][name] = value;
    }
  }
  return changes ? { ...object, metadata: { ...object.metadata, ...result } } : undefined;
}

/**
 * Names of the values that patches with a reverse expression reach in any of the objects, in order.
 */
function namesIn(part: Part, program: PatchProgram, objects: readonly KubeObject[]): string[] {
  const back = program.patches.filter(({ expressions }) => expressions.reverse !== undefined);
  const names = objects.flatMap((object) => {
    const all = Object.keys(valuesOf(object)[part]);
    const slim = metadataOnly(object);
    const places = placesOf(back, slim);
    return places.flatMap((place) => namesAt(place, part, all));
  });
  return [...new Set(names)].filter((name) => !NOT_SYNCED_BACK.has(name)).sort();
}

/** Values that all paths lead past together: they are followed in the thread of requests. */
const MOST_VISITED = 100_000;

/** Throws TooManyMatchesError. */
function placesOf(patches: PatchProgram['patches'], object: KubeObject): Place[] {
  let visited = 0;
  return patches.flatMap(({ path }) => {
    const matches = matchPath(object, path);
    visited += matches.visited;
    if (visited <= MOST_VISITED) return matches.places;
    throw new TooManyMatchesError(`the paths lead past more than ${MOST_VISITED} values`);
  });
}

/** A path to the whole object or its metadata covers all names. */
function namesAt([first, second, name]: Place, part: Part, all: readonly string[]): Names {
  if (first !== undefined && first !== 'metadata') return [];
  if (second !== undefined && second !== part) return [];
  return name === undefined ? all : [String(name)];
}

type Names = readonly string[];

function readHashes({ metadata }: KubeObject): Values | undefined {
  try {
    const value: unknown = JSON.parse(
      metadata.annotations?.[MANAGED_ANNOTATIONS.syncedValues] ?? '',
    );
    return { labels: textsAt(value, ['labels']), annotations: textsAt(value, ['annotations']) };
  } catch {
    // Absent or unreadable hashes: as if it were never synced.
    return undefined;
  }
}

function valuesOf(object: KubeObject): Values {
  const at = (part: Part) => textsAt(object, ['metadata', part]);
  return { labels: at('labels'), annotations: at('annotations') };
}

/** Without a prototype, since names are user input. */
function textsAt(value: unknown, path: readonly string[]): Record<string, string> {
  const found = valueAt(value, path);
  const texts: Record<string, string> = Object.create(null);
  for (const [name, text] of isRecord(found) ? Object.entries(found) : []) {
    if (typeof text === 'string') texts[name] = text;
  }
  return texts;
}

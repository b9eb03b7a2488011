/**
 * Three-way merge of the objects in a group of files: by identity, wherever a side has put them. An
 * object that one side touched is taken from it. One that both touched is merged field by field.
 */
import {
  type FieldPath,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  keyString,
  type ObjectKey,
  shownPath,
  valueAt,
} from '../../../apimachinery/index.ts';
import type { FileEntry } from '../../../catalog/index.ts';
import {
  appendDocument,
  formatLike,
  formatManifest,
  formatProblem,
  isEmptyStream,
  mergeDocument,
  mergeStream,
  mergeValues,
  readManifests,
  removeDocument,
  type StreamSlice,
  splitStream,
} from '../../../manifests/index.ts';
import { mayBeSealed, SOPS } from '../../../sealing/index.ts';
import type { Conflict } from './conflict.ts';

/** Texts of one path; undefined: there is no such file. */
export interface FileTexts {
  readonly base: string | undefined;
  readonly tip: string | undefined;
  readonly pushed: string | undefined;
}

/** A file in one version of the tree. */
interface FileVersion {
  readonly text: string;
  readonly entry: FileEntry;
}

type FileVersions = Readonly<Record<Side, FileVersion | undefined>>;

export interface ObjectMerge {
  /** Text per path; null: the file is removed. */
  readonly files: ReadonlyMap<string, string | null>;
  readonly conflicts: readonly Conflict[];
}

/** Reads a text as the catalog does. */
export type ReadEntry = (path: string, text: string) => FileEntry;

/** A document of an object. */
interface Found {
  readonly key: ObjectKey;
  readonly path: string;
  readonly index: number;
  readonly value: JsonObject;
  readonly slice: string;
}

type Side = keyof FileTexts;
const SIDES: readonly Side[] = ['base', 'tip', 'pushed'];

/**
 * Groups hold every path on which the sides have the same objects. A generator, since each parse of a
 * file takes the processor for a while: run it with `runYielding`.
 */
export function* mergeObjects(
  texts: ReadonlyMap<string, FileTexts>,
  read: ReadEntry,
): Generator<undefined, ObjectMerge> {
  const conflicts: Conflict[] = [];
  const group = new Map<string, FileVersions>();
  for (const [path, of] of texts) {
    const versions = yield* readVersions(path, of, read);
    conflicts.push(...flawsOf(path, versions));
    group.set(path, versions);
  }
  const found = { base: new Map(), tip: new Map(), pushed: new Map() } as Record<
    Side,
    Map<string, Found>
  >;
  for (const side of SIDES) conflicts.push(...(yield* collect(group, side, found[side])));
  if (conflicts.length > 0) return { files: new Map(), conflicts };
  const placed = new Map<string, Found[]>();
  for (const id of new Set(SIDES.flatMap((side) => [...found[side].keys()]))) {
    const versions = {
      base: found.base.get(id),
      tip: found.tip.get(id),
      pushed: found.pushed.get(id),
    };
    const merged = mergeObject(versions);
    if (Array.isArray(merged)) conflicts.push(...merged);
    else if (merged !== undefined) {
      placed.set(merged.path, [...(placed.get(merged.path) ?? []), merged]);
    }
  }
  const files = new Map<string, string | null>();
  if (conflicts.length > 0) return { files, conflicts };
  for (const [path, versions] of group) {
    const text = assemble({ path, versions, objects: placed.get(path) ?? [], read });
    yield;
    if (text === undefined) conflicts.push(notMerged(path));
    else files.set(path, text);
  }
  return { files, conflicts };
}

function* readVersions(
  path: string,
  texts: FileTexts,
  read: ReadEntry,
): Generator<undefined, FileVersions> {
  const versions: { [side in Side]?: FileVersion } = {};
  for (const side of SIDES) {
    const { [side]: text } = texts;
    if (text === undefined) continue;
    versions[side] = { text, entry: read(path, text) };
    yield;
  }
  return { base: versions.base, tip: versions.tip, pushed: versions.pushed };
}

function notMerged(path: string): Conflict {
  return { path, why: 'the changes of both sides cannot be put into one file' };
}

/** Files that cannot be merged, whatever they say. */
function flawsOf(path: string, versions: FileVersions): Conflict[] {
  for (const side of SIDES) {
    const file = versions[side];
    if (file === undefined) continue;
    const broken = file.entry.documents.find(({ key }) => key === undefined);
    const [problem] = broken?.problems ?? [];
    if (problem !== undefined) {
      const where = { base: 'before', tip: 'on the branch', pushed: 'in this push' }[side];
      return [
        {
          path,
          why: `both sides changed it, and ${where} it cannot be read: ${formatProblem(problem)}`,
        },
      ];
    }
    if (isSealed(file)) {
      const [first] = file.entry.documents;
      return [{ path, key: first?.key, why: 'both sides changed the file, and it is encrypted' }];
    }
  }
  return [];
}

function isSealed({ text, entry }: FileVersion): boolean {
  if (!mayBeSealed(text) || entry.documents.length === 0) return false;
  const file = readManifests(Buffer.from(text));
  return 'documents' in file
    ? file.documents.some(({ value }) => isRecord(value) && Object.hasOwn(value, SOPS))
    : true;
}

/** Adds the objects of one side; returns those that it has more than once. */
function* collect(
  group: ReadonlyMap<string, FileVersions>,
  side: Side,
  into: Map<string, Found>,
): Generator<undefined, Conflict[]> {
  const conflicts: Conflict[] = [];
  for (const [path, versions] of group) {
    const file = versions[side];
    if (file === undefined) continue;
    const read = readManifests(Buffer.from(file.text));
    const documents = 'documents' in read ? read.documents : [];
    const slices = splitStream(file.text);
    yield;
    for (const { key, index } of file.entry.documents) {
      const value = documents.find((document) => document.index === index)?.value;
      const slice = slices[index];
      if (key === undefined) continue;
      if (!isRecord(value) || slice === undefined) conflicts.push(notMerged(path));
      else if (into.has(keyString(key))) {
        conflicts.push({ path, key, why: 'one side has it more than once' });
      } else {
        const text = file.text.slice(slice.start, slice.end);
        into.set(keyString(key), { key, path, index, value: value as JsonObject, slice: text });
      }
    }
  }
  return conflicts;
}

type ObjectVersions = Readonly<Record<Side, Found | undefined>>;

/** Undefined: the object is removed. */
function mergeObject({ base, tip, pushed }: ObjectVersions): Found | undefined | Conflict[] {
  if (isSame(base, pushed) || isSame(tip, pushed)) return tip;
  if (isSame(base, tip)) return pushed;
  if (tip === undefined || pushed === undefined) return removed({ base, tip, pushed });
  const { key } = tip;
  const values = { base: base?.value, tip: tip.value, pushed: pushed.value };
  const merged = mergeValues(values);
  const { value } = merged;
  const conflicts = [...merged.conflicts, ...splitGrants(values, merged.conflicts)];
  if (conflicts.length > 0 || !isRecord(value)) {
    const why = 'the branch has changed it, and this push gives it another value';
    return conflicts.map((field) => ({ path: tip.path, key, field, why }));
  }
  const places = [tip.path, pushed.path].filter((path) => path !== base?.path);
  const [path = tip.path, another] = [...new Set(places)];
  if (base !== undefined && another !== undefined) {
    const why = `the branch has moved it there, and this push moves it to ${shownPath(pushed.path)}`;
    return [{ path: tip.path, key, why }];
  }
  const texts = { base: base?.slice ?? '', tip: tip.slice, pushed: pushed.slice };
  return { ...tip, path, value, slice: mergeDocument(texts, value) };
}

/** Fields that say who may do what: the result of both changes may be what neither side wrote. */
const GRANTS: readonly FieldPath[] = [
  ['spec', 'access'],
  ['spec', 'scope'],
];

/** Grants that both sides changed. */
function splitGrants(
  { base, tip, pushed }: Readonly<Record<Side, JsonObject | undefined>>,
  known: readonly FieldPath[],
): readonly FieldPath[] {
  if (known.length > 0) return [];
  return GRANTS.filter((path) => {
    const of = (object: JsonObject | undefined): JsonValue => valueAt(object, path) ?? null;
    const [was, ours, theirs] = [of(base), of(tip), of(pushed)] as const;
    return !jsonEqual(was, ours) && !jsonEqual(was, theirs) && !jsonEqual(ours, theirs);
  });
}

function isSame(a: Found | undefined, b: Found | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.path === b.path && a.slice === b.slice && jsonEqual(a.value, b.value);
}

/** One side removed the object, and the other touched it. */
function removed({ base, tip, pushed }: ObjectVersions): undefined | Conflict[] {
  const left = tip ?? pushed;
  if (left === undefined || (base !== undefined && jsonEqual(base.value, left.value))) {
    return undefined;
  }
  const why =
    tip === undefined
      ? 'the branch has removed it, and this push changes it'
      : 'the branch has changed it, and this push removes it';
  return [{ path: base?.path ?? left.path, key: left.key, why }];
}

interface Assembly {
  readonly path: string;
  readonly versions: FileVersions;
  /** Objects that belong to the file. */
  readonly objects: readonly Found[];
  readonly read: ReadEntry;
}

/** The text of one file; null: it is removed; undefined: it cannot be put together. */
function assemble(of: Assembly): string | null | undefined {
  const { base, tip, pushed } = of.versions;
  const whole =
    base && tip && pushed && mergeStream({ base: base.text, tip: tip.text, pushed: pushed.text });
  if (whole !== undefined && holds(of, whole)) return orNone(whole);
  // The choice does not depend on which side is the tip.
  const [start] = [tip, pushed]
    .filter((version) => version !== undefined)
    .sort((one, other) => (one.text < other.text ? -1 : 1));
  const { text: first = '', entry } = start ?? {};
  let text = first;
  const left = new Map(of.objects.map((object) => [keyString(object.key), object]));
  // From the end: a replacement leaves the slices before it where they are.
  let slices = splitStream(text);
  for (const { key, index } of (entry?.documents ?? []).toReversed()) {
    const object = key && left.get(keyString(key));
    if (object === undefined) {
      text = removeDocument(text, index);
      slices = splitStream(text);
    } else text = replaceSlice(text, slices[index], object.slice);
    if (key !== undefined) left.delete(keyString(key));
  }
  for (const { slice, value } of left.values()) text = append(text, { slice, value });
  return holds(of, text) ? orNone(text) : undefined;
}

function replaceSlice(text: string, at: StreamSlice | undefined, slice: string): string {
  if (at === undefined) return text;
  const isLast = at.end === text.length;
  const eol = isLast || slice.endsWith('\n') ? '' : '\n';
  return text.slice(0, at.start) + slice + eol + text.slice(at.end);
}

function append(text: string, { slice, value }: Pick<Found, 'slice' | 'value'>): string {
  const former = { text: slice, index: 0 };
  if (text.trim() !== '') return appendDocument(text, value, former);
  return formatLike(former, value) ?? formatManifest(value);
}

function orNone(text: string): string | null {
  return isEmptyStream(text) ? null : text;
}

/** True if a text has exactly these objects with these values. */
function holds({ path, objects, read }: Assembly, text: string): boolean {
  const wanted = new Map(objects.map((object) => [keyString(object.key), object.value]));
  const file = readManifests(Buffer.from(text));
  if (!('documents' in file)) return false;
  const { documents } = read(path, text);
  if (documents.length !== wanted.size) return false;
  return documents.every(({ key, index }) => {
    const value = file.documents.find((document) => document.index === index)?.value;
    const expected = key && wanted.get(keyString(key));
    return expected !== undefined && isRecord(value) && jsonEqual(value as JsonObject, expected);
  });
}

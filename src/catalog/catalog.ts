/**
 * The desired state at one revision: which object lives where, since when, and its last good
 * manifest. A fold over commits and nothing else: no clock, no store, no order of arrival
 * (invariants 5, 7, 9, 12).
 */
import { sameDesiredState } from '../admission/check.ts';
import { describeKey, keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import type { Problem } from '../manifests/manifest.ts';
import type { DocumentEntry, FileEntry } from './file.ts';
import {
  type CommitPoint,
  type Identity,
  type IsAncestor,
  mergedIdentity,
  newIdentity,
  type ParentView,
} from './identity.ts';

/** A document of a file. */
export interface Place {
  readonly path: string;
  readonly index: number;
}

export interface CatalogObject {
  readonly key: ObjectKey;
  readonly place: Place;
  readonly identity: Identity;
  /** The newest valid version: the last good. */
  readonly manifest: KubeObject;
  /** Why the newest version is not served; empty when it is. */
  readonly problems: readonly Problem[];
}

/** What one step changed about an object. */
export interface ObjectChange {
  readonly key: ObjectKey;
  readonly before: CatalogObject | undefined;
  readonly after: CatalogObject | undefined;
}

/** A commit, seen as files: what each changed path holds now (undefined: it is gone). */
export interface Step {
  readonly commit: CommitPoint;
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Where the commit is a merge: the catalogs of its other parents. */
  readonly otherParents?: readonly Catalog[];
  /** Keys that any parent sees differently, beyond those in `files`. */
  readonly alsoTouched?: readonly ObjectKey[];
  /** Tells which of two lives of an object came first, where the commit is a merge. */
  readonly isAncestor?: IsAncestor;
}

export interface StepResult {
  readonly changes: readonly ObjectChange[];
  /** Puts the catalog back to where it was before the step. Only the newest step can be undone. */
  undo(): void;
}

export class Catalog {
  readonly rootCommit: string;
  #at: CommitPoint | undefined;
  readonly #files: Map<string, FileEntry>;
  readonly #objects: Map<string, CatalogObject>;
  /** Every document that names a key, valid or not, in no particular order. */
  readonly #claims: Map<string, readonly Place[]>;

  constructor(rootCommit: string, from?: Catalog) {
    this.rootCommit = rootCommit;
    this.#at = from?.at;
    this.#files = new Map(from === undefined ? [] : from.#files);
    this.#objects = new Map(from === undefined ? [] : from.#objects);
    this.#claims = new Map(from === undefined ? [] : from.#claims);
  }

  get revision(): string | undefined {
    return this.#at?.id;
  }

  /** The commit that the catalog is at. */
  get at(): CommitPoint | undefined {
    return this.#at;
  }

  get size(): number {
    return this.#objects.size;
  }

  clone(): Catalog {
    return new Catalog(this.rootCommit, this);
  }

  object(key: ObjectKey): CatalogObject | undefined {
    return this.#objects.get(keyString(key));
  }

  objects(): IterableIterator<CatalogObject> {
    return this.#objects.values();
  }

  file(path: string): FileEntry | undefined {
    return this.#files.get(path);
  }

  files(): IterableIterator<FileEntry> {
    return this.#files.values();
  }

  /** Every document that names the key; more than one is a mistake that both places are told. */
  claims(key: ObjectKey): readonly Place[] {
    return this.#claims.get(keyString(key)) ?? [];
  }

  /** Every problem of every file, duplicates included, by path and line. */
  problems(): Problem[] {
    const found: Problem[] = [];
    for (const file of this.#files.values()) {
      for (const document of file.documents) found.push(...document.problems);
    }
    for (const object of this.#objects.values()) found.push(...this.#duplicates(object.key));
    return sortProblems(found);
  }

  /** Puts back what an earlier process knew, without history. For `restore.ts` only. */
  load(at: CommitPoint, files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    this.#at = at;
    for (const file of files) this.#files.set(file.path, file);
    for (const [id, places] of placesOf(this.#files.values())) this.#claims.set(id, places);
    for (const object of objects) this.#objects.set(keyString(object.key), object);
  }

  /** Moves the catalog to the revision after `step.commit`. */
  advance(step: Step): StepResult {
    const undo = new UndoLog();
    const touched = this.#replaceFiles(step, undo);
    for (const key of step.alsoTouched ?? []) touched.set(keyString(key), key);
    const changes: ObjectChange[] = [];
    for (const [id, key] of touched) {
      const before = this.#objects.get(id);
      const after = this.#resolve(key, before, step);
      if (after === before) continue;
      undo.map(this.#objects, id);
      if (after === undefined) this.#objects.delete(id);
      else this.#objects.set(id, after);
      changes.push({ key, before, after });
    }
    const at = this.#at;
    this.#at = { id: step.commit.id, committerTime: step.commit.committerTime };
    return {
      changes,
      undo: () => {
        undo.run();
        this.#at = at;
      },
    };
  }

  /** Problems of the named files, and duplicates that involve them. */
  problemsOf(paths: Iterable<string>): Problem[] {
    const found: Problem[] = [];
    const keys = new Map<string, ObjectKey>();
    for (const path of paths) {
      for (const { key, problems } of this.#files.get(path)?.documents ?? []) {
        found.push(...problems);
        if (key !== undefined) keys.set(keyString(key), key);
      }
    }
    for (const key of keys.values()) found.push(...this.#duplicates(key));
    return sortProblems(found);
  }

  /** Every step is taken once a key, however many documents of a hostile commit name it. */
  #replaceFiles(step: Step, undo: UndoLog): Map<string, ObjectKey> {
    const touched = new Map<string, ObjectKey>();
    const broken = new Set<string>();
    const touch = (file: FileEntry): void => {
      for (const { key } of file.documents) if (key) touched.set(keyString(key), key);
      if (hasUnnamed(file)) broken.add(file.path);
    };
    for (const [path, entry] of step.files) {
      const old = this.#files.get(path);
      if (old !== undefined) touch(old);
      if (entry !== undefined) touch(entry);
      undo.map(this.#files, path);
      if (entry === undefined) this.#files.delete(path);
      else this.#files.set(path, entry);
    }
    this.#replaceClaims(step, touched.keys(), undo);
    // Objects that live in a file although none of its documents names them are shielded by a
    // broken document; they too may be free to go, or to come back, now.
    if (broken.size === 0) return touched;
    for (const [id, { key, place }] of this.#objects) {
      if (broken.has(place.path)) touched.set(id, key);
    }
    return touched;
  }

  #replaceClaims(step: Step, touched: Iterable<string>, undo: UndoLog): void {
    const added = placesOf([...step.files.values()].filter((file) => file !== undefined));
    for (const id of touched) {
      const stay = this.#claims.get(id)?.filter((place) => !step.files.has(place.path)) ?? [];
      const claims = [...stay, ...(added.get(id) ?? [])];
      undo.map(this.#claims, id);
      if (claims.length === 0) this.#claims.delete(id);
      else this.#claims.set(id, claims);
    }
  }

  /** What an object is after the files of a step are in place. */
  #resolve(
    key: ObjectKey,
    before: CatalogObject | undefined,
    step: Step,
  ): CatalogObject | undefined {
    const known = before ?? inherited(key, step);
    const place = this.#winner(key, known?.place);
    const document = place && this.#document(place);
    if (place === undefined || document?.manifest === undefined) {
      const problems = place === undefined ? this.#shieldOf(known) : document?.problems;
      if (known === undefined || problems === undefined) return undefined;
      const identity = this.#identity({ key, before, manifest: known.manifest, step });
      return { ...known, place: place ?? known.place, identity, problems };
    }
    const identity = this.#identity({ key, before, manifest: document.manifest, step });
    return keepIfEqual(before, { key, place, identity, manifest: document.manifest, problems: [] });
  }

  /**
   * An object whose document is gone stays while its file holds something that cannot be read:
   * what is wrong with that. Undefined: nothing holds it.
   */
  #shieldOf(known: CatalogObject | undefined): readonly Problem[] | undefined {
    const file = known && this.#files.get(known.place.path);
    if (file === undefined || !hasUnnamed(file)) return undefined;
    return file.documents.filter(({ key }) => key === undefined).flatMap((d) => d.problems);
  }

  #identity(of: {
    key: ObjectKey;
    before: CatalogObject | undefined;
    manifest: KubeObject;
    step: Step;
  }): Identity {
    const { key, before, manifest, step } = of;
    const views = [before, ...(step.otherParents ?? []).map((parent) => parent.object(key))]
      .filter((object) => object !== undefined)
      .map(
        (object): ParentView => ({
          identity: object.identity,
          unchanged: sameDesiredState(object.manifest, manifest),
        }),
      );
    const [first, ...rest] = views;
    if (first === undefined) return newIdentity(key, step.commit, this.rootCommit);
    const merged = mergedIdentity([first, ...rest], step.isAncestor ?? (() => false));
    return before !== undefined && sameIdentity(before.identity, merged) ? before.identity : merged;
  }

  /** Which of the documents that name a key is the object: the incumbent, else the first. */
  #winner(key: ObjectKey, incumbent: Place | undefined): Place | undefined {
    const claims = this.claims(key);
    if (claims.length < 2) return claims[0];
    const inSameFile = claims.filter((place) => place.path === incumbent?.path);
    const candidates = inSameFile.length > 0 ? inSameFile : claims;
    return candidates.reduce((a, b) => (comparePlaces(b, a) < 0 ? b : a));
  }

  #document(place: Place): DocumentEntry | undefined {
    return this.#files.get(place.path)?.documents.find(({ index }) => index === place.index);
  }

  #duplicates(key: ObjectKey): Problem[] {
    const claims = this.claims(key);
    if (claims.length < 2) return [];
    const places = [...claims].sort(comparePlaces).map((place) => ({
      path: place.path,
      line: this.#document(place)?.line ?? 1,
    }));
    const first = places.slice(0, MOST_NAMED + 1);
    return places.map((place) => {
      const named = first.filter((other) => other !== place).slice(0, MOST_NAMED);
      const left = places.length - 1 - named.length;
      const list = named.map((other) => `${other.path}:${other.line}`).join(', ');
      const more = left === 0 ? '' : ` and ${left} more places`;
      const message = `${describeKey(key)} is also at ${list}${more}; keep one of them`;
      return { ...place, col: 1, message };
    });
  }
}

/** Other places of an object that each of its duplicates is told. */
const MOST_NAMED = 5;

/** The documents that name a key, by key. */
function placesOf(files: Iterable<FileEntry>): Map<string, Place[]> {
  const places = new Map<string, Place[]>();
  for (const { path, documents } of files) {
    for (const { key, index } of documents) {
      if (key === undefined) continue;
      const id = keyString(key);
      const known = places.get(id);
      if (known === undefined) places.set(id, [{ path, index }]);
      else known.push({ path, index });
    }
  }
  return places;
}

/** Restores map entries in reverse order. */
class UndoLog {
  readonly #steps: (() => void)[] = [];

  map<T>(map: Map<string, T>, key: string): void {
    const had = map.has(key);
    const value = map.get(key) as T;
    this.#steps.push(() => {
      if (had) map.set(key, value);
      else map.delete(key);
    });
  }

  run(): void {
    for (const step of this.#steps.reverse()) step();
    this.#steps.length = 0;
  }
}

function hasUnnamed(file: FileEntry): boolean {
  return file.documents.some(({ key, problems }) => key === undefined && problems.length > 0);
}

/** An object that only another parent of the merge knows. */
function inherited(key: ObjectKey, step: Step): CatalogObject | undefined {
  for (const parent of step.otherParents ?? []) {
    const object = parent.object(key);
    if (object !== undefined) return object;
  }
  return undefined;
}

function keepIfEqual(before: CatalogObject | undefined, after: CatalogObject): CatalogObject {
  const same =
    before !== undefined &&
    before.manifest === after.manifest &&
    before.identity === after.identity &&
    comparePlaces(before.place, after.place) === 0 &&
    before.problems.length === 0 &&
    after.problems.length === 0;
  return same ? before : after;
}

function sameIdentity(a: Identity, b: Identity): boolean {
  return a.uid === b.uid && a.generation === b.generation;
}

function comparePlaces(a: Place, b: Place): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.index - b.index;
}

/** By path, then place, each problem once. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map<string, Problem>();
  for (const problem of problems) {
    unique.set(`${problem.path}\0${problem.line}\0${problem.col}\0${problem.message}`, problem);
  }
  return [...unique.values()].sort((a, b) => {
    if (a.path !== b.path) return a.path < b.path ? -1 : 1;
    return a.line - b.line || a.col - b.col;
  });
}

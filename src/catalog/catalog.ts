/**
 * The desired state at one revision: which object lives where, since when, and its last good
 * manifest. A fold over commits and nothing else: no clock, no store, no order of arrival
 * (invariants 5, 7, 9, 12).
 */
import { describeKey, type ObjectKey, sameKey } from '../apimachinery/key.ts';
import { KeyMap } from '../apimachinery/key-map.ts';
import { runAtOnce, runInSlices } from '../apimachinery/pauses.ts';
import { shownPath } from '../apimachinery/text.ts';
import type { Problem } from '../manifests/manifest.ts';
import {
  CatalogObject,
  comparePlaces,
  keepIfEqual,
  type ManifestSource,
  type Place,
  sameIdentity,
  sameSources,
  winner,
} from './catalog-object.ts';
import type { DocumentEntry, FileEntry } from './file.ts';
import {
  type CommitPoint,
  Identity,
  type IsAncestor,
  mergedIdentity,
  type ParentView,
} from './identity.ts';
import { type Entries, layerOfKeys, layerOfPaths } from './layer.ts';
import { PathCases } from './path-cases.ts';
import { UndoLog } from './undo-log.ts';

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

/** What a step would come to. */
export interface Trial {
  readonly changes: readonly ObjectChange[];
  /** Objects more than before. */
  readonly growth: number;
  /** As `Catalog.problemsOf`, after the step. */
  problemsOf(paths: Iterable<string>): Promise<Problem[]>;
  /** Takes the step. The catalog must be at the revision that it was tried on. */
  take(): StepResult;
}

export class Catalog {
  readonly rootCommit: string;
  #at: CommitPoint | undefined;
  #files: Entries<string, FileEntry>;
  #objects: Entries<ObjectKey, CatalogObject>;
  /**
   * Every document that names a key, valid or not, in no particular order; left out where that is
   * nothing but the place of the object.
   */
  #claims: Entries<ObjectKey, readonly Place[]>;
  #cases: PathCases;

  constructor(rootCommit: string, from?: Catalog) {
    this.rootCommit = rootCommit;
    this.#at = from?.at;
    this.#files = new Map(from === undefined ? [] : from.#files.entries());
    this.#objects = new KeyMap(from === undefined ? undefined : from.#objects);
    this.#claims = new KeyMap(from === undefined ? undefined : from.#claims);
    this.#cases = new PathCases(from === undefined ? undefined : from.#cases);
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
    return this.#objects.get(key);
  }

  objects(): IterableIterator<CatalogObject> {
    return this.#objects.values();
  }

  /** Where a file of a name has to go: to the one whose path differs by case alone, if there is one. */
  placeOf(path: string): string {
    return this.#cases.twinOf(path, (other) => this.#files.has(other)) ?? path;
  }

  file(path: string): FileEntry | undefined {
    return this.#files.get(path);
  }

  files(): IterableIterator<FileEntry> {
    return this.#files.values();
  }

  /** Every document that names the key; more than one is a mistake that both places are told. */
  claims(key: ObjectKey): readonly Place[] {
    return this.#claimsOf(key);
  }

  /** Every problem of every file, duplicates included, by path and line. */
  problems(): Problem[] {
    const found: Problem[] = [];
    for (const file of this.#files.values()) {
      for (const document of file.documents) found.push(...document.problems);
    }
    // What is wanted twice has claims of its own.
    for (const [key] of this.#claims.entries()) {
      if (this.#objects.has(key)) found.push(...this.#duplicates(key));
    }
    found.push(...this.#cases.problems((path) => this.#files.has(path)));
    return sortProblems(found);
  }

  /** Puts back what an earlier process knew, without history. For `restore.ts` only. */
  load(at: CommitPoint, files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    this.#at = at;
    for (const object of objects) this.#objects.set(object.key, object);
    const claims = new KeyMap<Place[]>();
    for (const file of files) {
      this.#files.set(file.path, file);
      this.#cases.set(file.path, true);
      for (const document of file.documents) this.#loadClaim(claims, file.path, document);
    }
    for (const { key, place } of this.#objects.values()) {
      const document = this.#document(place);
      const isThere = document?.key !== undefined && sameKey(document.key, key);
      const others = claims.get(key);
      if (isThere) others?.push(place);
      else if (others === undefined) this.#claims.set(key, []);
    }
    for (const [key, places] of claims.entries()) this.#setClaims(key, places);
  }

  /** Takes down the claims that are not simply the place of the object. */
  #loadClaim(claims: KeyMap<Place[]>, path: string, { key, index }: DocumentEntry): void {
    if (key === undefined) return;
    const place = this.#objects.get(key)?.place;
    if (place?.path === path && place.index === index) return;
    const known = claims.get(key);
    if (known === undefined) claims.set(key, [{ path, index }]);
    else known.push({ path, index });
  }

  /** Moves the catalog to the revision after `step.commit`. */
  advance(step: Step): StepResult {
    const undo = new UndoLog();
    const changes = runAtOnce(this.#fold(step, undo));
    return this.#taken(step, changes, undo);
  }

  /**
   * Tries a step while others have the processor in between; they see nothing of it. It must not be
   * one of a merge.
   */
  async tryInSlices(step: Step): Promise<Trial> {
    const files = layerOfPaths(this.#files);
    const objects = layerOfKeys(this.#objects);
    const claims = layerOfKeys(this.#claims);
    const tried = new Catalog(this.rootCommit);
    tried.#cases = new PathCases(this.#cases);
    tried.#files = files;
    tried.#objects = objects;
    tried.#claims = claims;
    const changes = await runInSlices(tried.#fold(step, new UndoLog()));
    return {
      changes,
      growth: objects.size - this.size,
      problemsOf: (paths) => runInSlices(tried.#problemsOf(paths)),
      take: () => {
        const undo = new UndoLog();
        for (const layer of [files, objects, claims]) layer.sink(undo);
        for (const [path, entry] of step.files) this.#cases.set(path, entry !== undefined, undo);
        return this.#taken(step, changes, undo);
      },
    };
  }

  #taken({ commit }: Step, changes: readonly ObjectChange[], undo: UndoLog): StepResult {
    const at = this.#at;
    this.#at = pointOf(commit);
    return {
      changes,
      undo: () => {
        undo.run();
        this.#at = at;
      },
    };
  }

  /** As `advance`, for a step that nobody will ask about or take back. */
  absorb(step: Step): void {
    if (!this.#begin(step)) runAtOnce(this.#fold(step, undefined));
    this.#at = pointOf(step.commit);
  }

  /**
   * The same for a first commit, where every object is born and nothing can be in its way. False,
   * with nothing changed, where something is after all.
   */
  #begin({ commit, files, otherParents }: Step): boolean {
    const isFirst = this.#files.size === 0 && this.#objects.size === 0 && this.#claims.size === 0;
    if (!isFirst || otherParents !== undefined) return false;
    const birth = pointOf(commit);
    const objects = new KeyMap<CatalogObject>();
    for (const [path, entry] of files) {
      for (const document of entry?.documents ?? []) {
        const { key, index } = document;
        if (key === undefined) continue;
        if (!isValid(document) || objects.has(key)) return false;
        const identity = this.#born(key, birth);
        const place = { path, index };
        const of = { key, place, identity, source: document, problems: NONE };
        objects.set(key, new CatalogObject(of));
      }
    }
    this.#objects = objects;
    for (const [path, entry] of files) {
      if (entry === undefined) continue;
      this.#files.set(path, entry);
      this.#cases.set(path, true);
    }
    return true;
  }

  *#fold(step: Step, undo: UndoLog | undefined): Generator<void, ObjectChange[]> {
    const birth = pointOf(step.commit);
    const changes: ObjectChange[] = [];
    const touched = yield* this.#touch(step, undo);
    for (const { key, claims } of touched.values()) {
      yield;
      const before = this.#objects.get(key);
      const after = this.#resolve({ key, before, claims, birth }, step);
      undo?.map(this.#objects, key);
      undo?.map(this.#claims, key);
      if (after === undefined) this.#objects.delete(key);
      else if (after !== before) this.#objects.set(key, after);
      this.#setClaims(key, claims);
      if (after !== before && undo !== undefined) changes.push({ key, before, after });
    }
    return changes;
  }

  /** Problems of the named files, and duplicates that involve them. */
  problemsOf(paths: Iterable<string>): Problem[] {
    return runAtOnce(this.#problemsOf(paths));
  }

  *#problemsOf(paths: Iterable<string>): Generator<void, Problem[]> {
    const found: Problem[] = [];
    const keys = new KeyMap<ObjectKey>();
    for (const path of paths) {
      yield;
      if (!this.#files.has(path)) continue;
      found.push(...this.#cases.problemsOf(path, (other) => this.#files.has(other)));
      for (const { key, problems } of this.#files.get(path)?.documents ?? []) {
        found.push(...problems);
        if (key !== undefined) keys.set(key, key);
      }
    }
    for (const key of keys.values()) {
      yield;
      found.push(...this.#duplicates(key));
    }
    return sortProblems(found);
  }

  /** Replaces the files; what a step touches is touched once, however many documents name it. */
  *#touch(step: Step, undo: UndoLog | undefined): Generator<void, KeyMap<Touched>> {
    const touched = new KeyMap<Touched>();
    const broken = new Set<string>();
    for (const [path, entry] of step.files) {
      yield;
      const old = this.#files.get(path);
      if (old !== undefined) this.#touchOld(old, { step, touched, broken });
      if (entry !== undefined) this.#touchNew(entry, { step, touched, broken });
      undo?.map(this.#files, path);
      this.#cases.set(path, entry !== undefined, undo);
      if (entry !== undefined) this.#files.set(path, entry);
      else if (old !== undefined) this.#files.delete(path);
    }
    // Objects that live in a file although none of its documents names them are shielded by a
    // broken document; they too may be free to go, or to come back, now.
    if (broken.size > 0) {
      for (const { key, place } of this.#objects.values()) {
        if (broken.has(place.path)) this.#touchKey(key, { step, touched });
      }
    }
    for (const key of step.alsoTouched ?? []) this.#touchKey(key, { step, touched });
    return touched;
  }

  #touchOld(file: FileEntry, at: Touching & { broken: Set<string> }): void {
    if (hasUnnamed(file)) at.broken.add(file.path);
    for (const { key } of file.documents) if (key) this.#touchKey(key, at);
  }

  #touchNew(file: FileEntry, at: Touching & { broken: Set<string> }): void {
    const { path, documents } = file;
    if (hasUnnamed(file)) at.broken.add(path);
    for (const { key, index } of documents) {
      if (key) this.#touchKey(key, at).claims.push({ path, index });
    }
  }

  /** The claims begin with those of files that the step leaves as they are. */
  #touchKey(key: ObjectKey, { step, touched }: Touching): Touched {
    let found = touched.get(key);
    if (found === undefined) {
      const stay = this.#claimsOf(key).filter((place) => !step.files.has(place.path));
      found = { key, claims: stay };
      touched.set(key, found);
    }
    return found;
  }

  #claimsOf(key: ObjectKey): readonly Place[] {
    const claims = this.#claims.get(key);
    if (claims !== undefined) return claims;
    const place = this.#objects.get(key)?.place;
    return place === undefined ? [] : [place];
  }

  #setClaims(key: ObjectKey, claims: readonly Place[]): void {
    const place = this.#objects.get(key)?.place;
    const [only] = claims;
    const usual =
      place === undefined
        ? claims.length === 0
        : claims.length === 1 && only !== undefined && comparePlaces(only, place) === 0;
    if (usual) this.#claims.delete(key);
    else this.#claims.set(key, claims);
  }

  /** What an object is after the files of a step are in place. */
  #resolve(of: Resolving, step: Step): CatalogObject | undefined {
    const { key, before, claims } = of;
    const known = before ?? inherited(key, step);
    const place = winner(claims, known?.place);
    const document = place && this.#document(place);
    if (place === undefined || document === undefined || !isValid(document)) {
      const problems = place === undefined ? this.#shieldOf(known) : document?.problems;
      // What is known without its secrets is better than nothing, and worse than the last good.
      const isBetter = known === undefined || known.source.partial === true;
      const source = document?.partial === true && isBetter ? document : known?.source;
      if (source === undefined || problems === undefined) return undefined;
      const identity = this.#identity({ ...of, source, step });
      const fallback = place ?? known?.place;
      if (fallback === undefined) return undefined;
      return new CatalogObject({ key, place: fallback, identity, source, problems });
    }
    const source = document;
    const identity = this.#identity({ ...of, source, step });
    return keepIfEqual(
      before,
      new CatalogObject({ key: document.key ?? key, place, identity, source, problems: NONE }),
    );
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

  #identity(of: Resolving & { source: ManifestSource; step: Step }): Identity {
    const { key, before, source, step, birth } = of;
    if (before === undefined && step.otherParents === undefined) return this.#born(key, birth);
    const views = [before, ...(step.otherParents ?? []).map((parent) => parent.object(key))]
      .filter((object) => object !== undefined)
      .map(
        (object): ParentView => ({
          identity: object.identity,
          unchanged: object.source === source || sameSources(object.source, source),
        }),
      );
    const [first, ...rest] = views;
    if (first === undefined) return this.#born(key, birth);
    const merged = mergedIdentity([first, ...rest], step.isAncestor ?? (() => false));
    return before !== undefined && sameIdentity(before.identity, merged) ? before.identity : merged;
  }

  #born(key: ObjectKey, birth: CommitPoint): Identity {
    return new Identity({ rootCommit: this.rootCommit, key, birth, generation: 1 });
  }

  #document(place: Place): DocumentEntry | undefined {
    const documents = this.#files.get(place.path)?.documents;
    const first = documents?.[0];
    if (first?.index === place.index) return first;
    return documents?.find(({ index }) => index === place.index);
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
      const list = named.map((other) => `${shownPath(other.path)}:${other.line}`).join(', ');
      const more = left === 0 ? '' : ` and ${left} more places`;
      const message = `${describeKey(key)} is also at ${list}${more}; keep one of them`;
      return { ...place, col: 1, message };
    });
  }
}

/** Other places of an object that each of its duplicates is told. */
const MOST_NAMED = 5;

const NONE: readonly Problem[] = [];

/** A key that a step may change, and every document that names it after the step. */
interface Touched {
  readonly key: ObjectKey;
  readonly claims: Place[];
}

interface Touching {
  readonly step: Step;
  readonly touched: KeyMap<Touched>;
}

interface Resolving extends Touched {
  readonly before: CatalogObject | undefined;
  /** The commit of the step. */
  readonly birth: CommitPoint;
}

/** A commit may carry all that it changed; what is kept of it must not. */
function pointOf({ id, committerTime }: CommitPoint): CommitPoint {
  return { id, committerTime };
}

/** Whether the document is the manifest of an object. Does not parse it. */
function isValid({ key, problems }: DocumentEntry): boolean {
  return key !== undefined && problems.length === 0;
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

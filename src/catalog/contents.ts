/**
 * What a catalog holds at its revision: the files, the objects that they make, and every document
 * that names one of these.
 */
import { KeyMap, type ObjectKey, sameKey } from '../apimachinery/index.ts';
import { type CatalogObject, comparePlaces, type Place } from './catalog-object.ts';
import type { DocumentEntry, FileEntry } from './file.ts';
import { type Entries, overlayOfKeys, overlayOfPaths } from './overlay-map.ts';
import { PathCollisions } from './path-collisions.ts';
import type { Step } from './step.ts';
import type { Tie } from './tie.ts';
import type { UndoLog } from './undo-log.ts';

interface Parts {
  readonly files: Entries<string, FileEntry>;
  readonly objects: Entries<ObjectKey, CatalogObject>;
  readonly claims: Entries<ObjectKey, readonly Place[]>;
  readonly waiting: Entries<ObjectKey, readonly ObjectKey[]>;
  readonly cases: PathCollisions;
}

/** Contents on top of others, which stay as they are until these sink. */
interface Tried {
  readonly contents: Contents;
  /** Makes those below the same, where `step` is all that was done. */
  sink(step: Step, undo: UndoLog): void;
}

export class Contents {
  readonly files: Entries<string, FileEntry>;
  readonly objects: Entries<ObjectKey, CatalogObject>;
  readonly cases: PathCollisions;
  /**
   * Every document that names a key, valid or not, in no particular order; left out where that is
   * nothing but the place of the object.
   */
  readonly #claims: Entries<ObjectKey, readonly Place[]>;
  /** Owners that are not there, each with the access keys that wait for it; see `ties.ts`. */
  readonly waiting: Entries<ObjectKey, readonly ObjectKey[]>;

  private constructor({ files, objects, claims, waiting, cases }: Parts) {
    this.files = files;
    this.objects = objects;
    this.cases = cases;
    this.#claims = claims;
    this.waiting = waiting;
  }

  /** Nothing; or objects that nothing but their places claims, with the files to follow. */
  static of(objects: KeyMap<CatalogObject> = new KeyMap()): Contents {
    return new Contents({
      files: new Map(),
      objects,
      claims: new KeyMap(),
      waiting: new KeyMap(),
      cases: new PathCollisions(),
    });
  }

  clone(): Contents {
    return new Contents({
      files: new Map(this.files.entries()),
      objects: new KeyMap(this.objects),
      claims: new KeyMap(this.#claims),
      waiting: new KeyMap(this.waiting),
      cases: new PathCollisions(this.cases),
    });
  }

  layered(): Tried {
    const files = overlayOfPaths(this.files);
    const objects = overlayOfKeys(this.objects);
    const claims = overlayOfKeys(this.#claims);
    const waiting = overlayOfKeys(this.waiting);
    const cases = new PathCollisions(this.cases);
    return {
      contents: new Contents({ files, objects, claims, waiting, cases }),
      sink: (step, undo) => {
        for (const layer of [files, objects, claims, waiting]) layer.sink(undo);
        for (const [path, entry] of step.files) this.cases.set(path, entry !== undefined, undo);
      },
    };
  }

  get isEmpty(): boolean {
    return this.files.size === 0 && this.objects.size === 0 && this.#claims.size === 0;
  }

  setFile(path: string, entry: FileEntry | undefined, undo?: UndoLog): void {
    undo?.map(this.files, path);
    this.cases.set(path, entry !== undefined, undo);
    if (entry === undefined) this.files.delete(path);
    else this.files.set(path, entry);
  }

  document(place: Place): DocumentEntry | undefined {
    const documents = this.files.get(place.path)?.documents;
    const first = documents?.[0];
    if (first?.index === place.index) return first;
    return documents?.find(({ index }) => index === place.index);
  }

  /** Every document that names the key. */
  claims(key: ObjectKey): readonly Place[] {
    const claims = this.#claims.get(key);
    if (claims !== undefined) return claims;
    const place = this.objects.get(key)?.place;
    return place === undefined ? [] : [place];
  }

  /** To be told after the object is as it shall be. */
  setClaims(key: ObjectKey, claims: readonly Place[], undo?: UndoLog): void {
    undo?.map(this.#claims, key);
    const place = this.objects.get(key)?.place;
    const [only] = claims;
    const usual =
      place === undefined
        ? claims.length === 0
        : claims.length === 1 && only !== undefined && comparePlaces(only, place) === 0;
    if (usual) this.#claims.delete(key);
    else this.#claims.set(key, claims);
  }

  /** Takes down which owner an access key waits for after a step, where it waited for another before. */
  setWaiting(
    key: ObjectKey,
    { from, to }: { from: Tie | undefined; to: Tie | undefined },
    undo?: UndoLog,
  ): void {
    const [left, joined] = [from, to].map((tie) =>
      tie?.life === undefined ? tie?.owner : undefined,
    );
    if (left === joined || (left && joined && sameKey(left, joined))) return;
    const { waiting } = this;
    for (const owner of [left, joined]) if (owner !== undefined) undo?.map(waiting, owner);
    if (left !== undefined) {
      const rest = (waiting.get(left) ?? []).filter((other) => !sameKey(other, key));
      if (rest.length === 0) waiting.delete(left);
      else waiting.set(left, rest);
    }
    if (joined !== undefined) waiting.set(joined, [...(waiting.get(joined) ?? []), key]);
  }

  /** Objects that may be wanted at more than one place. */
  *disputed(): IterableIterator<ObjectKey> {
    for (const [key] of this.#claims.entries()) if (this.objects.has(key)) yield key;
  }

  /** Puts into empty contents what an earlier process knew. */
  load(files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    for (const object of objects) {
      this.objects.set(object.key, object);
      this.setWaiting(object.key, { from: undefined, to: object.tie });
    }
    const claims = new KeyMap<Place[]>();
    for (const file of files) {
      this.setFile(file.path, file);
      for (const document of file.documents) this.#loadClaim(claims, file.path, document);
    }
    for (const { key, place } of this.objects.values()) {
      const document = this.document(place);
      const isThere = document?.key !== undefined && sameKey(document.key, key);
      const others = claims.get(key);
      if (isThere) others?.push(place);
      else if (others === undefined) this.#claims.set(key, []);
    }
    for (const [key, places] of claims.entries()) this.setClaims(key, places);
  }

  /** Takes down the claims that are not simply the place of the object. */
  #loadClaim(claims: KeyMap<Place[]>, path: string, { key, index }: DocumentEntry): void {
    if (key === undefined) return;
    const place = this.objects.get(key)?.place;
    if (place?.path === path && place.index === index) return;
    const known = claims.get(key);
    if (known === undefined) claims.set(key, [{ path, index }]);
    else known.push({ path, index });
  }
}

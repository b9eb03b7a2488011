/**
 * Contents of a catalog at its revision: the files, their objects, and every document that names
 * one of these.
 */
import { KeyMap, type ObjectKey, sameKey, shownPath } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import {
  type CatalogObject,
  comparePlaces,
  isPlainSuccessor,
  type Place,
} from './catalog-object.ts';
import { Difference } from './difference.ts';
import { type DocumentEntry, documentOf, type FileEntry } from './file.ts';
import { collisionKey, Footprint } from './footprint.ts';
import { type Entries, type OverlayMap, overlayOfKeys, overlayOfPaths } from './overlay-map.ts';
import type { OwnerBinding } from './owner-binding.ts';
import { Places } from './places.ts';
import type { ChangeLog, FormerEntry, UndoLog } from './undo-log.ts';
import type { VersionChains } from './version-chains.ts';

/** An access key with its owner before and after a step. */
export interface OwnerMove {
  readonly key: ObjectKey;
  readonly from: OwnerBinding | undefined;
  readonly to: OwnerBinding | undefined;
}

interface Parts {
  readonly files: Entries<string, FileEntry>;
  readonly objects: Entries<ObjectKey, CatalogObject>;
  readonly claims: Entries<ObjectKey, Places>;
  readonly waiting: Entries<ObjectKey, readonly ObjectKey[]>;
  readonly cases: PathCollisions;
}

/** Changes on top of other contents, which are unchanged until `sink` and must not change before. */
interface LayerParts {
  readonly below: Contents;
  readonly files: OverlayMap<string, FileEntry>;
  readonly objects: OverlayMap<ObjectKey, CatalogObject>;
  readonly claims: OverlayMap<ObjectKey, Places>;
  readonly waiting: OverlayMap<ObjectKey, readonly ObjectKey[]>;
  readonly unusual: OverlayMap<string, Link>;
}

/** Shared by the many steps without such a key. */
const NO_KEYS: readonly ObjectKey[] = [];

export class Contents {
  readonly files: Entries<string, FileEntry>;
  readonly objects: Entries<ObjectKey, CatalogObject>;
  readonly cases: PathCollisions;
  /**
   * Every document that names a key, valid or not; omitted if that is only
   * the place of the object.
   */
  readonly #claims: Entries<ObjectKey, Places>;
  /** Missing owners, each with the access keys that wait for it; see `owner-bindings.ts`. */
  readonly waiting: Entries<ObjectKey, readonly ObjectKey[]>;
  /** Set if the contents are a layer. */
  #layer: LayerParts | undefined;
  /** Set if these are former contents: those that move on. */
  #present: Contents | undefined;

  private constructor({ files, objects, claims, waiting, cases }: Parts) {
    this.files = files;
    this.objects = objects;
    this.cases = cases;
    this.#claims = claims;
    this.waiting = waiting;
  }

  /** Empty contents; or objects that only their own places claim, with the files to follow. */
  static of(objects: KeyMap<CatalogObject> = new KeyMap()): Contents {
    return new Contents({
      files: new Map(),
      objects,
      claims: new KeyMap(),
      waiting: new KeyMap(),
      cases: new PathCollisions(),
    });
  }

  /** A layer on these contents; a layer is copied, so that layers do not pile up. */
  layered(): Contents {
    const layer = this.#layer;
    const parts: LayerParts =
      layer === undefined
        ? {
            below: this,
            files: overlayOfPaths(this.files),
            objects: overlayOfKeys(this.objects),
            claims: overlayOfKeys(this.#claims),
            waiting: overlayOfKeys(this.waiting),
            unusual: overlayOfPaths(this.cases.unusual),
          }
        : {
            below: layer.below,
            files: layer.files.copy(),
            objects: layer.objects.copy(),
            claims: layer.claims.copy(),
            waiting: layer.waiting.copy(),
            unusual: layer.unusual.copy(),
          };
    const contents = new Contents({ ...parts, cases: new PathCollisions(parts.unusual) });
    contents.#layer = parts;
    return contents;
  }

  /** The contents as they were before a step, for readers alone. */
  before(step: number, chains: VersionChains): Contents {
    const contents = new Contents({
      files: chains.before(step, this.files),
      objects: chains.before(step, this.objects),
      claims: chains.before(step, this.#claims),
      waiting: chains.before(step, this.waiting),
      cases: new PathCollisions(chains.before(step, this.cases.unusual)),
    });
    contents.#present = this;
    return contents;
  }

  /** An empty difference, to be filled by the next changes. */
  difference(): Difference {
    const { files, objects, waiting, cases } = this;
    return new Difference({
      objects,
      byKey: [this.#claims, waiting],
      byPath: [files, cases.unusual],
    });
  }

  /** The contents below the layer, which move on. */
  get bottom(): Contents {
    const below = this.#layer?.below ?? this;
    return below.#present ?? below;
  }

  /** Keys of objects that the layer changed. */
  changedKeys(): Iterable<ObjectKey> {
    return this.#layer?.objects.changedKeys() ?? [];
  }

  /** Keys of objects that differ in another layer on the same contents. */
  keysDifferingFrom(other: Contents): Iterable<ObjectKey> {
    const objects = other.#layer?.objects;
    const differing = objects && this.#layer?.objects.keysDifferingFrom(objects);
    return differing ?? [...this.changedKeys(), ...other.changedKeys()];
  }

  /** Entries that the layer changed, with the owners that access keys are bound to. */
  footprint(): Footprint {
    const found = new Footprint();
    if (this.#layer === undefined) return found;
    const { below, files, objects, claims, waiting } = this.#layer;
    for (const path of files.changedKeys()) found.addPath(path);
    for (const layer of [claims, waiting]) {
      for (const key of layer.changedKeys()) found.addKey(key);
    }
    for (const key of objects.changedKeys()) {
      addObject(found, key, [objects.get(key), below.objects.get(key)]);
    }
    return found;
  }

  /** The same of changes, as they were before. */
  footprintOf(changes: Iterable<FormerEntry>): Footprint {
    const found = new Footprint();
    for (const { map, key, value } of changes) {
      if (map === this.files) found.addPath(key as string);
      else if (map === this.objects) {
        const object = key as ObjectKey;
        addObject(found, object, [value as CatalogObject | undefined, this.objects.get(object)]);
      } else if (map !== this.cases.unusual) found.addKey(key as ObjectKey);
    }
    return found;
  }

  /** Keys of objects in changes. */
  keysIn(changes: Iterable<FormerEntry>): ObjectKey[] {
    return [...changes].flatMap(({ map, key }) => (map === this.objects ? [key as ObjectKey] : []));
  }

  /** Keys of objects that a merge with an earlier version may change, of changes that were just made. */
  notableIn(changes: readonly FormerEntry[]): readonly ObjectKey[] {
    const found = changes.flatMap(({ map, key, value }) => {
      if (map !== this.objects) return [];
      const [former, present] = [
        value as CatalogObject | undefined,
        this.objects.get(key as ObjectKey),
      ];
      return former === present || isPlainSuccessor(present, former) ? [] : [key as ObjectKey];
    });
    return found.length === 0 ? NO_KEYS : found;
  }

  /** Applies the changes of the layer to the bottom. */
  sink(undo: UndoLog): void {
    if (this.#layer === undefined) return;
    const { files, objects, claims, waiting } = this.#layer;
    const { bottom } = this;
    files.sink(undo, bottom.files);
    objects.sink(undo, bottom.objects);
    claims.sink(undo, bottom.#claims);
    waiting.sink(undo, bottom.waiting);
    for (const path of files.changedKeys()) bottom.cases.set(path, bottom.files.has(path), undo);
  }

  get isEmpty(): boolean {
    return this.files.size === 0 && this.objects.size === 0 && this.#claims.size === 0;
  }

  setFile(path: string, entry: FileEntry | undefined, undo?: ChangeLog): void {
    undo?.map(this.files, path);
    this.cases.set(path, entry !== undefined, undo);
    if (entry === undefined) this.files.delete(path);
    else this.files.set(path, entry);
  }

  document({ path, index }: Place): DocumentEntry | undefined {
    const file = this.files.get(path);
    return file && documentOf(file, index);
  }

  /** Every document that names the key. */
  claims(key: ObjectKey): Places {
    const claims = this.#claims.get(key);
    if (claims !== undefined) return claims;
    const place = this.objects.get(key)?.place;
    return place === undefined ? Places.none : Places.none.changed([], [place]);
  }

  /** Must be called after the object is set. */
  setClaims(key: ObjectKey, claims: Places, undo?: ChangeLog): void {
    const place = this.objects.get(key)?.place;
    const { first, size } = claims;
    const usual =
      place === undefined
        ? size === 0
        : size === 1 && first !== undefined && comparePlaces(first, place) === 0;
    if (usual && !this.#claims.has(key)) return;
    undo?.map(this.#claims, key);
    if (usual) this.#claims.delete(key);
    else this.#claims.set(key, claims);
  }

  /** Records the owners that access keys wait for after a step, instead of the former ones. */
  setWaiting(moves: readonly OwnerMove[], undo?: ChangeLog): void {
    const { waiting } = this;
    for (const [owner, keys] of movesByOwner(moves).entries()) {
      const waits = (waiting.get(owner) ?? []).filter((key) => !keys.has(key));
      for (const [key, isWaiting] of keys.entries()) if (isWaiting) waits.push(key);
      undo?.map(waiting, owner);
      if (waits.length === 0) waiting.delete(owner);
      else waiting.set(owner, waits);
    }
  }

  /** Keys that more than one document may name. */
  *disputed(): IterableIterator<ObjectKey> {
    for (const [key] of this.#claims.entries()) if (this.objects.has(key)) yield key;
  }

  /** Loads the persisted state of an earlier process into empty contents. */
  load(files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    const moves: OwnerMove[] = [];
    for (const object of objects) {
      const { key, ownerBinding } = object;
      this.objects.set(key, object);
      if (ownerBinding !== undefined) moves.push({ key, from: undefined, to: ownerBinding });
    }
    this.setWaiting(moves);
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
      else if (others === undefined) this.#claims.set(key, Places.none);
    }
    for (const [key, places] of claims.entries()) {
      this.setClaims(key, Places.none.changed([], places));
    }
  }

  /** Records the claims that differ from the place of the object. */
  #loadClaim(claims: KeyMap<Place[]>, path: string, { key, index }: DocumentEntry): void {
    if (key === undefined) return;
    const place = this.objects.get(key)?.place;
    if (place?.path === path && place.index === index) return;
    const known = claims.get(key);
    if (known === undefined) claims.set(key, [{ path, index }]);
    else known.push({ path, index });
  }
}

/** Keys that came to wait for each owner, true, or ceased to. Thousands may wait for one. */
function movesByOwner(moves: readonly OwnerMove[]): KeyMap<KeyMap<boolean>> {
  const changed = new KeyMap<KeyMap<boolean>>();
  const note = (owner: ObjectKey, key: ObjectKey, isWaiting: boolean): void => {
    const keys = changed.get(owner) ?? new KeyMap();
    keys.set(key, isWaiting);
    changed.set(owner, keys);
  };
  for (const { key, from, to } of moves) {
    const [left, joined] = [from, to].map(missingOwner);
    if (left === joined || (left && joined && sameKey(left, joined))) continue;
    if (left !== undefined) note(left, key, false);
    if (joined !== undefined) note(joined, key, true);
  }
  return changed;
}

function missingOwner(binding: OwnerBinding | undefined): ObjectKey | undefined {
  return binding?.incarnation === undefined ? binding?.owner : undefined;
}

/** Adds an object, with the owners that its versions are bound to. */
function addObject(
  found: Footprint,
  key: ObjectKey,
  versions: readonly (CatalogObject | undefined)[],
): void {
  found.addKey(key);
  for (const object of versions) {
    if (object?.ownerBinding !== undefined) found.addKey(object.ownerBinding.owner);
  }
}

/** Place of a path in the list of those that differ from it by case or composition alone. */
interface Link {
  readonly previous: string | undefined;
  readonly next: string | undefined;
}

/**
 * Paths that differ only in case or in Unicode composition. The file systems of macOS and Windows
 * store only one of them, so a clone there would silently lose the other.
 */
class PathCollisions {
  /**
   * Paths that differ from their key, as linked lists: a push may have thousands of spellings of one
   * path. A list begins at its key after a slash, as no path does.
   */
  readonly unusual: Entries<string, Link>;

  constructor(unusual: Entries<string, Link> = new Map()) {
    this.unusual = unusual;
  }

  set(path: string, exists: boolean, undo?: ChangeLog): void {
    const fold = collisionKey(path);
    const link = this.unusual.get(path);
    if (fold === path || (link !== undefined) === exists) return;
    const previous = link?.previous ?? `/${fold}`;
    const next = link === undefined ? this.unusual.get(previous)?.next : link.next;
    const { previous: start } = this.unusual.get(previous) ?? {};
    this.#put(previous, { previous: start, next: exists ? path : next }, undo);
    if (next !== undefined) {
      const { next: end } = this.unusual.get(next) ?? {};
      this.#put(next, { previous: exists ? path : previous, next: end }, undo);
    }
    this.#put(path, exists ? { previous, next } : { previous: undefined, next: undefined }, undo);
  }

  #put(at: string, link: Link, undo: ChangeLog | undefined): void {
    undo?.map(this.unusual, at);
    if (link.previous === undefined && link.next === undefined) this.unusual.delete(at);
    else this.unusual.set(at, link);
  }

  /** The existing path that collides with a new one; undefined: there is none. */
  twinOf(path: string, has: (path: string) => boolean): string | undefined {
    const fold = collisionKey(path);
    if (path === fold ? has(path) : this.unusual.has(path)) return undefined;
    return this.unusual.get(`/${fold}`)?.next ?? (has(fold) ? fold : undefined);
  }

  problems(has: (path: string) => boolean): Problem[] {
    return [...this.unusual.entries()].flatMap(([at]) =>
      at.startsWith('/') ? this.problemsOf(at.slice(1), has) : [],
    );
  }

  /** A problem for each path of a key that another one collides with. */
  problemsOf(fold: string, has: (path: string) => boolean): Problem[] {
    const paths = has(fold) ? [fold] : [];
    let at = this.unusual.get(`/${fold}`)?.next;
    for (; at !== undefined; at = this.unusual.get(at)?.next) paths.push(at);
    const [first = '', second] = paths;
    if (second === undefined) return [];
    return paths.map((path) => {
      const other = path === first ? second : first;
      const message = `The path differs by case alone from ${shownPath(other)}; a clone on macOS or Windows would lose one of them, so rename one`;
      return { path, line: 1, col: 1, message };
    });
  }
}

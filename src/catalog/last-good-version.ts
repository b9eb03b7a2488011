/**
 * Determines each object after the files of a step are in place: its last good version and its
 * incarnation.
 */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import {
  CatalogObject,
  comparePlaces,
  type ManifestSource,
  type Place,
  sameSources,
} from './catalog-object.ts';
import type { Contents } from './contents.ts';
import { type FileEntry, hasUnnamed, isValid } from './file.ts';
import { type CommitPoint, Identity, mergedIdentity, type ParentView } from './identity.ts';
import type { Places } from './places.ts';
import type { Step } from './step.ts';

interface Resolving {
  readonly key: ObjectKey;
  readonly claims: Places;
  readonly before: CatalogObject | undefined;
}

const NONE: readonly Problem[] = [];

export class Resolution {
  readonly #rootCommit: string;
  readonly #contents: Contents;
  readonly #step: Step;
  /** Problems that keep the objects of a file, which may have thousands: one list for all of them. */
  readonly #shields = new Map<FileEntry, readonly Problem[]>();

  /** `contents`: with the files after the step. */
  constructor(rootCommit: string, contents: Contents, step: Step) {
    this.#rootCommit = rootCommit;
    this.#contents = contents;
    this.#step = step;
  }

  /** Undefined: there is no such object after the step. */
  after(of: Resolving): CatalogObject | undefined {
    const { key, before, claims } = of;
    const known = before ?? this.#inherited(key);
    const place = winner(claims, known?.place);
    const document = place && this.#contents.document(place);
    if (place === undefined || document === undefined || !isValid(document)) {
      return this.#unread(of, known, place);
    }
    const identity = this.#identity(of, document);
    // A push may replace an object thousands of times: parts that stay are shared.
    const stays = before !== undefined && comparePlaces(before.place, place) === 0;
    const own = stays
      ? { key: before.key, place: before.place }
      : { key: document.key ?? key, place };
    return keepIfEqual(
      before,
      new CatalogObject({ ...own, identity, source: document, problems: NONE }),
    );
  }

  /** The last good version, if the newest one cannot be served or its file hides it. */
  #unread(
    of: Resolving,
    known: CatalogObject | undefined,
    place: Place | undefined,
  ): CatalogObject | undefined {
    const document = place && this.#contents.document(place);
    const problems = place === undefined ? this.#shieldOf(known) : document?.problems;
    // A version without its secrets is better than none, and worse than the last good one.
    const isBetter = known === undefined || known.source.partial === true;
    const source = document?.partial === true && isBetter ? document : known?.source;
    if (source === undefined || problems === undefined) return undefined;
    const identity = this.#identity(of, source);
    const fallback = place ?? known?.place;
    if (fallback === undefined) return undefined;
    return new CatalogObject({ key: of.key, place: fallback, identity, source, problems });
  }

  /**
   * Problems of unreadable documents in the file of an object whose own document is gone: they keep
   * the object. Undefined: nothing keeps it.
   */
  #shieldOf(known: CatalogObject | undefined): readonly Problem[] | undefined {
    const file = known && this.#contents.files.get(known.place.path);
    if (file === undefined || !hasUnnamed(file)) return undefined;
    const problems =
      this.#shields.get(file) ??
      file.documents.filter((one) => one.key === undefined).flatMap((one) => one.problems);
    this.#shields.set(file, problems);
    return problems;
  }

  /** An object that only another parent of the merge has. */
  #inherited(key: ObjectKey): CatalogObject | undefined {
    for (const parent of this.#step.otherParents ?? []) {
      const object = parent.object(key);
      if (object !== undefined) return object;
    }
    return undefined;
  }

  #identity({ key, before }: Resolving, source: ManifestSource): Identity {
    const { otherParents, isAncestor } = this.#step;
    if (otherParents === undefined) {
      return before === undefined ? this.#born(key) : successor(before, source);
    }
    const views = [before, ...otherParents.map((parent) => parent.object(key))]
      .filter((object) => object !== undefined)
      .map(
        (object): ParentView => ({
          identity: object.identity,
          isUnchanged: () => isUnchanged(object, source),
        }),
      );
    const [first, ...rest] = views;
    if (first === undefined) return this.#born(key);
    const merged = mergedIdentity([first, ...rest], isAncestor ?? (() => false));
    return before !== undefined && sameIdentity(before.identity, merged) ? before.identity : merged;
  }

  #born(key: ObjectKey): Identity {
    return newborn(this.#rootCommit, key, this.#step.commit);
  }
}

/** The same as `mergedIdentity`, of an object that one parent has. */
function successor(before: CatalogObject, source: ManifestSource): Identity {
  const { identity } = before;
  return isUnchanged(before, source) ? identity : identity.withGeneration(identity.generation + 1);
}

function isUnchanged(object: CatalogObject, source: ManifestSource): boolean {
  return object.source === source || sameSources(object.source, source);
}

/** Returns the known version if the new one is equal. */
function keepIfEqual(before: CatalogObject | undefined, after: CatalogObject): CatalogObject {
  const same =
    before !== undefined &&
    before.source === after.source &&
    before.identity === after.identity &&
    comparePlaces(before.place, after.place) === 0 &&
    before.problems.length === 0 &&
    after.problems.length === 0;
  return same ? before : after;
}

/** Chooses the document that defines a key: the incumbent, otherwise the first. */
function winner(claims: Places, incumbent: Place | undefined): Place | undefined {
  const inSameFile = incumbent && claims.firstIn(incumbent.path);
  return inSameFile ?? claims.first;
}

export function newborn(rootCommit: string, key: ObjectKey, birth: CommitPoint): Identity {
  return new Identity({ rootCommit, key, birth, generation: 1 });
}

function sameIdentity(a: Identity, b: Identity): boolean {
  return a.introducedBy === b.introducedBy && a.generation === b.generation;
}

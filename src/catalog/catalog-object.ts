/** An object as the repository has it, and the places that documents are at. */
import { sameDesiredState } from '../admission/index.ts';
import { describeKey, type KubeObject, type ObjectKey } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import { Identity } from './identity.ts';
import type { Tie } from './tie.ts';

/** A document of a file. */
export interface Place {
  readonly path: string;
  readonly index: number;
}

/** What keeps a manifest, in whatever form; parsed anew at every reading. */
export interface ManifestSource {
  readonly manifest: KubeObject | undefined;
  /** Where in which file it is. */
  readonly line: number;
  readonly blob: string;
  /** The manifest lacks what nobody here can open. */
  readonly partial?: boolean;
  /** Secrets that the file holds in the clear. */
  readonly clear?: readonly Problem[];
}

type CatalogFields = Pick<CatalogObject, 'key' | 'place' | 'identity' | 'source' | 'problems'> & {
  readonly tie?: Tie | undefined;
};

/** An object as the repository has it. Immutable; a change makes a new one. */
export class CatalogObject {
  readonly key: ObjectKey;
  readonly place: Place;
  readonly identity: Identity;
  /** Holds the newest valid version; the same one for as long as nobody wrote another. */
  readonly source: ManifestSource;
  /** Why the newest version is not served; empty when it is. */
  readonly problems: readonly Problem[];
  /** Of an access key: the life of its owner that it belongs to. */
  readonly tie: Tie | undefined;

  constructor(of: CatalogFields) {
    this.key = of.key;
    this.place = of.place;
    this.identity = of.identity;
    this.source = of.source;
    this.problems = of.problems;
    this.tie = of.tie;
  }

  withTie(tie: Tie | undefined): CatalogObject {
    const { key, place, identity, source, problems } = this;
    return new CatalogObject({ key, place, identity, source, problems, tie });
  }

  /** Of an access key: the uid of the owner that it belongs to; undefined while it waits for one. */
  get ownerUid(): string | undefined {
    const { rootCommit } = this.identity;
    if (this.tie?.life === undefined) return undefined;
    const birth = { id: this.tie.life, committerTime: 0 };
    return new Identity({ rootCommit, key: this.tie.owner, birth, generation: 1 }).uid;
  }

  /** The newest valid version: the last good. */
  get manifest(): KubeObject {
    const { manifest } = this.source;
    if (manifest === undefined) throw new Error(`${describeKey(this.key)} has lost its manifest`);
    return manifest;
  }
}

/** The new version, unless it is what there is. */
export function keepIfEqual(
  before: CatalogObject | undefined,
  after: CatalogObject,
): CatalogObject {
  const same =
    before !== undefined &&
    before.source === after.source &&
    before.identity === after.identity &&
    comparePlaces(before.place, after.place) === 0 &&
    before.problems.length === 0 &&
    after.problems.length === 0;
  return same ? before : after;
}

/** What is known already about a manifest and the one before it. */
const compared = new WeakMap<ManifestSource, WeakMap<ManifestSource, boolean>>();

/** Whether two manifests ask for the same. */
export function sameSources(a: ManifestSource, b: ManifestSource): boolean {
  return compared.get(b)?.get(a) ?? compare(a, b);
}

/**
 * Answers `sameSources` before it is asked: it parses both manifests, and where there are many, the
 * step that asks for all of them at once would take long.
 */
export function compareAhead(a: ManifestSource, b: ManifestSource): void {
  compared.set(b, new WeakMap([[a, compare(a, b)]]));
}

function compare(a: ManifestSource, b: ManifestSource): boolean {
  const [first, second] = [a.manifest, b.manifest];
  return first !== undefined && second !== undefined && sameDesiredState(first, second);
}

export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.introducedBy === b.introducedBy && a.generation === b.generation;
}

export function comparePlaces(a: Place, b: Place): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.index - b.index;
}

/** Which of the documents that name a key is the object: the incumbent, else the first. */
export function winner(claims: readonly Place[], incumbent: Place | undefined): Place | undefined {
  if (claims.length < 2) return claims[0];
  const inSameFile = claims.filter((place) => place.path === incumbent?.path);
  const candidates = inSameFile.length > 0 ? inSameFile : claims;
  return candidates.reduce((a, b) => (comparePlaces(b, a) < 0 ? b : a));
}

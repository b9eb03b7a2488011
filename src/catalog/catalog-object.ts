/** An object of the repository, and positions of documents. */
import { sameDesiredState } from '../admission/index.ts';
import { describeKey, type KubeObject, type ObjectKey } from '../apimachinery/index.ts';
import type { SecretPaths } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';
import { Identity } from './identity.ts';
import type { OwnerBinding } from './owner-binding.ts';

/** A document of a file. */
export interface Place {
  readonly path: string;
  readonly index: number;
}

/** A stored manifest, in any form; parsed at each access. */
export interface ManifestSource {
  readonly manifest: KubeObject | undefined;
  /** Position in its file. */
  readonly line: number;
  readonly blob: string;
  /** The manifest lacks values that the daemon cannot decrypt. */
  readonly partial?: boolean;
  /** Plaintext secrets in the file. */
  readonly clear?: readonly Problem[];
  /** Values that the file encrypts beside the secret fields of the kind; absent: none. */
  readonly encrypted?: SecretPaths | undefined;
}

type CatalogFields = Pick<CatalogObject, 'key' | 'place' | 'identity' | 'source' | 'problems'> & {
  readonly ownerBinding?: OwnerBinding | undefined;
};

/** An object of the repository. Immutable; a change makes a new instance. */
export class CatalogObject {
  readonly key: ObjectKey;
  readonly place: Place;
  readonly identity: Identity;
  /** Source of the newest valid version; the same instance until another version is written. */
  readonly source: ManifestSource;
  /** Reasons why the newest version is not served; empty if it is. */
  readonly problems: readonly Problem[];
  /** Of an access key or a project secret: the incarnation of the object that it belongs to. */
  readonly ownerBinding: OwnerBinding | undefined;

  constructor(of: CatalogFields) {
    this.key = of.key;
    this.place = of.place;
    this.identity = of.identity;
    this.source = of.source;
    this.problems = of.problems;
    this.ownerBinding = of.ownerBinding;
  }

  withOwnerBinding(ownerBinding: OwnerBinding | undefined): CatalogObject {
    const { key, place, identity, source, problems } = this;
    return new CatalogObject({ key, place, identity, source, problems, ownerBinding });
  }

  /** Of such an object: the uid of the one that it belongs to; undefined while that does not exist. */
  get ownerUid(): string | undefined {
    const { rootCommit } = this.identity;
    if (this.ownerBinding?.incarnation === undefined) return undefined;
    const birth = { id: this.ownerBinding.incarnation, committerTime: 0 };
    return new Identity({ rootCommit, key: this.ownerBinding.owner, birth, generation: 1 }).uid;
  }

  /** The newest valid version: the last good one. */
  get manifest(): KubeObject {
    const { manifest } = this.source;
    if (manifest === undefined) throw new Error(`${describeKey(this.key)} has lost its manifest`);
    return manifest;
  }
}

/**
 * True if a merge with a parent that has a former version leaves the object as it is, unless its file
 * changes: the parent has no such object, or an earlier version of the same incarnation. What holds for
 * each of several steps holds for all of them together.
 */
export function isPlainSuccessor(
  present: CatalogObject | undefined,
  former: CatalogObject | undefined,
): boolean {
  if (present === undefined) return former === undefined;
  if (present.ownerBinding !== undefined || present.problems.length > 0) return false;
  if (former === undefined || former === present) return true;
  const { introducedBy, generation } = present.identity;
  if (former.ownerBinding !== undefined || former.identity.introducedBy !== introducedBy) {
    return false;
  }
  const isOlder = former.identity.generation < generation;
  return isOlder || (former.identity.generation === generation && former.source === present.source);
}

/** Cached comparisons of a manifest with its former version. */
const compared = new WeakMap<ManifestSource, WeakMap<ManifestSource, boolean>>();

/** True if two manifests have the same desired state. */
export function sameSources(a: ManifestSource, b: ManifestSource): boolean {
  return compared.get(b)?.get(a) ?? compare(a, b);
}

/**
 * Precomputes `sameSources`. It parses both manifests, so a step that needed many comparisons at
 * once would block for long.
 */
export function compareAhead(a: ManifestSource, b: ManifestSource): void {
  if (compared.get(b)?.has(a) === true) return;
  compared.set(b, new WeakMap([[a, compare(a, b)]]));
}

function compare(a: ManifestSource, b: ManifestSource): boolean {
  const [first, second] = [a.manifest, b.manifest];
  return first !== undefined && second !== undefined && sameDesiredState(first, second);
}

export function comparePlaces(a: Place, b: Place): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.index - b.index;
}

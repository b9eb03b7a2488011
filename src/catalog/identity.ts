/**
 * Identity fields that follow from history alone (design section 5): uid, creationTimestamp and
 * generation. A function of the commits, so that every machine computes the same.
 */

import { v5 as uuidV5 } from 'uuid';
import { keyString, nameUuids, type ObjectKey, rfc3339 } from '../apimachinery/index.ts';

/**
 * One incarnation of an object: from the commit that introduced it to the one that ends it. uid and
 * creationTimestamp are computed on demand, since a hundred thousand instances are in memory.
 */
export class Identity {
  readonly rootCommit: string;
  readonly key: ObjectKey;
  /** The commit that introduced the object; shared by all objects of that commit. */
  readonly birth: CommitPoint;
  /** 1 + the number of commits since then that changed desired state. */
  readonly generation: number;

  constructor(of: Pick<Identity, 'rootCommit' | 'key' | 'birth' | 'generation'>) {
    this.rootCommit = of.rootCommit;
    this.key = of.key;
    this.birth = of.birth;
    this.generation = of.generation;
  }

  /** Unique across repositories, and across incarnations of one name. */
  get uid(): string {
    return uid(`${this.rootCommit}/${keyString(this.key)}/${this.birth.id}`);
  }

  get introducedBy(): string {
    return this.birth.id;
  }

  /** Seconds since the epoch. */
  get bornAt(): number {
    return Math.min(this.birth.committerTime, LAST_SECOND);
  }

  get creationTimestamp(): string {
    return rfc3339(this.bornAt * 1000);
  }

  withGeneration(generation: number): Identity {
    if (generation === this.generation) return this;
    const { rootCommit, key, birth } = this;
    return new Identity({ rootCommit, key, birth, generation });
  }
}

/** The part of a commit that identities depend on. */
export interface CommitPoint {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly committerTime: number;
}

/** RFC 3339 ends with the year 9999; git accepts any committer time. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

/** Namespace of these UUIDs (RFC 9562, version 5): the UUID of the URL of this scheme. */
const uid = nameUuids(uuidV5('https://gitplane.dev/uid/v1', uuidV5.URL));

/** One parent's view of an object in a merge. All views are of one key. */
export interface ParentView {
  readonly identity: Identity;
  /** True if the merge left the desired state of this parent unchanged. May parse two manifests. */
  isUnchanged(): boolean;
}

/** True if one commit, by id, is an ancestor of another. */
export type IsAncestor = (ancestor: string, descendant: string) => boolean;

/**
 * The identity of an object after a merge. The oldest introduction wins, unless another parent saw
 * that incarnation end and a new one begin. The generation is the highest of the parents, plus one
 * if a parent with that generation had another desired state. So a generation never falls and never
 * repeats with other content, whichever parent was served before, and a change on one side is not
 * counted twice.
 */
export function mergedIdentity(
  views: readonly [ParentView, ...ParentView[]],
  isAncestor: IsAncestor,
): Identity {
  const identities = views.map((view) => view.identity);
  const living = identities.filter(
    (one) => !identities.some((other) => succeeds(other, one, isAncestor)),
  );
  const winner = living.reduce((a, b) => (introducedBefore(b, a) ? b : a));
  const same = views.filter((view) => view.identity.introducedBy === winner.introducedBy);
  const generation = Math.max(...same.map((view) => view.identity.generation));
  const settled = same.every((view) => view.identity.generation < generation || view.isUnchanged());
  return winner.withGeneration(settled ? generation : generation + 1);
}

/**
 * True if the later incarnation began in a history that knew the earlier one, which therefore had
 * ended.
 */
function succeeds(later: Identity, earlier: Identity, isAncestor: IsAncestor): boolean {
  return (
    later.introducedBy !== earlier.introducedBy &&
    isAncestor(earlier.introducedBy, later.introducedBy)
  );
}

function introducedBefore(a: Identity, b: Identity): boolean {
  return a.bornAt === b.bornAt ? a.introducedBy < b.introducedBy : a.bornAt < b.bornAt;
}

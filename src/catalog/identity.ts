/**
 * What the server populates from history alone (design section 5): uid, creationTimestamp and
 * generation. A function of the commits, so that every machine computes the same.
 */

import { v5 as uuidV5 } from 'uuid';
import { rfc3339 } from '../apimachinery/clock.ts';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';

export interface Identity {
  readonly uid: string;
  /** The commit that introduced the object. */
  readonly introducedBy: string;
  readonly creationTimestamp: string;
  /** 1 + the number of commits since then that changed desired state. */
  readonly generation: number;
}

/** The part of a commit that identities depend on. */
export interface CommitPoint {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly committerTime: number;
}

/** RFC 3339 ends with the year 9999; git takes any committer time. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

/** Namespace of our UUIDs (RFC 9562, version 5): the UUID of the URL of this scheme. */
const UID_NAMESPACE = uuidV5('https://gitplane.dev/uid/v1', uuidV5.URL);

/**
 * The identity of an object that `commit` introduces. `rootCommit` keeps objects of different
 * repositories apart, and the introducing commit those of different lives of one name.
 */
export function newIdentity(key: ObjectKey, commit: CommitPoint, rootCommit: string): Identity {
  return {
    uid: uuidV5(`${rootCommit}/${keyString(key)}/${commit.id}`, UID_NAMESPACE),
    introducedBy: commit.id,
    creationTimestamp: rfc3339(Math.min(commit.committerTime, LAST_SECOND) * 1000),
    generation: 1,
  };
}

/** One parent's view of an object, where histories meet. */
export interface ParentView {
  readonly identity: Identity;
  /** Whether the merge left the desired state as this parent had it. */
  readonly unchanged: boolean;
}

/** Whether one commit, by id, is in the history of another. */
export type IsAncestor = (ancestor: string, descendant: string) => boolean;

/**
 * The identity of an object after a merge: the oldest introduction wins, unless another parent saw
 * that life end and a new one begin. The generation is that of the parent that is ahead, or one
 * more where a parent with that generation asked for something else. So a generation never falls
 * and never repeats with other content, whichever side of the merge was served before; and what
 * only one side changed is not counted twice.
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
  const same = views.filter((view) => view.identity.uid === winner.uid);
  const generation = Math.max(...same.map((view) => view.identity.generation));
  const settled = same.every((view) => view.unchanged || view.identity.generation < generation);
  return { ...winner, generation: settled ? generation : generation + 1 };
}

/** A life that began where the other one was known, and so had ended. */
function succeeds(later: Identity, earlier: Identity, isAncestor: IsAncestor): boolean {
  return later.uid !== earlier.uid && isAncestor(earlier.introducedBy, later.introducedBy);
}

function introducedBefore(a: Identity, b: Identity): boolean {
  return a.creationTimestamp === b.creationTimestamp
    ? a.introducedBy < b.introducedBy
    : a.creationTimestamp < b.creationTimestamp;
}

/** The etcd keys of one platform, below its prefix. */

export interface Keys {
  /** The leader; its create_revision is the term. */
  readonly leader: string;
  /** Live replicas, each bound to its lease. */
  readonly replicas: string;
  /** Written by a leader in the transaction that gives up its term; see hand-over.ts. */
  readonly handedOver: string;
  readonly cluster: string;
  /** Offers of replicas for an empty etcd. */
  readonly candidates: string;
  /**
   * Present while the state lacks data that a leader restored from a disk, after etcd was restored
   * from an older snapshot.
   */
  readonly recovering: string;
  /** Common prefix of the two keys above: while an entry exists, etcd has less than the disks. */
  readonly recovery: string;
  /** Files that all replicas share, sealed. */
  readonly secrets: string;
  /** Head of the branch. */
  readonly head: string;
  /** Records of branch updates, and their objects in parts. */
  readonly log: string;
  readonly packs: string;
  readonly platformState: string;
  readonly clustersState: string;
}

/** `prefix` ends with a slash. */
export function keysBelow(prefix: string): Keys {
  return {
    leader: `${prefix}leader`,
    replicas: `${prefix}replicas/`,
    handedOver: `${prefix}handed-over`,
    cluster: `${prefix}cluster`,
    candidates: `${prefix}candidates/`,
    recovering: `${prefix}candidates-taken-up`,
    recovery: `${prefix}candidates`,
    secrets: `${prefix}secrets/`,
    head: `${prefix}git/head`,
    log: `${prefix}git/log/`,
    packs: `${prefix}git/packs/`,
    platformState: `${prefix}state/platform/`,
    clustersState: `${prefix}state/clusters/`,
  };
}

const DIGITS = 16;

/** Padded, so that byte order is numeric order. */
export function sequenceKey(below: string, sequence: number): string {
  return below + String(sequence).padStart(DIGITS, '0');
}

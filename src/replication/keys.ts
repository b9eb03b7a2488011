/** Where everything is below the prefix of one platform in etcd. */

export interface Keys {
  /** Who leads; its create_revision is the term. */
  readonly leader: string;
  /** Of replicas that are there, each bound to its lease. */
  readonly replicas: string;
  /** Put by a leader in the transaction that gives its term back; see hand-over.ts. */
  readonly handedOver: string;
  readonly cluster: string;
  /** What replicas of an empty etcd bring with them. */
  readonly candidates: string;
  /** A leader took up what a disk has beyond an etcd that was put back; goes when the state has it too. */
  readonly recovering: string;
  /** Below are the two before: while anything is there, etcd has less than the disks. */
  readonly recovery: string;
  /** Files that all replicas share, sealed. */
  readonly secrets: string;
  /** Where the branch is. */
  readonly head: string;
  /** What moved the branch: a head a record, and its objects in parts. */
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

/** In the order of bytes as in the order of numbers. */
export function sequenceKey(below: string, sequence: number): string {
  return below + String(sequence).padStart(DIGITS, '0');
}

export function partKey(below: string, sequence: number, part: number): string {
  return `${sequenceKey(below, sequence)}/${String(part).padStart(4, '0')}`;
}

/**
 * What befalls replicas, members of etcd and the ways between them. Each fault begins, lasts, and is
 * mended; which it is, whom it meets and how long it lasts follow from the seed, and from what there
 * is: namespaces, disks that can be mounted, strace.
 */
import type { Random } from '../../support/random.ts';
import type { ReplicaSet } from '../../support/replicas.ts';
import { SLOW_DISKS_MISSING } from '../../support/slow-disk.ts';
import * as disks from './disk-faults.ts';
import * as etcd from './etcd-faults.ts';
import type { Fault } from './fault.ts';
import * as network from './network-faults.ts';
import * as processes from './process-faults.ts';

export const FAULTS: readonly Fault[] = [
  processes.kill,
  processes.lostDisk,
  processes.pause,
  processes.restart,
  processes.clockJump,
  network.withoutEtcd,
  network.deafToEtcd,
  network.muteToEtcd,
  network.brokenConnections,
  network.slowEtcd,
  network.unreachablePeer,
  network.deafToPeers,
  network.muteToPeers,
  network.slowPeer,
  network.brokenPeer,
  network.isolated,
  network.unplugged,
  network.memberAlone,
  network.memberUnplugged,
  network.twoSides,
  network.strangers,
  network.oneWay,
  network.deafMember,
  network.muteMember,
  network.slowMemberCable,
  etcd.memberKilled,
  etcd.memberPaused,
  etcd.quorumLost,
  etcd.compaction,
  etcd.compactionWhileAway,
  etcd.fullEtcd,
  etcd.restored,
  disks.damagedPacks,
  disks.slowMember,
  disks.slowReplica,
  disks.fullMember,
  disks.fullReplica,
];

/** For a few: what has to be met in the shortest of runs, in this order. */
export const FIRST_FAULTS: readonly Fault[] = [
  processes.kill,
  processes.pause,
  network.isolated,
  processes.lostDisk,
];

/** GITPLANE_FAULTS_ONLY: parts of names, with `|` between them. */
const ONLY = (process.env['GITPLANE_FAULTS_ONLY'] ?? '').split('|');

export function pickFault(random: Random, set: ReplicaSet): Fault {
  return random.pick(faultsHere(set));
}

/** All that can be made on this machine and are asked for. */
export function faultsHere(set: ReplicaSet): Fault[] {
  const isWanted = ({ name }: Fault): boolean => ONLY.some((part) => name.includes(part));
  return FAULTS.filter((fault) => isPossible(fault, set) && isWanted(fault));
}

function isPossible({ needs }: Fault, set: ReplicaSet): boolean {
  switch (needs) {
    case undefined:
      return true;
    case 'small disks':
      return set.memberDisks.length > 0;
    case 'slow disks':
      return SLOW_DISKS_MISSING === undefined;
    default:
      return set.network.kind === needs;
  }
}

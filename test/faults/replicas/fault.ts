/** What a fault is. */
import type { EtcdMember } from '../../support/etcd-member.ts';
import type { Random } from '../../support/random.ts';
import type { Replica } from '../../support/replica.ts';
import type { Scene } from './scene.ts';

export interface Fault {
  readonly name: string;
  /** Begins, lasts and mends. */
  readonly run: (at: FaultScene) => Promise<void>;
  /** True if it ends the term of the leader. */
  readonly endsTerm?: boolean;
  /** What has to be there for it. */
  readonly needs?: 'namespaces' | 'proxies' | 'small disks' | 'slow disks';
  /** Stops and starts all replicas, or members: nothing else happens meanwhile. */
  readonly isAlone?: boolean;
  /** Two that stop and start members of etcd, or their disks, are in each other's way. */
  readonly meetsMembers?: boolean;
}

export interface FaultScene {
  readonly scene: Scene;
  readonly random: Random;
  /** Whom it meets. */
  readonly victim: Replica;
  readonly member: EtcdMember;
  /** How long it lasts. */
  readonly milliseconds: number;
  /** Called when the fault is there; measures how long nobody takes writes. */
  readonly struck: () => void;
}

/** Nobody begins to talk to it meanwhile, as with a load balancer in front. */
export async function away(at: FaultScene, during: () => Promise<void>): Promise<void> {
  at.scene.away.add(at.victim);
  try {
    await during();
  } finally {
    at.scene.away.delete(at.victim);
  }
}

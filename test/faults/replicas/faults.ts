/**
 * What befalls replicas, members of etcd and the ways between them. Each fault begins, lasts, and is
 * mended; which it is, whom it meets and how long it lasts follow from the seed.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EtcdMember } from '../../support/etcd.ts';
import type { Random } from '../../support/random.ts';
import type { Replica } from '../../support/replicas.ts';
import type { Scene } from './scene.ts';

export interface Fault {
  readonly name: string;
  /** Begins, lasts and mends. */
  readonly run: (at: FaultScene) => Promise<void>;
  /** Whether it ends the term of whoever leads. */
  readonly endsTerm?: boolean;
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
async function away(at: FaultScene, during: () => Promise<void>): Promise<void> {
  at.scene.away.add(at.victim);
  try {
    await during();
  } finally {
    at.scene.away.delete(at.victim);
  }
}

async function killAndStart(at: FaultScene, emptied: boolean): Promise<void> {
  await away(at, async () => {
    await at.victim.stop('SIGKILL');
    at.struck();
    await sleep(at.milliseconds);
    if (emptied) rmSync(at.victim.dataDir, { recursive: true, force: true });
    await at.victim.start();
  });
}

const kill: Fault = { name: 'kill -9', endsTerm: true, run: (at) => killAndStart(at, false) };

const lostDisk: Fault = {
  name: 'kill -9, and its disk is lost',
  endsTerm: true,
  run: (at) => killAndStart(at, true),
};

const pause: Fault = {
  name: 'SIGSTOP',
  endsTerm: true,
  run: (at) =>
    away(at, async () => {
      at.victim.pause();
      at.struck();
      await sleep(at.milliseconds);
      at.victim.resume();
    }),
};

const restart: Fault = {
  name: 'SIGTERM and start',
  endsTerm: true,
  run: (at) =>
    away(at, async () => {
      at.struck();
      const code = await at.victim.stop();
      if (code !== 0) at.scene.violation(`${at.victim.name} ended with ${code} after SIGTERM`);
      await at.victim.start();
    }),
};

const withoutEtcd: Fault = {
  name: 'cut off from etcd',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

const deafToEtcd: Fault = {
  name: 'sends to etcd and hears nothing',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole('down');
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

const brokenConnections: Fault = {
  name: 'connections to etcd break',
  run: async (at) => {
    for (let i = 0; i < 3; i++) {
      for (const proxy of at.victim.toEtcd) proxy.cut();
      await sleep(at.milliseconds / 3);
    }
  },
};

const slowEtcd: Fault = {
  name: 'etcd is slow, as on a slow disk',
  run: async (at) => {
    const slowness = 20 + at.random.below(200);
    for (const proxy of at.victim.toEtcd) proxy.delay(slowness);
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

const unreachablePeer: Fault = {
  name: 'no replica reaches it',
  run: async (at) => {
    at.victim.toPeer.blackhole();
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

const brokenPeer: Fault = {
  name: 'connections of replicas to it break',
  run: async (at) => {
    for (let i = 0; i < 5; i++) {
      at.victim.toPeer.cut();
      await sleep(at.milliseconds / 5);
    }
  },
};

const isolated: Fault = {
  name: 'cut off from everything',
  endsTerm: true,
  run: async (at) => {
    const ways = [...at.victim.toEtcd, at.victim.toPeer];
    for (const proxy of ways) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of ways) proxy.heal();
  },
};

const clockJump: Fault = {
  name: 'its clock jumps',
  run: async (at) => {
    const hours = 1 + at.random.below(24);
    at.victim.setClock((at.random.chance(0.5) ? 1 : -1) * hours * 3_600_000);
    await sleep(at.milliseconds);
    at.victim.setClock(0);
  },
};

const memberKilled: Fault = {
  name: 'kill -9 of a member of etcd',
  run: async (at) => {
    await at.member.kill();
    await sleep(at.milliseconds);
    await at.member.start();
  },
};

const memberPaused: Fault = {
  name: 'SIGSTOP of a member of etcd',
  run: async (at) => {
    at.member.pause();
    await sleep(at.milliseconds);
    at.member.resume();
  },
};

const quorumLost: Fault = {
  name: 'etcd loses its quorum',
  run: async (at) => {
    const others = at.scene.set.etcd.members.filter((one) => one !== at.member);
    await Promise.all(others.map((one) => one.kill()));
    await sleep(at.milliseconds);
    await Promise.all(others.map((one) => one.start()));
  },
};

const compaction: Fault = {
  name: 'compaction and defragmentation of etcd',
  run: async (at) => {
    const { etcd } = at.scene.set;
    for (let i = 0; i < 3; i++) {
      await etcd.compact();
      await etcd.defragment();
      await sleep(at.milliseconds / 3);
    }
  },
};

const compactionWhileAway: Fault = {
  name: 'compaction of etcd while a replica is cut off',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    await at.scene.set.etcd.compact();
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

/** The alarm stays until somebody makes room, compacts, and takes it back. */
const fullEtcd: Fault = {
  name: 'etcd has no room',
  run: async (at) => {
    const { etcd } = at.scene.set;
    const junk = 'x'.repeat(2 ** 20);
    for (let i = 0; i < 80; i++) {
      const { code } = await etcd.ctl(['put', `junk/${i}`], { input: junk });
      if (code !== 0) break;
    }
    await sleep(at.milliseconds);
    await etcd.ctl(['del', '--prefix', 'junk/']);
    await etcd.compact();
    await etcd.defragment();
    await etcd.ctl(['alarm', 'disarm']);
  },
};

/** Enough for whatever the platform of a test has, and filled within a second. */
export const QUOTA = 48 * 2 ** 20;

const FAULTS: readonly Fault[] = [
  kill,
  lostDisk,
  pause,
  restart,
  withoutEtcd,
  deafToEtcd,
  brokenConnections,
  slowEtcd,
  unreachablePeer,
  brokenPeer,
  isolated,
  clockJump,
  memberKilled,
  memberPaused,
  quorumLost,
  compaction,
  compactionWhileAway,
  fullEtcd,
];

/** For a few: what has to be met in the shortest of runs, in this order. */
export const FIRST_FAULTS: readonly Fault[] = [kill, pause, isolated, lostDisk];

export function pickFault(random: Random): Fault {
  const only = process.env['GITPLANE_FAULTS_ONLY'];
  const choice = FAULTS.filter(({ name }) => only === undefined || name.includes(only));
  return random.pick(choice);
}

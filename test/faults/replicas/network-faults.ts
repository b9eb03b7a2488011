/** What befalls the ways between replicas and members of etcd, without a word to anybody. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from '../../support/network.ts';
import { away, type Fault, type FaultScene } from './fault.ts';

export const withoutEtcd: Fault = {
  name: 'cut off from etcd',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

export const deafToEtcd: Fault = {
  name: 'no packets from etcd to the replica',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole('down');
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

export const brokenConnections: Fault = {
  name: 'connections to etcd reset',
  run: async (at) => {
    for (let i = 0; i < 3; i++) {
      for (const proxy of at.victim.toEtcd) proxy.cut();
      await sleep(at.milliseconds / 3);
    }
  },
};

export const slowEtcd: Fault = {
  name: 'slow link to etcd',
  run: async (at) => {
    const slowness = 20 + at.random.below(200);
    for (const proxy of at.victim.toEtcd) proxy.delay(slowness);
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

export const unreachablePeer: Fault = {
  name: 'no connections from other replicas',
  run: async (at) => {
    at.victim.toPeer.blackhole();
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const deafToPeers: Fault = {
  name: 'no packets from other replicas',
  run: async (at) => {
    at.victim.toPeer.blackhole('up');
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const muteToPeers: Fault = {
  name: 'no packets to other replicas',
  run: async (at) => {
    at.victim.toPeer.blackhole('down');
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const slowPeer: Fault = {
  name: 'slow link from other replicas',
  run: async (at) => {
    at.victim.toPeer.delay(20 + at.random.below(200));
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const brokenPeer: Fault = {
  name: 'connections from other replicas reset',
  run: async (at) => {
    for (let i = 0; i < 5; i++) {
      at.victim.toPeer.cut();
      await sleep(at.milliseconds / 5);
    }
  },
};

export const isolated: Fault = {
  name: 'cut off from etcd and all replicas',
  endsTerm: true,
  run: async (at) => {
    const ways = [...at.victim.toEtcd, at.victim.toPeer];
    for (const proxy of ways) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of ways) proxy.heal();
  },
};

export const muteToEtcd: Fault = {
  name: 'no packets from the replica to etcd',
  endsTerm: true,
  run: async (at) => {
    for (const way of at.victim.toEtcd) way.blackhole('up');
    at.struck();
    await sleep(at.milliseconds);
    for (const way of at.victim.toEtcd) way.heal();
  },
};

/** Nobody reaches it, clients neither, and all its connections are still there afterwards. */
export const unplugged: Fault = {
  name: 'network cable of a replica pulled',
  endsTerm: true,
  needs: 'namespaces',
  run: (at) =>
    away(at, async () => {
      const { network } = at.scene.set;
      network.plug(at.victim.place, false);
      at.struck();
      await sleep(at.milliseconds);
      network.plug(at.victim.place, true);
    }),
};

async function parted(
  at: FaultScene,
  some: readonly Place[],
  others: readonly Place[],
): Promise<void> {
  const mend = at.scene.set.network.part(some, others);
  at.struck();
  await sleep(at.milliseconds);
  mend();
}

/** The replicas reach it, and it knows nothing new. */
export const memberAlone: Fault = {
  name: 'etcd member cut off from its peers',
  needs: 'namespaces',
  run: (at) => {
    const others = at.scene.set.etcd.members.filter((one) => one !== at.member);
    return parted(
      at,
      [at.member.place],
      others.map(({ place }) => place),
    );
  },
};

export const memberUnplugged: Fault = {
  name: 'network cable of an etcd member pulled',
  needs: 'namespaces',
  run: async (at) => {
    const { network } = at.scene.set;
    network.plug(at.member.place, false);
    await sleep(at.milliseconds);
    network.plug(at.member.place, true);
  },
};

/** A replica and a member on one side, everybody else on the other; clients reach both. */
export const twoSides: Fault = {
  name: 'network split into two parts',
  endsTerm: true,
  needs: 'namespaces',
  run: (at) => {
    const { etcd, replicas } = at.scene.set;
    const others = [...etcd.members, ...replicas].filter(
      (one) => one !== at.member && one !== at.victim,
    );
    return parted(
      at,
      [at.member.place, at.victim.place],
      others.map(({ place }) => place),
    );
  },
};

/** Both reach etcd, and a third one reaches both. */
export const strangers: Fault = {
  name: 'two replicas cut off from each other',
  needs: 'namespaces',
  run: (at) => {
    const others = at.scene.set.replicas.filter((one) => one !== at.victim);
    return parted(at, [at.victim.place], [at.random.pick(others).place]);
  },
};

async function held(at: FaultScene, from: readonly Place[], to: readonly Place[]): Promise<void> {
  const mend = at.scene.set.network.hold(from, to);
  await sleep(at.milliseconds);
  mend();
}

const otherMembers = ({ scene, member }: FaultScene): Place[] =>
  scene.set.etcd.members.filter((one) => one !== member).map(({ place }) => place);

export const oneWay: Fault = {
  name: 'no packets to one other replica',
  needs: 'namespaces',
  run: (at) => {
    const others = at.scene.set.replicas.filter((one) => one !== at.victim);
    return held(at, [at.victim.place], [at.random.pick(others).place]);
  },
};

export const deafMember: Fault = {
  name: 'no packets to an etcd member from its peers',
  needs: 'namespaces',
  run: (at) => held(at, otherMembers(at), [at.member.place]),
};

export const muteMember: Fault = {
  name: 'no packets from an etcd member to its peers',
  needs: 'namespaces',
  run: (at) => held(at, [at.member.place], otherMembers(at)),
};

export const slowMemberCable: Fault = {
  name: 'slow link of an etcd member',
  needs: 'namespaces',
  run: async (at) => {
    const { network } = at.scene.set;
    network.slow(at.member.place, 20 + at.random.below(200));
    await sleep(at.milliseconds);
    network.hurry(at.member.place);
  },
};

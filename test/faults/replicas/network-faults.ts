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
  name: 'sends to etcd and hears nothing',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole('down');
    at.struck();
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

export const brokenConnections: Fault = {
  name: 'connections to etcd break',
  run: async (at) => {
    for (let i = 0; i < 3; i++) {
      for (const proxy of at.victim.toEtcd) proxy.cut();
      await sleep(at.milliseconds / 3);
    }
  },
};

export const slowEtcd: Fault = {
  name: 'the way to etcd is slow',
  run: async (at) => {
    const slowness = 20 + at.random.below(200);
    for (const proxy of at.victim.toEtcd) proxy.delay(slowness);
    await sleep(at.milliseconds);
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

export const unreachablePeer: Fault = {
  name: 'no replica reaches it',
  run: async (at) => {
    at.victim.toPeer.blackhole();
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const deafToPeers: Fault = {
  name: 'what other replicas send to it is lost',
  run: async (at) => {
    at.victim.toPeer.blackhole('up');
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const muteToPeers: Fault = {
  name: 'what it answers to other replicas is lost',
  run: async (at) => {
    at.victim.toPeer.blackhole('down');
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const slowPeer: Fault = {
  name: 'the way of other replicas to it is slow',
  run: async (at) => {
    at.victim.toPeer.delay(20 + at.random.below(200));
    await sleep(at.milliseconds);
    at.victim.toPeer.heal();
  },
};

export const brokenPeer: Fault = {
  name: 'connections of replicas to it break',
  run: async (at) => {
    for (let i = 0; i < 5; i++) {
      at.victim.toPeer.cut();
      await sleep(at.milliseconds / 5);
    }
  },
};

export const isolated: Fault = {
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

export const muteToEtcd: Fault = {
  name: 'hears etcd and nothing arrives there',
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
  name: 'its cable is pulled',
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
  name: 'a member of etcd is cut off from the others',
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
  name: 'the cable of a member of etcd is pulled',
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
  name: 'the network falls into two parts',
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
  name: 'two replicas do not reach each other',
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
  name: 'what it sends to one other replica is lost',
  needs: 'namespaces',
  run: (at) => {
    const others = at.scene.set.replicas.filter((one) => one !== at.victim);
    return held(at, [at.victim.place], [at.random.pick(others).place]);
  },
};

export const deafMember: Fault = {
  name: 'a member of etcd does not hear the others',
  needs: 'namespaces',
  run: (at) => held(at, otherMembers(at), [at.member.place]),
};

export const muteMember: Fault = {
  name: 'the others do not hear a member of etcd',
  needs: 'namespaces',
  run: (at) => held(at, [at.member.place], otherMembers(at)),
};

export const slowMemberCable: Fault = {
  name: 'the cable of a member of etcd is slow',
  needs: 'namespaces',
  run: async (at) => {
    const { network } = at.scene.set;
    network.slow(at.member.place, 20 + at.random.below(200));
    await sleep(at.milliseconds);
    network.hurry(at.member.place);
  },
};

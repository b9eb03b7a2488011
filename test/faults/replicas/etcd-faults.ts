/** What befalls etcd. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';

export const memberKilled: Fault = {
  name: 'kill -9 of a member of etcd',
  meetsMembers: true,
  run: async (at) => {
    await at.member.kill();
    await sleep(at.milliseconds);
    await at.member.start();
  },
};

export const memberPaused: Fault = {
  name: 'SIGSTOP of a member of etcd',
  meetsMembers: true,
  run: async (at) => {
    at.member.pause();
    await sleep(at.milliseconds);
    at.member.resume();
  },
};

export const quorumLost: Fault = {
  name: 'etcd loses its quorum',
  meetsMembers: true,
  run: async (at) => {
    const others = at.scene.set.etcd.members.filter((one) => one !== at.member);
    await Promise.all(others.map((one) => one.kill()));
    await sleep(at.milliseconds);
    await Promise.all(others.map((one) => one.start()));
  },
};

export const compaction: Fault = {
  name: 'compaction and defragmentation of etcd',
  meetsMembers: true,
  run: async (at) => {
    const { etcd } = at.scene.set;
    for (let i = 0; i < 3; i++) {
      await etcd.compact();
      await etcd.defragment();
      await sleep(at.milliseconds / 3);
    }
  },
};

export const compactionWhileAway: Fault = {
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
export const fullEtcd: Fault = {
  name: 'etcd has no room',
  meetsMembers: true,
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

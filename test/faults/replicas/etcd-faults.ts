/** What befalls etcd. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchDir } from '../../support/daemon.ts';
import type { Fault } from './fault.ts';

export const memberKilled: Fault = {
  name: 'kill -9 of an etcd member',
  meetsMembers: true,
  run: async (at) => {
    await at.member.kill();
    await sleep(at.milliseconds);
    await at.member.start();
  },
};

export const memberPaused: Fault = {
  name: 'SIGSTOP of an etcd member',
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
  name: 'etcd compaction and defragmentation',
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
  name: 'etcd compaction while a replica is cut off',
  endsTerm: true,
  run: async (at) => {
    for (const proxy of at.victim.toEtcd) proxy.blackhole();
    at.struck();
    await sleep(at.milliseconds);
    await at.scene.set.etcd.compact();
    for (const proxy of at.victim.toEtcd) proxy.heal();
  },
};

/** What was written since the snapshot is on the disks of replicas alone. A supervisor starts those that end. */
export const restored: Fault = {
  name: 'etcd restored from a snapshot',
  isAlone: true,
  run: async (at) => {
    const { etcd, replicas } = at.scene.set;
    const snapshot = join(scratchDir(), `${at.scene.seed}.snapshot`);
    await etcd.save(snapshot);
    await sleep(at.milliseconds);
    at.scene.isPutBack = true;
    await etcd.restore(snapshot);
    const giveUp = performance.now() + NOTICED_WITHIN_MS;
    const isRunning = (): boolean => replicas.some((one) => one.isRunning);
    while (isRunning() && performance.now() < giveUp) await sleep(50);
    for (const replica of replicas.filter((one) => one.isRunning)) {
      at.scene.violation(`${replica.name} goes on with an etcd that was put back`);
      await replica.stop('SIGKILL');
    }
    await Promise.all(replicas.map((replica) => replica.start()));
  },
};

const NOTICED_WITHIN_MS = 30_000;

/** The alarm stays until an operator makes room, compacts, and takes it back. */
export const fullEtcd: Fault = {
  name: 'etcd quota used up',
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

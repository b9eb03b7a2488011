/** What befalls disks: they are full, or take their time. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { slowDisk } from '../../support/slow-disk.ts';
import { Asker } from './ask.ts';
import { away, type Fault, type FaultScene } from './fault.ts';
import { MERGE_PATCH, TEAMS } from './scene.ts';

/** Mebibytes. etcd takes two times 64 for its log before it has written anything. */
export const DISKS = { replica: 128, member: 640 };

const LONGEST_FSYNC_MS = 400;

async function slow(at: FaultScene, pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  const mend = await slowDisk(pid, 50 + at.random.below(LONGEST_FSYNC_MS));
  await sleep(at.milliseconds);
  await mend();
}

export const slowMember: Fault = {
  name: 'slow disk of an etcd member',
  needs: 'slow disks',
  run: (at) => slow(at, at.member.pid),
};

export const slowReplica: Fault = {
  name: 'slow disk of a replica',
  needs: 'slow disks',
  run: (at) => slow(at, at.victim.daemon.process.pid),
};

/** A member of etcd whose disk is full ends. It is started again when there is room. */
export const fullMember: Fault = {
  name: 'full disk of an etcd member',
  needs: 'small disks',
  meetsMembers: true,
  run: async (at) => {
    const { set } = at.scene;
    const disk = set.memberDisks[set.etcd.members.indexOf(at.member)];
    disk?.fill();
    await sleep(at.milliseconds);
    disk?.clear();
    if (!at.member.isRunning) await at.member.start();
  },
};

/**
 * All packs of a replica are damaged while it is down. It may not start, and must serve nothing wrong; an
 * operator gives it an empty disk then.
 */
export const damagedPacks: Fault = {
  name: 'kill -9 with damaged packs',
  endsTerm: true,
  run: (at) =>
    away(at, async () => {
      const { victim } = at;
      await victim.stop('SIGKILL');
      at.struck();
      damagePacks(join(victim.dataDir, 'repo.git/objects/pack'));
      const started = victim.start().catch(() => undefined);
      await Promise.race([started, sleep(at.milliseconds)]);
      if (victim.isRunning) await sleep(at.milliseconds);
      await victim.abort();
      await started;
      rmSync(victim.dataDir, { recursive: true, force: true });
      await victim.start();
    }),
};

function damagePacks(folder: string): void {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.pack'))) {
    const file = join(folder, name);
    const bytes = readFileSync(file);
    bytes.fill(0xa5, Math.floor(bytes.length / 3), Math.floor(bytes.length / 2));
    // Packs are read-only, and may have a second name.
    rmSync(file);
    writeFileSync(file, bytes);
  }
}

/** It must serve reads, say of writes that there is no room, and take them when there is. */
export const fullReplica: Fault = {
  name: 'full disk of a replica',
  needs: 'small disks',
  run: async (at) => {
    at.victim.disk?.fill();
    const until = performance.now() + at.milliseconds;
    await expectReads(at);
    while (performance.now() < until) await expectNoWrites(at);
    at.victim.disk?.clear();
    if (!at.victim.isRunning) at.scene.violation(`${at.victim.name} ended on a full disk`);
  },
};

async function expectReads(at: FaultScene): Promise<void> {
  const asker = new Asker();
  const { token } = at.scene.set;
  const path = `${TEAMS}?resourceVersion=0`;
  const answer = await asker.ask(at.victim, { path, token }).catch(String);
  asker.close();
  if (typeof answer === 'string') at.scene.violation(`no reads on a full disk: ${answer}`);
  else if (answer.code !== 200) at.scene.violation(`a read on a full disk is ${answer.text}`);
}

/** A write is refused with a reason, or taken, as long as there is room in files that exist. */
async function expectNoWrites(at: FaultScene): Promise<void> {
  const asker = new Asker();
  const { scene, victim } = at;
  const headers = { 'idempotency-key': scene.key() };
  const body = { spec: { displayName: scene.mark() } };
  const patch = { method: 'PATCH', path: `${TEAMS}/probe`, body, type: MERGE_PATCH, headers };
  const answer = await asker.ask(victim, { ...patch, token: scene.set.token }).catch(String);
  asker.close();
  if (typeof answer === 'string') scene.violation(`a write on a full disk ended: ${answer}`);
  else if (![200, 404, 503, 507].includes(answer.code)) {
    scene.violation(`a write on a full disk is ${answer.code} ${answer.text}`);
  }
  await sleep(100);
}

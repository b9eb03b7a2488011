/** One run: clients, pushes and watches at all replicas, a fault or two, and the checks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../../support/random.ts';
import type { Replica } from '../../support/replica.ts';
import type { ReplicaSet } from '../../support/replicas.ts';
import { isLong } from '../budget.ts';
import { repositoryOf } from '../history.ts';
import { Asker } from './ask.ts';
import {
  createProbe,
  expectAlive,
  expectCommits,
  expectLinearizable,
  expectMirrors,
  expectSameState,
  expectWatches,
} from './checks.ts';
import { useApi } from './clients.ts';
import type { Fault } from './fault.ts';
import { pickFault } from './faults.ts';
import { usePushes } from './pushes.ts';
import { MERGE_PATCH, Scene, TEAMS, type Violation } from './scene.ts';
import { WanderingWatch } from './wandering-watch.ts';

export interface RunReport {
  readonly faults: readonly string[];
  /** Of those that were made. */
  readonly names: readonly string[];
  readonly violations: readonly Violation[];
  readonly operations: number;
  /** Without an answer after all tries. */
  readonly unknown: number;
  readonly pushes: number;
  readonly watchMoves: number;
  readonly watchesLost: number;
  /** Milliseconds until a write was taken again, after the leader had been met. */
  readonly failovers: readonly number[];
  /** Milliseconds until every replica took writes, after everything was mended. */
  readonly mended: number;
}

const CLIENTS = 5;
const QUIET_MS = 400;
const SHORTEST_FAULT_MS = 200;
const LONGEST_FAULT_MS = 6_000;

export async function runOnce(
  set: ReplicaSet,
  of: { seed: number; keys: Set<string>; first?: Fault | undefined },
): Promise<RunReport> {
  const random = randomFrom(of.seed);
  // Drawn first, so that the faults follow from the seed whatever the clients do.
  const plan = planOf(random, set, of.first);
  const scene = new Scene({ set, seed: of.seed, random, keys: of.keys });
  const since = await repositoryOf(set.replicas[0]?.dataDir ?? '').head();
  const watches = set.replicas.map(() => new WanderingWatch(scene));
  await Promise.all(watches.map((watch, i) => watch.begin(set.replicas[i] as Replica)));
  const clients = Array.from({ length: CLIENTS }, () => useApi(scene));
  const work = Promise.all([...clients, usePushes(scene)]);
  const failovers: number[] = [];
  await sleep(QUIET_MS);
  const faults = await strike(scene, plan, failovers);
  await sleep(QUIET_MS);
  scene.over = true;
  await work;
  const mended = await expectAlive(scene);
  await expectWatches(scene, watches);
  await expectMirrors(scene);
  const commits = await expectCommits(scene, since);
  expectLinearizable(scene, commits);
  await expectSameState(scene);
  return {
    faults,
    names: faults.map((text) => text.slice(0, text.lastIndexOf(' ('))),
    violations: scene.violations,
    operations: scene.operations.length,
    unknown: scene.operations.filter(({ output }) => output === undefined).length,
    pushes: scene.pushes,
    watchMoves: watches.reduce((sum, { moves }) => sum + moves, 0),
    watchesLost: watches.reduce((sum, { lost }) => sum + lost, 0),
    failovers,
    mended,
  };
}

interface Planned {
  readonly fault: Fault;
  readonly meetsLeader: boolean;
  readonly other: number;
  readonly member: number;
  readonly milliseconds: number;
  /** After the one before it began; they may overlap. */
  readonly after: number;
  readonly seed: number;
}

function planOf(
  random: ReturnType<typeof randomFrom>,
  set: ReplicaSet,
  first: Fault | undefined,
): Planned[] {
  const count = random.chance(0.25) ? 2 : 1;
  const plan = Array.from({ length: count }, (_, index) => {
    const picked = pickFault(random, set);
    return {
      fault: index === 0 && first !== undefined ? first : picked,
      meetsLeader: random.chance(0.7) || (index === 0 && first !== undefined && !isLong),
      other: random.below(2),
      member: random.below(3),
      milliseconds: SHORTEST_FAULT_MS + random.below(LONGEST_FAULT_MS),
      after: index === 0 ? 0 : random.below(3_000),
      seed: random.below(2 ** 31),
    };
  });
  const alone = plan.filter(({ fault }) => fault.isAlone === true);
  return alone.length === 0 ? plan : alone.slice(0, 1);
}

/** One after the other begins; all are mended when it resolves. */
async function strike(
  scene: Scene,
  plan: readonly Planned[],
  failovers: number[],
): Promise<string[]> {
  const told: string[] = [];
  const measured: Promise<void>[] = [];
  const met = new Set<Replica>();
  const running: Promise<void>[] = [];
  let membersAreMet = false;
  for (const planned of plan) {
    await sleep(planned.after);
    const leader = await scene.set.leader();
    const others = scene.set.replicas.filter((one) => one !== leader && !met.has(one));
    const victim =
      planned.meetsLeader && leader !== undefined && !met.has(leader)
        ? leader
        : others[planned.other % Math.max(1, others.length)];
    const { fault, milliseconds } = planned;
    const isBusy = fault.meetsMembers === true && membersAreMet;
    if (victim === undefined || isBusy) continue;
    met.add(victim);
    membersAreMet ||= fault.meetsMembers === true;
    const role = victim === leader ? 'the leader' : 'another';
    told.push(`${fault.name} (${victim.name}, ${role}, ${milliseconds} ms)`);
    const struck = (): void => {
      if (victim === leader && fault.endsTerm === true && plan.length === 1) {
        measured.push(failover(scene, victim).then((ms) => void failovers.push(ms)));
      }
    };
    const member = scene.set.etcd.members[planned.member];
    if (member === undefined) continue;
    const random = randomFrom(planned.seed);
    running.push(fault.run({ scene, random, victim, member, milliseconds, struck }));
  }
  await Promise.all(running);
  await Promise.all(measured);
  return told;
}

/** From now until a write that began since is acknowledged by a replica that was not met. */
async function failover(scene: Scene, victim: Replica): Promise<number> {
  const begun = performance.now();
  const asker = new Asker();
  const { token } = scene.set;
  let done: number | undefined;
  const write = async (replica: Replica): Promise<void> => {
    const headers = { 'idempotency-key': scene.key() };
    const body = { spec: { displayName: scene.mark() } };
    const patch = { method: 'PATCH', path: `${TEAMS}/probe`, body, type: MERGE_PATCH };
    const answer = await asker.ask(replica, { ...patch, headers, token });
    if (answer.code === 404) await asker.ask(replica, { ...createProbe(), token, headers });
    if (answer.code === 200) done ??= performance.now() - begun;
  };
  const open = new Set<Promise<void>>();
  for (let i = 0; done === undefined && performance.now() - begun < 60_000; i++) {
    const others = scene.set.replicas.filter((one) => one !== victim && one.isRunning);
    const replica = others[i % Math.max(1, others.length)];
    if (replica !== undefined && open.size < 10) {
      const one: Promise<void> = write(replica)
        .catch(() => undefined)
        .finally(() => open.delete(one));
      open.add(one);
    }
    await sleep(100);
  }
  await Promise.all(open);
  asker.close();
  return done ?? Number.POSITIVE_INFINITY;
}

/**
 * Three replicas on three members of etcd, as real processes: killed, stopped, cut off, slowed and
 * lied to about the time, while clients read, write, push and watch. What clients saw must be one
 * order, every acknowledged write is exactly one commit, and all copies are the same in the end.
 */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ETCD_MISSING } from '../support/etcd.ts';
import { openNetwork } from '../support/network.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { SLOW_DISKS_MISSING } from '../support/slow-disk.ts';
import { DISKS_MISSING } from '../support/small-disk.ts';
import { budget, isLong, SEED, say, timeoutMs } from './budget.ts';
import { DISKS } from './replicas/disk-faults.ts';
import { QUOTA } from './replicas/etcd-faults.ts';
import { FIRST_FAULTS, faultsHere } from './replicas/faults.ts';
import { type RunReport, runOnce } from './replicas/run.ts';
import { writeTable } from './replicas/table.ts';

const SECONDS = 20;
/** A page that the table of the runs is written into. */
const TABLE = process.env['GITPLANE_FAULTS_TABLE'];
const title =
  ETCD_MISSING === undefined ? 'three replicas' : `three replicas (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet | undefined;

  beforeAll(async () => {
    const network = await openNetwork();
    tell(`the network is of ${network.kind}`, network.reason);
    tell('disks of replicas and members fill up', DISKS_MISSING);
    tell('disks of replicas and members are slowed down', SLOW_DISKS_MISSING);
    const disks = DISKS_MISSING === undefined ? { disks: DISKS } : {};
    set = await startReplicas({ network, ...disks, quota: QUOTA, args: ['--log-level', 'info'] });
  }, 240_000);
  afterAll(async () => {
    const log = process.env['GITPLANE_FAULTS_LOG'];
    if (log !== undefined && set !== undefined) writeFileSync(log, set.output());
    await set?.stop();
  });

  test(
    `lose nothing, repeat nothing and agree on one history under any fault (seed ${SEED})`,
    async () => {
      if (set === undefined) throw new Error('There are no replicas');
      const keys = new Set<string>();
      const goOn = budget(SECONDS);
      const reports: RunReport[] = [];
      const wrong: string[] = [];
      const begun = new Date();
      // In a long run each of them as often as the others.
      const faults = isLong ? faultsHere(set) : FIRST_FAULTS;
      for (let run = 0; run < 1 || goOn(); run++) {
        const seed = SEED + run;
        const first = faults[run % faults.length];
        const report = await runOnce(set, { seed, keys, first });
        reports.push(report);
        say(lineOf(seed, report));
        const told = `seed ${seed}: ${report.faults.join('; ')}`;
        for (const { harm, text } of report.violations) {
          wrong.push(`${told}: ${harm}: ${text}`);
          say(`  ${harm}: ${text}`);
        }
        if (TABLE !== undefined) writeTable(TABLE, reports, begun);
      }
      say(summaryOf(reports));
      expect(wrong, wrong.length === 0 ? '' : set.output()).toEqual([]);
      expect(reports.some(({ operations }) => operations > 0)).toBe(true);
    },
    timeoutMs(SECONDS) + 120_000,
  );
});

/** What there is to harm them with, always on the standard error: less than all is not hidden. */
function tell(what: string, missing: string | undefined): void {
  const text = missing === undefined ? what : `${what}: NO OR LESS OF IT, AS ${missing}`;
  process.stderr.write(`replicas: ${text}\n`);
}

function lineOf(seed: number, report: RunReport): string {
  const { faults, operations, unknown, pushes, failovers, mended, violations } = report;
  const times = failovers.map((ms) => `${Math.round(ms)} ms`).join(', ');
  return [
    `seed ${seed}: ${faults.join('; ')}`,
    `${operations} operations, ${unknown} unanswered, ${pushes} pushes`,
    `${times === '' ? 'no failover' : `failover ${times}`}, mended in ${Math.round(mended)} ms`,
    `${violations.length} violations`,
  ].join(' | ');
}

function summaryOf(reports: readonly RunReport[]): string {
  const times = reports.flatMap(({ failovers }) => failovers).sort((a, b) => a - b);
  const at = (part: number): string =>
    `${Math.round(times[Math.min(times.length - 1, Math.floor(part * times.length))] ?? 0)} ms`;
  const total = (pick: (report: RunReport) => number): number =>
    reports.reduce((sum, report) => sum + pick(report), 0);
  return [
    `replicas: ${reports.length} runs`,
    `${total(({ operations }) => operations)} operations`,
    `${total(({ pushes }) => pushes)} pushes`,
    `watches moved ${total(({ watchMoves }) => watchMoves)} times`,
    `told to list again ${total(({ watchesLost }) => watchesLost)} times`,
    `${times.length} failovers: p50 ${at(0.5)}, p90 ${at(0.9)}, longest ${at(1)}`,
  ].join(', ');
}

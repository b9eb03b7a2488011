/** Many watches that are spread over three replicas: what each takes, and when one change is with all. */
import type { Socket } from 'node:net';
import type { DaemonProcess } from '../daemon-process.ts';
import { sum } from '../etcd-process.ts';
import type { Fixture } from '../fixture.ts';
import { withReplicas } from '../replica-processes.ts';
import type { Line } from '../report.ts';
import { type Summary, summarize } from '../statistics.ts';
import { changer, mayOpen, nextEvent, openStreams, watchRequest } from './watch.ts';

const REPLICAS = 3;
const WATCHES = 10_000;
/** Number of watches if the limit of open files is too low for more. */
const FEWER = 3_000;
const CHANGES = 10;

interface Found {
  /** Kilobytes a watch. */
  readonly memory: Summary | undefined;
  /** From the request on until the last watch has the change, in ms. */
  readonly untilLast: Summary;
}

export async function measureReplicasWatch(fixture: Fixture): Promise<Line[]> {
  const count = mayOpen(WATCHES) ? WATCHES : FEWER;
  const alone = await fixture.start(await fixture.copyOfPlatform());
  const embedded = await measure(fixture, [alone], count);
  await alone.kill();
  const spread = await withReplicas(fixture, 1, async (set) => {
    await set.start(await fixture.copyOfPlatform());
    while (set.running.length < REPLICAS) await set.start();
    return await measure(fixture, set.running, count);
  });
  return linesOf(count, spread, embedded);
}

function linesOf(count: number, spread: Found, embedded: Found): Line[] {
  const name = 'embedded';
  const lines: Line[] = [
    {
      name: `one change to ${count} watches of ${REPLICAS} replicas`,
      unit: 'ms',
      measured: spread.untilLast,
      reference: { name, measured: embedded.untilLast },
    },
  ];
  if (spread.memory !== undefined && embedded.memory !== undefined) {
    lines.push({
      name: `memory of an open watch, of ${count}`,
      unit: 'KB',
      measured: spread.memory,
      reference: { name, measured: embedded.memory },
    });
  }
  return lines;
}

async function measure(
  fixture: Fixture,
  daemons: readonly DaemonProcess[],
  count: number,
): Promise<Found> {
  const resident = (): number | undefined => sum(daemons.map((one) => one.memory()));
  const before = resident();
  const streams: Socket[] = [];
  try {
    for (const [index, daemon] of daemons.entries()) {
      const share = Math.floor((count + index) / daemons.length);
      streams.push(...(await openStreams(daemon.http, await watchRequest(daemon), share)));
    }
    const after = resident();
    const hasBoth = before !== undefined && after !== undefined;
    const memory = hasBoth ? summarize([(after - before) / streams.length / 1000]) : undefined;
    return { memory, untilLast: summarize(await rounds(fixture, daemons, streams)) };
  } finally {
    for (const socket of streams) socket.destroy();
  }
}

/** The changes are made at the last replica, which does not lead where there are several. */
async function rounds(
  fixture: Fixture,
  daemons: readonly DaemonProcess[],
  streams: readonly Socket[],
): Promise<number[]> {
  const writer = daemons.at(-1);
  if (writer === undefined) throw new Error('There is no daemon');
  const change = changer(fixture, writer);
  const times: number[] = [];
  for (let round = 0; round < CHANGES; round++) {
    const arrivals = Promise.all(streams.map((socket) => nextEvent(socket)));
    const started = performance.now();
    const [last] = await Promise.all([arrivals, change(round)]);
    times.push(last.reduce((latest, one) => Math.max(latest, one), 0) - started);
  }
  return times;
}

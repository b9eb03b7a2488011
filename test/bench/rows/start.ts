/** Starts: from a clone without state, and with the state of the last run; and what it takes to
 * hold the objects in memory. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { streamBlobs } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import { type Line, type Reference, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

const MEGABYTE = 1_000_000;

interface Samples {
  readonly seconds: number[];
  readonly memory: number[];
}

export async function measureStart(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.platform();
  const empty = await fixture.emptyPlatform();
  const cold: Samples = { seconds: [], memory: [] };
  const warm: Samples = { seconds: [], memory: [] };
  const nothing: Samples = { seconds: [], memory: [] };
  const git: number[] = [];
  for (let i = 0; i < fixture.repetitions; i++) {
    git.push((await timed(() => streamBlobs(join(dataDir, 'repo.git')))).ms / 1000);
    await rm(join(dataDir, 'state'), { recursive: true });
    await startOnce(fixture, dataDir, cold);
    await startOnce(fixture, dataDir, warm);
    await startOnce(fixture, empty, nothing);
  }
  const seconds = (name: string, of: Samples): Line => {
    return { name, unit: 's', measured: summarize(of.seconds) };
  };
  const coldLine = seconds('cold start, no state', cold);
  const reference = { name: 'git ls-tree + cat-file --batch', measured: summarize(git) };
  const coldReference = { name: 'cold start', measured: coldLine.measured };
  return [
    withGoal({ ...coldLine, reference }, { atMost: 2 }),
    withGoal({ ...seconds('warm start', warm), reference: coldReference }, { atMost: 0.3 }),
    seconds('start of an empty platform', nothing),
    aboveEmpty('cold start above an empty one', { of: cold, nothing, reference }),
    aboveEmpty('warm start above an empty one', { of: warm, nothing, reference }),
    ...memoryLines(fixture, { cold, warm, nothing }),
  ];
}

/** What the objects cost, without what every start costs. */
function aboveEmpty(
  name: string,
  { of, nothing, reference }: { of: Samples; nothing: Samples; reference: Reference },
): Line {
  const base = summarize(nothing.seconds).median;
  const measured = summarize(of.seconds.map((seconds) => seconds - base));
  return { name, unit: 's', measured, reference };
}

async function startOnce(fixture: Fixture, dataDir: string, samples: Samples): Promise<void> {
  const daemon = await fixture.start(dataDir);
  await assertReady(daemon);
  samples.seconds.push(daemon.readyMs / 1000);
  const memory = await memoryAtRest(daemon);
  if (memory !== undefined) samples.memory.push(memory / MEGABYTE);
  await daemon.stop();
}

/** What stays when everything is saved and nothing happens; a start takes more for a while. */
async function memoryAtRest(daemon: DaemonProcess): Promise<number | undefined> {
  const end = performance.now() + LONGEST_UNREST_MS;
  let last = daemon.memory();
  for (let calm = 0; calm < CALM_LOOKS && performance.now() < end; ) {
    await setTimeout(LOOK_EVERY_MS);
    const now = daemon.memory();
    const isCalm = now === undefined || Math.abs(now - (last ?? 0)) < MEGABYTE;
    calm = isCalm ? calm + 1 : 0;
    last = now;
  }
  return last;
}

const LOOK_EVERY_MS = 200;
const CALM_LOOKS = 6;
const LONGEST_UNREST_MS = 60_000;

async function assertReady({ http }: DaemonProcess): Promise<void> {
  const connection = await HttpConnection.open(http);
  assertStatus(await connection.send(requestBytes({ method: 'GET', path: '/readyz' })), 200);
  connection.close();
}

function memoryLines(
  { corpus }: Fixture,
  of: { cold: Samples; warm: Samples; nothing: Samples },
): Line[] {
  if (of.nothing.memory.length === 0) return [];
  const base = summarize(of.nothing.memory).median;
  const reference = {
    name: 'bytes of the manifests',
    measured: summarize([corpus.bytes / MEGABYTE]),
  };
  const above = (name: string, { memory }: Samples): Line => {
    const measured = summarize(memory.map((bytes) => bytes - base));
    return withGoal({ name, unit: 'MB', measured, reference }, { atMost: 5 });
  };
  return [
    above('memory above empty, after a cold start', of.cold),
    above('memory above empty, after a warm start', of.warm),
    { name: 'memory of an empty platform', unit: 'MB', measured: summarize(of.nothing.memory) },
  ];
}

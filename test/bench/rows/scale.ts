/**
 * Cost follows the change, not the repository: one write, and one move of the branch, beside the
 * same on 1,000 manifests. Both daemons are measured in turn, so that noise falls on both.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Corpus } from '../corpus.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { HttpConnection } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';
import { type Watcher, watchSecrets } from '../watcher.ts';
import {
  BARE_MOVES,
  LONGEST_PAUSE_MS,
  moveRef,
  prepareCommits,
  type Step,
  WARM_UP as WARM_UP_MOVES,
} from './push.ts';
import { createRequest, WARM_UP, WRITES } from './write.ts';

const SMALL = 1000;
const GOAL = { atMost: 1.5 };

interface Side {
  readonly fixture: Fixture;
  readonly gitDir: string;
  readonly daemon: DaemonProcess;
  readonly watcher: Watcher;
  readonly steps: readonly Step[];
  readonly created: number[];
  readonly seen: number[];
}

export async function measureScale(fixture: Fixture): Promise<Line[]> {
  const small = await open(fixture.on(new Corpus(SMALL)));
  const large = await open(fixture);
  const sides = [small, large];
  try {
    for (let i = 0; i < BARE_MOVES; i++) for (const side of sides) await move(side, i);
    await createAll(sides);
  } finally {
    for (const side of sides) await close(side);
  }
  const line = (name: string, samples: (side: Side) => readonly number[]): Line => {
    const measured = summarize(samples(large));
    const reference = { name: `at ${SMALL} manifests`, measured: summarize(samples(small)) };
    const title = `${name}, ${fixture.corpus.size} manifests`;
    return withGoal({ name: title, unit: 'ms', measured, reference }, GOAL);
  };
  return [
    line('ref move to watch event', ({ seen }) => seen.slice(WARM_UP_MOVES)),
    line('create, one at a time', ({ created }) => created.slice(WARM_UP)),
  ];
}

async function open(fixture: Fixture): Promise<Side> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const range = { first: 1, count: BARE_MOVES };
  const steps = await prepareCommits(gitDir, fixture.corpus, range);
  const daemon = await fixture.start(dataDir);
  const watcher = await watchSecrets(daemon);
  return { fixture, gitDir, daemon, watcher, steps, created: [], seen: [] };
}

async function close({ watcher, daemon }: Side): Promise<void> {
  watcher.close();
  await daemon.stop();
}

async function move({ gitDir, steps, watcher, seen }: Side, i: number): Promise<void> {
  const step = steps[i];
  if (step === undefined) return;
  const movedAt = await moveRef(gitDir, step.to);
  seen.push((await watcher.arrival(step.mark)) - movedAt);
  await sleep(Math.random() * LONGEST_PAUSE_MS);
}

async function createAll(sides: readonly Side[]): Promise<void> {
  // Opened here: a server closes a connection that nothing happens on.
  const connections = await Promise.all(sides.map((side) => HttpConnection.open(side.daemon.http)));
  for (let i = 0; i < WRITES; i++) {
    for (const [at, { fixture, daemon, created }] of sides.entries()) {
      const request = createRequest(fixture, daemon.token, i);
      const { ms, result } = await timed(() => connections[at]?.send(request));
      if (result !== undefined) assertStatus(result, 201);
      created.push(ms);
    }
  }
  for (const connection of connections) connection.close();
}

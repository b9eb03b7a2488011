/**
 * The daemon beside a real kube-apiserver with etcd: the same objects through the same client over TLS,
 * in turns on one machine.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ComparedServer,
  type Found,
  listersOf,
  PAGE,
  type Protocol,
  READERS,
  REST_MS,
  type Server,
  WRITERS,
} from '../compared-server.ts';
import { API } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { HttpConnection } from '../http-connection.ts';
import { startKubeApiserver } from '../kube-apiserver-process.ts';
import { assertStatus } from '../load.ts';
import { type Bound, type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';
import { mayOpen } from './watch.ts';

/** Those up to `--manifests` are measured. A larger number is measured alone, since it takes minutes. */
const SIZES = [1000, 10_000];
/** The fill is measured in parts, in turns. */
const PARTS = 5;
/** Creates one at a time. */
const WRITES = 300;
const WATCHES = 1000;
const CHANGES = 30;
const MANY_WATCHES = 10_000;
/** Number of watches if the limit of open files is too low for more. */
const FEWER_WATCHES = 3000;
const CHANGES_TO_MANY = 10;

export async function measureKubeApiserver(fixture: Fixture): Promise<Line[]> {
  const { size: largest } = fixture.corpus;
  if (largest > Math.max(...SIZES)) return await measureSize(fixture, largest);
  const lines = [
    ...(await measureManyWatches(fixture, 'HTTP/1.1')),
    ...(await measureManyWatches(fixture, 'HTTP/2')),
  ];
  for (const size of SIZES.filter((one) => one <= largest)) {
    lines.push(...(await measureSize(fixture, size)));
  }
  return lines;
}

/** Servers that have just started: memory of other work that is freed meanwhile would count. */
async function measureManyWatches(fixture: Fixture, protocol: Protocol): Promise<Line[]> {
  const count = mayOpen(MANY_WATCHES) ? MANY_WATCHES : FEWER_WATCHES;
  const pair = await startPair(fixture);
  try {
    for (const side of pair) {
      await side.fill(1);
      await side.watch({ count, changes: CHANGES_TO_MANY, protocol });
    }
  } finally {
    for (const side of pair) await side.close();
  }
  return manyWatchLines(pair, `${count} watches, ${protocol}`);
}

async function measureSize(fixture: Fixture, size: number): Promise<Line[]> {
  const pair = await startPair(fixture);
  try {
    for (const side of pair) await side.warmUp();
    await sleep(REST_MS);
    for (const side of pair) await side.begin();
    for (let part = 0; part < PARTS; part++) {
      for (const side of pair) await side.fill(size / PARTS);
    }
    await sleep(REST_MS);
    for (const side of pair) await side.rest();
    await createAlone(pair);
    for (let i = 0; i < fixture.repetitions; i++) {
      for (const side of pair) await side.read(size);
    }
    const lists = size > Math.max(...SIZES) ? 1 : fixture.repetitions;
    for (let i = 0; i < lists; i++) {
      for (const side of pair) await side.listAll(size);
    }
    for (const side of pair) await side.watch({ count: WATCHES, changes: CHANGES });
  } finally {
    for (const side of pair) await side.close();
  }
  return linesOf(size, pair);
}

type Pair = readonly [own: ComparedServer, kubernetes: ComparedServer];

async function startPair(fixture: Fixture): Promise<Pair> {
  return [
    new ComparedServer(await startOwn(fixture)),
    new ComparedServer(await startKube(fixture)),
  ];
}

/** One after the other, and one server after the other, so that noise falls on both. */
async function createAlone(pair: Pair): Promise<void> {
  const open = await Promise.all(
    pair.map(async (side) => ({ side, connection: await HttpConnection.open(side.endpoint) })),
  );
  for (let i = 0; i < WRITES; i++) {
    for (const { side, connection } of open) {
      const { ms, result } = await timed(() => connection.send(side.nextCreate()));
      assertStatus(result, 201);
      side.found.alone.push(ms);
    }
  }
  for (const { connection } of open) connection.close();
}

async function startOwn(fixture: Fixture): Promise<Server> {
  const dataDir = await fixture.emptyPlatform();
  const daemon = await fixture.start(dataDir);
  const { https, token, memory } = daemon;
  return {
    name: 'gitplane',
    endpoint: https,
    api: API,
    token,
    dataDir,
    memory,
    end: () => daemon.stop(),
  };
}

async function startKube({ workspace }: Fixture): Promise<Server> {
  const { https, kill, ...rest } = await startKubeApiserver(workspace);
  return { name: REFERENCE, ...rest, endpoint: https, end: async () => kill() };
}

const REFERENCE = 'kube-apiserver + etcd';
const MEGABYTE = 1_000_000;

type LineOf = (
  name: string,
  of: { unit: Line['unit']; samples: (found: Found) => (number | undefined)[]; goal: Bound },
) => Line[];

/** A line without samples is left out. */
function comparing([own, kubernetes]: Pair): LineOf {
  return (name, { unit, samples, goal }) => {
    const [measured = [], other = []] = [own, kubernetes].map(({ found }) =>
      samples(found).filter((sample) => sample !== undefined),
    );
    if (measured.length === 0 || other.length === 0) return [];
    const reference = { name: REFERENCE, measured: summarize(other) };
    return [withGoal({ name, unit, measured: summarize(measured), reference }, goal)];
  };
}

function manyWatchLines(pair: Pair, watches: string): Line[] {
  const line = comparing(pair);
  return [
    ...line(`change until 99% of ${watches}`, {
      unit: 'ms',
      samples: ({ spread }) => spread,
      goal: { atMost: 1 },
    }),
    ...line(`memory of each of ${watches}`, {
      unit: 'KB',
      samples: ({ watchMemory }) => scaled(watchMemory, 1000),
      goal: { below: 20 },
    }),
  ];
}

function linesOf(size: number, pair: Pair): Line[] {
  const line = comparing(pair);
  const teams = `${size} Teams`;
  return [
    ...line(`create, ${WRITERS} writers, up to ${teams}`, {
      unit: '/s',
      samples: ({ filling }) => filling,
      goal: { atLeast: 2 },
    }),
    ...line(`create, one at a time, ${teams}`, {
      unit: 'ms',
      samples: ({ alone }) => alone,
      goal: { atMost: 0.83 },
    }),
    ...line(`disk after ${size} creates`, {
      unit: 'MB',
      samples: ({ disk }) => scaled(disk, MEGABYTE),
      goal: { atMost: 1 },
    }),
    ...line(`growth of the disk by ${size} creates`, {
      unit: 'MB',
      samples: ({ grown }) => scaled(grown, MEGABYTE),
      goal: { atMost: 1 },
    }),
    ...line(`change until 99% of ${WATCHES} watches, HTTP/1.1`, {
      unit: 'ms',
      samples: ({ spread }) => spread,
      goal: { atMost: 1 },
    }),
    ...line(`resident memory, ${teams}`, {
      unit: 'MB',
      samples: ({ memory }) => scaled(memory, MEGABYTE),
      goal: { atMost: 0.25 },
    }),
    ...line(`GET one, ${READERS} connections, ${teams}`, {
      unit: '/s',
      samples: ({ get }) => get,
      goal: { atLeast: 8 },
    }),
    ...line(`LIST ${PAGE} of ${teams}, ${READERS} connections`, {
      unit: '/s',
      samples: ({ listPage }) => listPage,
      goal: { atLeast: 8 },
    }),
    ...line(`LIST all ${teams}, ${listersOf(size)} connections`, {
      unit: '/s',
      samples: ({ listAll }) => listAll,
      goal: { atLeast: 8 },
    }),
  ];
}

function scaled(value: number | undefined, by: number): number[] {
  return value === undefined ? [] : [value / by];
}

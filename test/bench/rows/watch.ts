/** Many watches: how long until all of them have one change, and what each takes while nothing happens. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { startBareServer } from '../bare-server.ts';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess, residentBytes } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { type Endpoint, HttpConnection, openSocket, requestBytes } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';
import { newestVersion } from '../watcher.ts';
import { bodyOf } from './read.ts';

const WATCHERS = 1000;
const MANY = 10_000;
const CHANGES = 20;
/** Connections that are opened at once. */
const AT_ONCE = 100;
const PATIENCE_MS = 60_000;
const [BRACE, NEWLINE] = [0x7d, 0x0a];

export async function measureWatch(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const daemon = await fixture.start(dataDir);
  try {
    const event = await oneEvent(fixture, daemon);
    const bare = await startBareServer(fixture.workspace, {
      style: 'stream',
      body: event.toString('base64'),
      status: 200,
    });
    const request = await watchRequest(daemon);
    const spread = await fanOut(daemon.http, request, changer(fixture, daemon));
    const bareSpread = await fanOut(bare, request, async () => bare.push());
    const lines: Line[] = [
      {
        name: `one change to ${WATCHERS} watches, after the first`,
        unit: 'ms',
        measured: summarize(spread.afterFirst),
        reference: { name: 'bare node:http', measured: summarize(bareSpread.afterFirst) },
      },
      {
        name: 'the same from the request on, until the last has it',
        unit: 'ms',
        measured: summarize(spread.untilLast),
        reference: { name: 'bare node:http', measured: summarize(bareSpread.untilLast) },
      },
    ];
    const [own, others] = [
      await memoryOf(daemon.http, await watchRequest(daemon), daemon.memory),
      await memoryOf(bare, request, () => residentBytes(bare.pid)),
    ];
    bare.close();
    if (own === undefined || others === undefined) return lines;
    return [
      ...lines,
      {
        name: `memory of an open watch, of ${MANY}`,
        unit: 'KB',
        measured: summarize([own / 1000]),
        reference: { name: 'bare node:http', measured: summarize([others / 1000]) },
      },
    ];
  } finally {
    await daemon.stop();
  }
}

export async function watchRequest(daemon: DaemonProcess): Promise<Buffer> {
  const since = await newestVersion(daemon);
  const path = `${API}/sharedsecrets?watch=true&resourceVersion=${since}`;
  return requestBytes({ method: 'GET', path, token: daemon.token });
}

/** The bytes that a watch delivers for one change. */
async function oneEvent(fixture: Fixture, daemon: DaemonProcess): Promise<Buffer> {
  const body = await bodyOf(daemon.http, requestBytes({ ...target(fixture, daemon) }));
  return Buffer.from(`{"type":"MODIFIED","object":${body}}\n`);
}

function target(
  { corpus }: Fixture,
  { token }: DaemonProcess,
): { method: 'GET'; path: string; token: string } {
  const path = `${API}/namespaces/${corpus.namespaceOf(0)}/sharedsecrets/${secretName(0)}`;
  return { method: 'GET', path, token };
}

/** Changes one object; resolves when the change is acknowledged. */
export function changer(fixture: Fixture, daemon: DaemonProcess): (round: number) => Promise<void> {
  return async (round) => {
    const connection = await HttpConnection.open(daemon.http);
    const body = Buffer.from(JSON.stringify({ spec: { description: `fan-out ${round}` } }));
    const type = 'application/merge-patch+json';
    const request = { ...target(fixture, daemon), method: 'PATCH', body, type } as const;
    assertStatus(await connection.send(requestBytes(request)), 200);
    connection.close();
  };
}

interface FanOut {
  /** Of every delivery but the first of its round, in ms. */
  readonly afterFirst: number[];
  /** Of every round. */
  readonly untilLast: number[];
}

async function fanOut(
  endpoint: Endpoint,
  request: Buffer,
  change: (round: number) => Promise<void>,
): Promise<FanOut> {
  const found: FanOut = { afterFirst: [], untilLast: [] };
  const streams = await openStreams(endpoint, request, WATCHERS);
  for (let round = 0; round < CHANGES; round++) {
    const arrivals = streams.map((socket) => nextEvent(socket));
    const started = performance.now();
    await change(round);
    const times = await Promise.all(arrivals);
    const first = Math.min(...times);
    found.afterFirst.push(...times.map((time) => time - first));
    found.untilLast.push(Math.max(...times) - started);
  }
  for (const socket of streams) socket.destroy();
  return found;
}

/** When a whole line has come. */
export async function nextEvent(stream: Readable): Promise<number> {
  return await new Promise((resolve, reject) => {
    let endsWithBrace = false;
    const done = (): void => {
      clearTimeout(timer);
      stream.off('data', take).off('close', closed);
    };
    const timer = setTimeout(() => {
      done();
      reject(new Error(`A watch heard nothing for ${PATIENCE_MS / 1000} s`));
    }, PATIENCE_MS);
    const take = (chunk: Buffer): void => {
      const isSplit = endsWithBrace && chunk[0] === NEWLINE;
      endsWithBrace = chunk.at(-1) === BRACE;
      if (!isSplit && !chunk.includes('}\n')) return;
      done();
      resolve(performance.now());
    };
    const closed = (): void => {
      done();
      reject(new Error('The server ended a watch'));
    };
    stream.on('data', take).once('close', closed);
    if (stream.destroyed) closed();
  });
}

export async function openStreams(
  endpoint: Endpoint,
  request: Buffer,
  count: number,
): Promise<Socket[]> {
  const streams: Socket[] = [];
  while (streams.length < count) {
    const some = Math.min(AT_ONCE, count - streams.length);
    streams.push(
      ...(await Promise.all(Array.from({ length: some }, () => openStream(endpoint, request)))),
    );
  }
  return streams;
}

async function openStream(endpoint: Endpoint, request: Buffer): Promise<Socket> {
  const socket = await openSocket(endpoint);
  socket.write(request);
  const [head] = (await once(socket, 'data')) as [Buffer];
  if (!head.toString('latin1', 9, 12).startsWith('200')) {
    throw new Error(`The watch was answered with ${head.toString('latin1', 0, 300)}`);
  }
  return socket;
}

/** Bytes that each of many streams takes. */
async function memoryOf(
  endpoint: Endpoint,
  request: Buffer,
  resident: () => number | undefined,
): Promise<number | undefined> {
  const before = resident();
  const streams = await openStreams(endpoint, request, MANY);
  const after = resident();
  for (const socket of streams) socket.destroy();
  return before === undefined || after === undefined ? undefined : (after - before) / MANY;
}

/** Open files of a server that are not for watches: a daemon leaves 8,192 for git, the state and peers. */
const OTHER_FILES = 9000;

/** True if a process on this machine may hold as many connections. */
export function mayOpen(connections: number): boolean {
  const files = openFiles();
  return files === undefined || files >= connections + OTHER_FILES;
}

/** Limit of open files of this process; undefined where the system does not tell. */
function openFiles(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || undefined;
  } catch {
    return undefined;
  }
}

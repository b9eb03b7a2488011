/** One write after another: the latency of a durable, acknowledged create. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRepository } from '../../../src/git/open-repository.ts';
import { type BareServer, startBareServer } from '../bare-server.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { AUTHOR, BRANCH, copyRepository, TIME } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

export const WRITES = 400;
export const WARM_UP = 100;
/** What a daemon that has run for a while costs is measured: until then V8 compiles. */
const WARM_UP_LOAD_MS = 8000;
const CLIENTS = 64;
/** What the load left to do in the background is done. */
const REST_MS = 2000;

/** As the daemon has it. */
const LOG_BYTES = 4 * 1024 * 1024;

interface Samples {
  readonly created: number[];
  readonly appended: number[];
  readonly answered: number[];
  readonly published: number[];
}

interface Engine {
  /** Milliseconds of one commit, published. */
  once(i: number): Promise<number>;
  close(): Promise<void>;
}

export async function measureWrite(fixture: Fixture): Promise<Line[]> {
  const daemon = await fixture.start(await fixture.copyOfPlatform());
  const connection = await HttpConnection.open(daemon.http);
  const log = openSync(fixture.workspace.path('log'), 'a');
  const samples: Samples = { created: [], appended: [], answered: [], published: [] };
  const publish = await engineAlone(fixture);
  let made = await warmUp(fixture, daemon);
  let bare: { server: BareServer; connection: HttpConnection } | undefined;
  try {
    for (let i = 0; i < WRITES; i++) {
      const request = createRequest(fixture, daemon.token, made++);
      const created = await timed(() => connection.send(request, true));
      assertStatus(created.result, 201);
      bare ??= await bareCreate(fixture, created.result.body ?? Buffer.alloc(0));
      const { connection: other } = bare;
      samples.created.push(created.ms);
      samples.answered.push((await timed(() => other.send(request))).ms);
      samples.appended.push((await timed(() => append(log))).ms);
      samples.published.push(await publish.once(i));
    }
  } finally {
    connection.close();
    bare?.connection.close();
    bare?.server.close();
    closeSync(log);
    await publish.close();
    await daemon.stop();
  }
  return linesOf(samples);
}

/** Makes writes as fast as they go, and lets them settle. Returns how many. */
export async function warmUp(fixture: Fixture, daemon: DaemonProcess): Promise<number> {
  let made = 0;
  await throughput({
    endpoint: daemon.http,
    connections: CLIENTS,
    status: 201,
    ms: WARM_UP_LOAD_MS,
    next: () => createRequest(fixture, daemon.token, made++),
  });
  await sleep(REST_MS);
  return made;
}

/** The same commits by the engine alone: what objects, directory and ref take on this disk. */
async function engineAlone(fixture: Fixture): Promise<Engine> {
  const { corpus, workspace } = fixture;
  const gitDir = await copyRepository(await fixture.repository(), workspace.path('engine.git'));
  const engine = await openRepository({ gitDir, branch: BRANCH, segmentBytes: LOG_BYTES });
  let tip = await engine.head();
  const once = async (i: number): Promise<number> => {
    const { ms } = await timed(async () => {
      const batch = engine.begin(tip);
      const { path, content } = corpus.secretFile((i * 7919) % corpus.secrets, `written-${i}`);
      const message = `write ${i}`;
      const commit = { author: AUTHOR, committer: AUTHOR, time: TIME, message };
      await batch.add({ ...commit, changes: [{ path, content }] });
      tip = batch.tip;
      await batch.publish();
    });
    return ms;
  };
  return { once, close: () => engine.close() };
}

export function createRequest({ corpus }: Fixture, token: string, i: number): Buffer {
  const { namespace, body } = corpus.newSecret(i);
  const path = `${API}/namespaces/${namespace}/sharedsecrets`;
  return requestBytes({ method: 'POST', path, token, body });
}

async function bareCreate(
  fixture: Fixture,
  body: Buffer,
): Promise<{ server: BareServer; connection: HttpConnection }> {
  const answer = { body: body.toString('base64'), status: 201 };
  const server = await startBareServer(fixture.workspace, answer);
  return { server, connection: await HttpConnection.open(server) };
}

const KIBIBYTE = Buffer.alloc(1024, 'x');

function append(log: number): void {
  writeSync(log, KIBIBYTE);
  fsyncSync(log);
}

function linesOf(samples: Samples): Line[] {
  const steady = (values: number[]) => summarize(values.slice(WARM_UP));
  const measured = steady(samples.created);
  const append = { name: 'one fsynced append of 1 KB', measured: steady(samples.appended) };
  const engine = {
    name: 'engine alone, the same sort of commit',
    measured: steady(samples.published),
  };
  const bare = { name: 'bare node:http, same bytes', measured: steady(samples.answered) };
  return [
    withGoal(
      { name: 'create, one at a time', unit: 'ms', measured, reference: append },
      { atMost: 3 },
    ),
    { name: 'create, one at a time', unit: 'ms', measured, reference: engine },
    { name: 'create, one at a time', unit: 'ms', measured, reference: bare },
    { name: engine.name, unit: 'ms', measured: engine.measured, reference: append },
  ];
}

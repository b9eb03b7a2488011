/** Reads over HTTP and HTTPS: one object, and a list of every team. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ReferenceStyle, startBareServer } from '../bare-server.ts';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { type Endpoint, HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize } from '../statistics.ts';

const CONNECTIONS = 50;
const WARM_UP_MS = 500;
const MEASURED_MS = 1000;

type Protocol = 'HTTP' | 'HTTPS';

/** What an answer is compared with, and the least that is aimed at. */
interface Compared {
  readonly style: ReferenceStyle;
  readonly name: string;
  readonly atLeast?: number;
}

interface Reading {
  readonly name: string;
  readonly path: string;
  readonly protocol: Protocol;
  readonly references: readonly Compared[];
}

const BARE: Readonly<Record<Protocol, Compared>> = {
  HTTP: { style: 'bare', name: 'bare node:http' },
  HTTPS: { style: 'bare', name: 'bare node:https' },
};
const FASTIFY: Compared = { style: 'fastify', name: 'bare fastify', atLeast: 0.8 };
const READY_LIST: Compared = { style: 'bare', name: 'one ready buffer', atLeast: 0.3 };
const STRINGIFY: Compared = { style: 'stringify', name: 'JSON.stringify', atLeast: 4 };

export async function measureRead(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.platform();
  const daemon = await fixture.start(dataDir);
  const lines: Line[] = [];
  try {
    for (const reading of readings(fixture)) {
      lines.push(...(await measure(fixture, { daemon, dataDir, reading })));
    }
  } finally {
    await daemon.stop();
  }
  return lines;
}

function readings({ corpus }: Fixture): Reading[] {
  const middle = Math.floor(corpus.secrets / 2);
  const one = `${API}/namespaces/${corpus.namespaceOf(middle)}/sharedsecrets/${secretName(middle)}`;
  const get = { name: 'GET one', path: one };
  const list = { name: `LIST ${corpus.teams}`, path: `${API}/teams` };
  return [
    { ...get, protocol: 'HTTP', references: [FASTIFY, BARE.HTTP] },
    { ...list, protocol: 'HTTP', references: [READY_LIST, STRINGIFY] },
    { ...get, protocol: 'HTTPS', references: [BARE.HTTPS] },
    { ...list, protocol: 'HTTPS', references: [BARE.HTTPS] },
  ];
}

async function measure(
  fixture: Fixture,
  of: { daemon: DaemonProcess; dataDir: string; reading: Reading },
): Promise<Line[]> {
  const { daemon, dataDir, reading } = of;
  const { path, protocol, references } = reading;
  const { token } = daemon;
  const request = requestBytes({ method: 'GET', path, token });
  const endpoint = protocol === 'HTTP' ? daemon.http : daemon.https;
  const body = await bodyOf(endpoint, request);
  const tls = protocol === 'HTTP' ? {} : { tls: readTls(dataDir) };
  const answer = { body: body.toString('base64'), status: 200, ...tls };
  const servers = await Promise.all(
    references.map(({ style }) => startBareServer(fixture.workspace, { ...answer, style })),
  );
  const load = { connections: CONNECTIONS, status: 200, next: () => request };
  const targets = [endpoint, ...servers.map(({ port }) => ({ ...endpoint, port }))];
  const rates: number[][] = targets.map(() => []);
  for (const to of targets) await throughput({ ...load, endpoint: to, ms: WARM_UP_MS });
  // In turn, so that noise falls on all.
  for (let i = 0; i < fixture.repetitions; i++) {
    for (const [at, to] of targets.entries()) {
      rates[at]?.push(await throughput({ ...load, endpoint: to, ms: MEASURED_MS }));
    }
  }
  for (const server of servers) server.close();
  const [own = [], ...others] = rates;
  return references.map(({ name, atLeast }, at) => {
    const line: Line = {
      name: `${reading.name}, ${CONNECTIONS} connections, ${protocol}`,
      unit: '/s',
      measured: summarize(own),
      reference: { name, measured: summarize(others[at] ?? []) },
    };
    return atLeast === undefined ? line : withGoal(line, { atLeast });
  });
}

export async function bodyOf(endpoint: Endpoint, request: Buffer): Promise<Buffer> {
  const connection = await HttpConnection.open(endpoint);
  const reply = await connection.send(request, true);
  connection.close();
  assertStatus(reply, 200);
  return reply.body ?? Buffer.alloc(0);
}

function readTls(dataDir: string): { cert: string; key: string } {
  const read = (name: string): string => readFileSync(join(dataDir, 'tls', name), 'utf8');
  return { cert: read('server.crt'), key: read('server.key') };
}

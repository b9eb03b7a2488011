/** Reads over HTTP and HTTPS: one object, and a list of every team. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBareServer } from '../bare-server.ts';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { type Endpoint, HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';

const CONNECTIONS = 50;
const WARM_UP_MS = 500;
const MEASURED_MS = 1000;

type Protocol = 'HTTP' | 'HTTPS';

interface Reading {
  readonly name: string;
  readonly path: string;
  readonly protocol: Protocol;
}

export async function measureRead(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.platform();
  const daemon = await fixture.start(dataDir);
  const lines: Line[] = [];
  try {
    for (const reading of readings(fixture)) {
      lines.push(await measure(fixture, { daemon, dataDir, reading }));
    }
  } finally {
    await daemon.stop();
  }
  return lines;
}

function readings({ corpus }: Fixture): Reading[] {
  const middle = Math.floor(corpus.secrets / 2);
  const one = `${API}/namespaces/${corpus.namespaceOf(middle)}/sharedsecrets/${secretName(middle)}`;
  const protocols: readonly Protocol[] = ['HTTP', 'HTTPS'];
  return protocols.flatMap((protocol) => [
    { name: 'GET one', path: one, protocol },
    { name: `LIST ${corpus.teams}`, path: `${API}/teams`, protocol },
  ]);
}

async function measure(
  fixture: Fixture,
  of: { daemon: DaemonProcess; dataDir: string; reading: Reading },
): Promise<Line> {
  const { daemon, dataDir, reading } = of;
  const { path, protocol } = reading;
  const { token } = daemon;
  const request = requestBytes({ method: 'GET', path, token });
  const endpoint = protocol === 'HTTP' ? daemon.http : daemon.https;
  const body = await bodyOf(endpoint, request);
  const tls = protocol === 'HTTP' ? {} : { tls: readTls(dataDir) };
  const answer = { body: body.toString('base64'), status: 200, ...tls };
  const server = await startBareServer(fixture.workspace, answer);
  const load = { connections: CONNECTIONS, status: 200, next: () => request };
  const bare = { ...endpoint, port: server.port };
  const rates = { daemon: [] as number[], bare: [] as number[] };
  for (const to of [endpoint, bare]) await throughput({ ...load, endpoint: to, ms: WARM_UP_MS });
  for (let i = 0; i < fixture.repetitions; i++) {
    rates.daemon.push(await throughput({ ...load, endpoint, ms: MEASURED_MS }));
    rates.bare.push(await throughput({ ...load, endpoint: bare, ms: MEASURED_MS }));
  }
  server.close();
  return {
    name: `${reading.name}, ${CONNECTIONS} connections, ${protocol}`,
    unit: '/s',
    measured: summarize(rates.daemon),
    reference: { name: `bare node:${protocol.toLowerCase()}`, measured: summarize(rates.bare) },
  };
}

async function bodyOf(endpoint: Endpoint, request: Buffer): Promise<Buffer> {
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

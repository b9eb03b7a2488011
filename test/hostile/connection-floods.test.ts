/**
 * Floods by clients without a key, at the level of connections, frames and chunks: the daemon answers others
 * meanwhile, and nothing is left of a flood.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  PREFACE,
  requestBlock,
} from '../support/http2-frames.ts';

const FLOOD_MS = 1500;
const CONNECTIONS = 8;
/** Units per write of a flood. */
const BURST = 50;
/** Of git processes and of this client. */
const OTHER_FILES = 16;
/** The daemon asks a connection after 30 s of silence, and ends it 30 s later. */
const SILENT_MS = 100_000;
/** Several times what one flood of this length takes. */
const MAX_GROWTH_MIB = 1024;

let daemon: Daemon;
let ca: string;
let files: number;

beforeAll(async () => {
  daemon = await startDaemon();
  ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  files = openFiles();
});
afterAll(() => daemon.stop());

interface Flood {
  readonly protocol: 'h2' | 'http/1.1' | 'tcp';
  readonly first?: Buffer | string;
  /** Sent again and again; undefined: the connection stays silent. */
  readonly unit?: (i: number) => Buffer | string;
  /** False: the client does not read the answers. */
  readonly reads?: boolean;
}

const { headers, settings, data } = FRAME;
const [PRIORITY, RESET, PING, WINDOW, CONTINUATION] = [2, 3, 6, 8, 9];
const GET = requestBlock('GET', '/livez');
const POST = requestBlock('POST', '/auth/token');

function stream(i: number): number {
  return 1 + 2 * i;
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113, section 6.5.2). */
function window(size: number): Buffer {
  return Buffer.concat([Buffer.from([0, 4]), number(size)]);
}

/** A field of 3,900 bytes that enters the dynamic table, and thousands of references to it (RFC 7541). */
const BOMB = Buffer.concat([
  GET,
  Buffer.from([0x40, 6]),
  Buffer.from('x-bomb'),
  Buffer.from([0x7f, 0xbd, 0x1d]),
  Buffer.alloc(3900, 'z'),
  Buffer.alloc(10_000, 0x80 | 62),
]);

const CHUNKED = 'host: x\r\ntransfer-encoding: chunked\r\n\r\n';
const FORM = 'content-type: application/x-www-form-urlencoded\r\n';

const FLOODS: Readonly<Record<string, Flood>> = {
  'streams that are reset at once': {
    protocol: 'h2',
    unit: (i) =>
      Buffer.concat([
        frame(headers, END_STREAM | END_HEADERS, stream(i), GET),
        frame(RESET, 0, stream(i), number(8)),
      ]),
  },
  'headers without an end': {
    protocol: 'h2',
    first: frame(headers, END_STREAM, 1, GET),
    unit: () => frame(CONTINUATION, 0, 1, Buffer.from('\0\x03x-a\x01y')),
  },
  'references to one large header': {
    protocol: 'h2',
    unit: (i) => frame(headers, END_STREAM | END_HEADERS, stream(i), BOMB),
  },
  'settings that nobody reads the answers of': {
    protocol: 'h2',
    reads: false,
    unit: () => frame(settings, 0, 0, window(65_535)),
  },
  'pings that nobody reads the answers of': {
    protocol: 'h2',
    reads: false,
    unit: () => frame(PING, 0, 0, Buffer.alloc(8)),
  },
  'windows that open and close': {
    protocol: 'h2',
    first: frame(headers, END_STREAM | END_HEADERS, 1, GET),
    unit: (i) => frame(settings, 0, 0, window(i % 2 === 0 ? 0 : 65_535)),
  },
  'empty frames of a body': {
    protocol: 'h2',
    first: frame(headers, END_HEADERS, 1, POST),
    unit: () => frame(data, 0, 1),
  },
  'priorities of streams that are never opened': {
    protocol: 'h2',
    unit: (i) => frame(PRIORITY, 0, stream(i), Buffer.concat([number(0), Buffer.from([255])])),
  },
  'window updates beyond the largest window': {
    protocol: 'h2',
    unit: () => frame(WINDOW, 0, 0, number(0x7f_ff_ff_ff)),
  },
  'streams that never end': {
    protocol: 'h2',
    unit: (i) => frame(headers, END_HEADERS, stream(i), POST),
  },
  'requests whose answers nobody reads': {
    protocol: 'http/1.1',
    reads: false,
    unit: () => 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n',
  },
  'headers of one request': {
    protocol: 'http/1.1',
    first: 'GET /livez HTTP/1.1\r\nhost: x\r\n',
    unit: () => 'x-a: b\r\n',
  },
  'chunks of one byte': {
    protocol: 'http/1.1',
    first: `POST /auth/x/callback HTTP/1.1\r\n${FORM}${CHUNKED}`,
    unit: () => '1\r\nx\r\n',
  },
  'extensions of a chunk': {
    protocol: 'http/1.1',
    first: `POST ${API}/teams HTTP/1.1\r\n${CHUNKED}1;`,
    unit: () => 'a=b;',
  },
  'trailers of a body': {
    protocol: 'http/1.1',
    first: `POST ${API}/teams HTTP/1.1\r\n${CHUNKED}0\r\n`,
    unit: () => 'x-a: b\r\n',
  },
  'empty lines': { protocol: 'http/1.1', unit: () => '\r\n' },
  'bytes that are no TLS': { protocol: 'tcp', unit: () => Buffer.alloc(100, 66) },
  'handshakes that stop half way': {
    protocol: 'tcp',
    first: Buffer.from('16030105dc010005d80303', 'hex'),
  },
};

interface Client {
  readonly socket: Socket;
  readonly ended: Promise<void>;
  isOver: boolean;
}

async function connect({ protocol, reads = true }: Flood): Promise<Client> {
  const { port } = daemon;
  const host = '127.0.0.1';
  const socket =
    protocol === 'tcp'
      ? connectTcp({ port, host })
      : connectTls({ port, host, ca, ALPNProtocols: [protocol] });
  // A refusal is what the flood deserves.
  socket.on('error', () => undefined);
  socket.on('end', () => socket.destroy());
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const client: Client = { socket, ended, isOver: false };
  void ended.then(() => {
    client.isOver = true;
  });
  if (reads) socket.resume();
  const opened = protocol === 'tcp' ? 'connect' : 'secureConnect';
  await Promise.race([new Promise((resolve) => socket.once(opened, resolve)), ended]);
  return client;
}

/** One connection after the other until the time is over. Returns the number of units sent. */
async function flood(of: Flood, until: number): Promise<number> {
  let sent = 0;
  while (performance.now() < until) {
    const client = await connect(of);
    const { socket, ended } = client;
    let isLate = false;
    // A timer may be early by the clock, and bursts would not wait any more.
    const over = sleep(Math.max(0, until - performance.now()), undefined, { ref: false }).then(
      () => {
        isLate = true;
      },
    );
    if (of.protocol === 'h2') socket.write(Buffer.concat([PREFACE, frame(settings)]));
    if (of.first !== undefined) socket.write(of.first);
    if (of.unit === undefined) await Promise.race([ended, over]);
    const goesOn = (): boolean => !client.isOver && (sent === 0 || !isLate);
    for (let i = 0; of.unit !== undefined && goesOn(); ) {
      const burst: Buffer[] = [];
      for (; burst.length < BURST; i += 1) burst.push(Buffer.from(of.unit(i)));
      sent += burst.length;
      if (!socket.write(Buffer.concat(burst))) {
        const drained = new Promise((resolve) => socket.once('drain', resolve));
        await Promise.race([drained, ended, over]);
      }
      await setImmediate();
    }
    socket.destroy();
    await ended;
  }
  return sent;
}

function openFiles(): number {
  return readdirSync(`/proc/${daemon.process.pid}/fd`).length;
}

function residentMib(): number {
  const status = readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

describe.runIf(process.platform === 'linux')('clients without a key send', () => {
  test.each(Object.entries(FLOODS))('%s', async (_name, of) => {
    const memory = residentMib();
    const until = performance.now() + FLOOD_MS;
    const floods = Array.from({ length: CONNECTIONS }, () => flood(of, until));
    // On a busy machine the floods of this process may take all of the time to begin.
    do {
      expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
    } while (performance.now() < until);
    const sent = (await Promise.all(floods)).reduce((sum, units) => sum + units, 0);

    if (of.unit !== undefined) expect(sent).toBeGreaterThan(0);
    expect((await daemon.call('GET', '/livez', { token: null })).code).toBe(200);
    expect(daemon.process.exitCode).toBeNull();
    expect(residentMib() - memory).toBeLessThan(MAX_GROWTH_MIB);
  });

  test('connections that all end, and the log has no error and no stack', async () => {
    await expect.poll(openFiles, { timeout: SILENT_MS }).toBeLessThanOrEqual(files + OTHER_FILES);
    expect(daemon.output()).not.toMatch(/"level":(?:50|60)|^\s+at /m);
  });
});

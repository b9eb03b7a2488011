/**
 * Servers that attack the daemon's clients with their answers. Each request ends within its deadline, takes
 * little memory, sends its credentials to no other server, and its error is short.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Transport } from '../../src/kubernetes-client/transport.ts';
import { HttpClient } from '../../src/outbound/http-client.ts';
import { httpTransport } from '../../src/secret-store-client/transport.ts';
import { providerHttp } from '../../src/sign-in/provider-http.ts';

const DEADLINE_MS = 600;
const SECRET = 'credential-5d1f';
const MIB = 1024 * 1024;
const MAX_GROWTH = 200 * MIB;
const MAX_ERROR = 2000;

/** Sends a request with credentials to an origin. Resolves with the size of the answer. */
const CLIENTS: Readonly<Record<string, (origin: string, deadlineMs?: number) => Promise<number>>> =
  {
    connector: async (origin, deadlineMs = DEADLINE_MS) => {
      const http = providerHttp({}, { deadlineMs });
      const init = { headers: { authorization: SECRET } };
      const answer = http.fetch(`${origin}/x`, init).then((response) => response.text());
      return (await answer.finally(() => http.close())).length;
    },
    'forge, webhook or chat': async (origin, deadlineMs = DEADLINE_MS) => {
      const http = new HttpClient({ deadlineMs });
      const headers = { authorization: SECRET };
      const answer = http.send({ method: 'POST', url: `${origin}/x`, headers, body: '{}' });
      return (await answer.finally(() => http.close())).text.length;
    },
    'secret store': async (origin, deadlineMs = DEADLINE_MS) => {
      const transport = httpTransport({ address: origin, timeoutMs: deadlineMs });
      const headers = { 'x-vault-token': SECRET };
      const answer = transport.send({ method: 'GET', path: '/x', headers });
      return (await answer.finally(() => transport.close())).text.length;
    },
    'cluster of a tenant': async (origin, deadlineMs = DEADLINE_MS) => {
      const transport = new Transport({ server: origin, token: SECRET });
      const answer = transport.json({ method: 'GET', path: '/x', deadlineMs });
      return JSON.stringify(await answer.finally(() => transport.close())).length;
    },
  };

type Write = (text: string | Buffer) => Promise<void>;
type Attack = (write: Write, other: string) => Promise<void>;

const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const ZEROS = Buffer.alloc(256 * MIB);
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

function whole(body: Buffer | string, headers = '', status = OK): Attack {
  const length = Buffer.byteLength(body);
  return async (write) => {
    await write(`${status}${headers}content-length: ${length}\r\n\r\n`);
    await write(body);
  };
}

function redirect(code: number, to: string | undefined): Attack {
  return async (write, other) =>
    await write(`HTTP/1.1 ${code} Moved\r\nlocation: ${to ?? other}\r\ncontent-length: 0\r\n\r\n`);
}

/** Writes one part again and again, as fast as the client reads. */
function endless(first: string, part: string | Buffer): Attack {
  return async (write) => {
    await write(first);
    for (;;) await write(part);
  };
}

/** Writes one part again and again, so that the connection is never idle. */
function drip(first: string, part: string): Attack {
  return async (write) => {
    await write(first);
    for (;;) {
      await write(part);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
}

const failure = (code: number, message: string): Attack =>
  whole(
    JSON.stringify({ kind: 'Status', reason: message, message }),
    '',
    `HTTP/1.1 ${code} No\r\n`,
  );

const ATTACKS: Readonly<Record<string, Attack>> = {
  'a gzip bomb': whole(gzipSync(ZEROS), 'content-encoding: gzip\r\n'),
  'a deflate bomb': whole(deflateSync(ZEROS), 'content-encoding: deflate\r\n'),
  'a brotli bomb': whole(brotliCompressSync(ZEROS, QUICK), 'content-encoding: br\r\n'),
  'a gzip bomb in gzip': whole(gzipSync(gzipSync(ZEROS)), 'content-encoding: gzip, gzip\r\n'),
  'two thousand codings': whole('x', `content-encoding: ${'gzip,'.repeat(2000)}gzip\r\n`),
  'a body without end': endless(CHUNKED, `10000\r\n${'x'.repeat(65_536)}\r\n`),
  'a body until the connection ends': endless(`${OK}\r\n`, Buffer.alloc(65_536, 32)),
  'a body byte by byte': drip(CHUNKED, '1\r\n \r\n'),
  'a header byte by byte': drip(`${OK}x-a: `, 'x'),
  'headers without end': endless(OK, `x-a: ${'x'.repeat(1000)}\r\n`),
  'a header without end': endless(`${OK}x-a: `, 'x'.repeat(65_536)),
  'early hints without end': endless('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
  'an early hint from time to time': drip('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
  'a chunk extension without end': endless(`${CHUNKED}1;`, 'x'.repeat(65_536)),
  'a chunk extension byte by byte': drip(`${CHUNKED}1;`, 'x'),
  'trailers without end': endless(`${CHUNKED}0\r\n`, `x-a: ${'x'.repeat(1000)}\r\n`),
  'empty lines before the answer': endless('', '\r\n'.repeat(1000)),
  'a connection that takes and says nothing': async () => undefined,
  'another protocol': async (write) =>
    await write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  'a Content-Length that is too large': async (write) =>
    await write(`${OK}content-length: 99999999999\r\n\r\n{}`),
  'a Content-Length that is too small': async (write) =>
    await write(`${OK}content-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n`),
  'two Content-Lengths': async (write) =>
    await write(`${OK}content-length: 2\r\ncontent-length: 9\r\n\r\n{}`),
  'a Content-Length beside chunks': async (write) =>
    await write(`${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
  'a negative Content-Length': async (write) => await write(`${OK}content-length: -1\r\n\r\n{}`),
  'no HTTP at all': endless('', 'SSH-2.0-server\n'),
  'JSON a million levels deep': whole('['.repeat(1_000_000)),
  'JSON with 60,000 keys': whole(
    JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, at]))),
  ),
  'a key of the prototype': whole('{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}'),
  'an error with a long message': failure(500, 'm'.repeat(900_000)),
  'an error that asks for a wait without end': async (write) =>
    await write(`HTTP/1.1 429 No\r\nretry-after: 1e308\r\ncontent-length: 0\r\n\r\n`),
  'an error without end': endless(
    'HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n',
    `10000\r\n${'x'.repeat(65_536)}\r\n`,
  ),
  'an error byte by byte': drip(
    'HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n',
    '1\r\n \r\n',
  ),
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].flatMap((code) => [
      [`a ${code} to another server`, redirect(code, undefined)],
      [`a ${code} to a metadata service`, redirect(code, 'http://169.254.169.254/latest')],
      [`a ${code} to a file`, redirect(code, 'file:///etc/passwd')],
      [`a ${code} to itself`, redirect(code, '/x')],
    ]),
  ),
  'a refresh to another server': async (write, other) =>
    await write(`${OK}refresh: 0; url=${other}\r\ncontent-length: 2\r\n\r\n{}`),
  'an alternative service': async (write, other) =>
    await write(`${OK}alt-svc: h2="${new URL(other).host}"\r\ncontent-length: 2\r\n\r\n{}`),
};

/** Attacks whose bytes are few for what they cost, so that neither a deadline nor a size is a limit for them. */
const COSTLY: Readonly<Record<string, Attack>> = {
  'early hints without end': endless('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'),
  'a hint from time to time': drip('', 'HTTP/1.1 102 Processing\r\n\r\n'),
  'parts of one byte': endless(CHUNKED, '1\r\n \r\n'.repeat(100)),
  'parts of one byte in an error': endless(
    'HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n',
    '1\r\n \r\n'.repeat(100),
  ),
};

/** A server of raw bytes. `requests`: everything that it received. */
async function serve(
  attack: Attack,
  other: string,
): Promise<{ origin: string; requests: string[] }> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const closed = once(socket, 'close').then(() => Promise.reject(new Error('closed')));
    closed.catch(() => undefined);
    const write: Write = async (text) => {
      if (socket.destroyed) throw new Error('closed');
      if (!socket.write(text)) await Promise.race([once(socket, 'drain'), closed]);
      // Others in this process get their time.
      else await new Promise((resolve) => setImmediate(resolve));
    };
    socket.once('data', () => void attack(write, other).catch(() => undefined));
    socket.on('data', (chunk) => requests.push(chunk.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

describe.each(Object.entries(CLIENTS))('a %s', (_, ask) => {
  test.each(Object.entries(ATTACKS))(
    'survives %s',
    async (_attack, attack) => {
      const other = await serve(async () => undefined, '');
      const { origin, requests } = await serve(attack, other.origin);
      const before = process.memoryUsage.rss();
      const ended = await ask(origin).catch((error: unknown) => error);

      expect(process.memoryUsage.rss() - before).toBeLessThan(MAX_GROWTH);
      if (ended instanceof Error) {
        expect(ended.message.length).toBeLessThan(MAX_ERROR);
        expect(String(ended.stack)).not.toContain(SECRET);
      }
      expect(requests.filter((text) => text.includes(SECRET))).toHaveLength(1);
      expect(other.requests).toEqual([]);
      expect(Object.prototype).not.toHaveProperty('polluted');
    },
    10_000,
  );

  test.each(Object.entries(COSTLY))(
    'ends %s before its deadline',
    async (_attack, attack) => {
      const { origin } = await serve(attack, '');

      await expect(ask(origin, 60_000)).rejects.toThrow();
    },
    20_000,
  );
});

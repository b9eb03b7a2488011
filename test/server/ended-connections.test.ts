/** Connections that ended in an error: neither they nor their requests stay in memory. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { collectGarbage } from '../../src/concurrency/index.ts';
import { limitBody } from '../../src/server/filters/hardening.ts';
import { createListener, type Handler } from '../../src/server/listener.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import { run } from '../support/daemon.ts';
import { FRAME, frame, PREFACE } from '../support/http2-frames.ts';

const CLIENT = join(import.meta.dirname, 'broken-client.mjs');
const CONNECTIONS = 80;
/** Node and the server remember the newest connection. */
const REMEMBERED = 2;

let certificate: Awaited<ReturnType<typeof ensureServerCertificate>>;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gitplane-connections-'));
  const hostnames = ['localhost'];
  certificate = await ensureServerCertificate({ directory, hostnames, clock: systemClock });
  return () => rmSync(directory, { recursive: true });
});

/** Several times what the parser takes of extensions and trailers: 16 KiB. */
const UNITS = 5000;
const POST = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
/** Window of the connection: its sum becomes larger than allowed (RFC 9113, section 6.9.1). */
const LARGE_WINDOW = frame(8, 0, 0, Buffer.from('7fffffff', 'hex'));

const BROKEN = [
  {
    title: 'a body whose chunk has extensions without end',
    alpn: 'http/1.1',
    bytes: Buffer.from(`${POST}1;${'a=b;'.repeat(UNITS)}`),
  },
  {
    title: 'trailers without end',
    alpn: 'http/1.1',
    bytes: Buffer.from(`${POST}0\r\n${'x-a: b\r\n'.repeat(UNITS)}`),
  },
  {
    title: 'settings that the client never acknowledges, and a window that is too large',
    alpn: 'h2',
    bytes: Buffer.concat([PREFACE, frame(FRAME.settings), ...Array(50).fill(LARGE_WINDOW)]),
  },
];

describe('freed after an error', () => {
  test.each(BROKEN)('$title', async ({ alpn, bytes }) => {
    const made: Record<string, WeakRef<object>[]> = { sockets: [], sessions: [], requests: [] };
    const early: Handler = (request, response) => {
      made['requests']?.push(new WeakRef(request));
      limitBody(request);
      response.end('early');
    };
    const { certificatePem: cert, keyPem: key } = certificate;
    const { server } = createListener({ cert, key }, early);
    onTestFinished(() => void server.close());
    let open = 0;
    server.on('secureConnection', (socket: Socket) => {
      made['sockets']?.push(new WeakRef(socket));
      open += 1;
      socket.once('close', () => {
        open -= 1;
      });
    });
    server.on('session', (session: Http2Session) => made['sessions']?.push(new WeakRef(session)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as { port: number };

    const args = [CLIENT, String(port), alpn, bytes.toString('hex'), String(CONNECTIONS)];
    expect(await run(process.execPath, args)).toMatchObject({ code: 0 });
    await expect.poll(() => open).toBe(0);
    // A weak reference is strong until the end of the turn of the event loop that made or read it.
    await setImmediate();
    await collectGarbage();

    expect(made['sockets']).toHaveLength(CONNECTIONS);
    for (const [what, refs] of Object.entries(made)) {
      const kept = refs.filter((ref) => ref.deref() !== undefined);
      expect(kept.length, what).toBeLessThanOrEqual(REMEMBERED);
    }
  });
});

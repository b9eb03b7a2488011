/** Connections beyond the open files that the process may have. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, get } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const FILES = 400;
const CONNECTIONS = 500;

const canLimit = process.platform === 'linux' && hasPrlimit();

test.skipIf(!canLimit)('idle connections leave open files for everything else', async () => {
  const daemon = await startDaemon({ via: ['prlimit', `--nofile=${FILES}`] });
  const flood = await holdAll(daemon);
  flood.end();
  // The daemon sees their ends one after the other.
  await vi.waitFor(async () => expect((await daemon.call('GET', '/livez')).code).toBe(200));
  await daemon.stop();
});

test.skipIf(!canLimit)(
  'clients with a key get and keep connections beside a client that holds all others',
  async () => {
    const daemon = await startDaemon({ via: ['prlimit', `--nofile=${FILES}`] });
    const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
    const authorization = `Bearer ${daemon.token}`;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
    const session = connectHttp2(daemon.url, { ca });
    const readers: Record<string, (path: string) => Promise<number>> = {
      'HTTP/1.1': async (path) => {
        const sent = get(daemon.url + path, { agent, headers: { authorization } });
        const [answer] = await once(sent, 'response');
        await once(answer.resume(), 'end');
        return sent.reusedSocket ? answer.statusCode : 0;
      },
      'HTTP/2': async (path) => {
        const stream = session.request({ ':path': path, authorization }).resume();
        const [{ ':status': code }] = await once(stream, 'response');
        return code;
      },
    };
    for (const read of Object.values(readers)) await read(`${API}/teams/platform`);
    const flood = await holdAll(daemon);

    // Each has a connection of its own.
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await daemon.call('GET', `${API}/teams`)).code);
    expect(codes).toEqual([200, 200, 200]);
    for (const [protocol, read] of Object.entries(readers)) {
      expect([protocol, await read(`${API}/teams`)]).toEqual([protocol, 200]);
    }
    flood.end();
    agent.destroy();
    session.destroy();
    await daemon.stop();
  },
);

/** Connects more often than the daemon takes connections, and waits until it has refused or ended the rest. */
async function holdAll(daemon: Daemon): Promise<{ end(): void }> {
  const { hostname, port } = new URL(daemon.url);
  const open = new Set(Array.from({ length: CONNECTIONS }, () => connect(Number(port), hostname)));
  let ended = 0;
  await new Promise<void>((resolve) => {
    for (const socket of open) {
      socket.on('error', () => undefined);
      socket.resume();
      socket.once('close', () => {
        ended += 1;
        if (ended === CONNECTIONS - FILES / 4) resolve();
      });
    }
  });
  return {
    end: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

function hasPrlimit(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v prlimit']);
    return true;
  } catch {
    return false;
  }
}

/** Connections beyond the open files that the process may have. */
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { startDaemon } from '../support/daemon.ts';

const FILES = 400;
const CONNECTIONS = 500;

const canLimit = process.platform === 'linux' && hasPrlimit();

test.skipIf(!canLimit)('idle connections leave open files for everything else', async () => {
  const daemon = await startDaemon({ via: ['prlimit', `--nofile=${FILES}`] });
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
  for (const socket of open) socket.destroy();
  // The daemon sees their ends one after the other.
  await vi.waitFor(async () => expect((await daemon.call('GET', '/livez')).code).toBe(200));
  await daemon.stop();
});

function hasPrlimit(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v prlimit']);
    return true;
  } catch {
    return false;
  }
}

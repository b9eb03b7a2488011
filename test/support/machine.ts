/** What tests take from the machine that they run on: a folder, ports. */
import { accessSync, constants } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';

/** A folder in memory, or the one for temporary files. */
export function fastPlace(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

/**
 * Ports below those that the system hands out by itself (from 32768 on Linux): a server that stops
 * finds its port free when it starts again, whatever else connects on this machine meanwhile. A
 * process takes them in blocks, and listens on the first port of each for as long as it lives, so
 * that no two processes hold one block.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const BLOCK = 40;

let next = FIRST_PORT + BLOCK * (process.pid % ((LAST_PORT - FIRST_PORT) / BLOCK));
let left = 0;
let taking: Promise<unknown> = Promise.resolve();

/** Different ones, that no other process of these tests is given, and none listens on. */
export function freePorts(count: number): Promise<number[]> {
  const taken = taking.then(async () => {
    const ports: number[] = [];
    while (ports.length < count) ports.push(await takePort());
    return ports;
  });
  taking = taken.catch(() => undefined);
  return taken;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function takePort(): Promise<number> {
  for (let tries = LAST_PORT - FIRST_PORT; tries > 0; tries -= 1) {
    if (next >= LAST_PORT) next = FIRST_PORT;
    const port = next;
    if (left === 0) {
      const lock = await listenOn(port);
      lock?.unref();
      next += lock === undefined ? BLOCK : 1;
      left = lock === undefined ? 0 : BLOCK - 1;
      continue;
    }
    next += 1;
    left -= 1;
    const server = await listenOn(port);
    if (server === undefined) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error(`No port between ${FIRST_PORT} and ${LAST_PORT} is free`);
}

/** Undefined: in use. */
function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/**
 * Random connections leave the daemon as it was: pipelines of HTTP/1.1, frames of HTTP/2 and of WebSockets,
 * handshakes of TLS, each whole, damaged or cut at any byte. CONTRIBUTING.md has the variables.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';
import { randomFrom } from '../support/random.ts';
import { runPlan } from './connections/client.ts';
import { describePlan, randomPlan } from './connections/plans.ts';
import type { World } from './connections/requests.ts';

const wanted = process.env['GITPLANE_TEST_SEED'] ?? '2026';
const seed = wanted === 'random' ? Math.floor(Math.random() * 1_000_000_000) : Number(wanted);
const COUNT = Number(process.env['GITPLANE_FUZZ_CONNECTIONS'] ?? 500);
/** At the same time. */
const LANES = 16;
const MS_PER_CONNECTION = 200;
/** Of the connections that ended last before the daemon did. */
const SUSPECTS = 2 * LANES;
/** Several times the silence of a connection until its end. */
const SILENT_MS = 60_000;

let daemon: Daemon;
let plainPort: number;
let world: World;
beforeAll(async () => {
  plainPort = await freePort();
  daemon = await startDaemon({
    args: ['--listen-http', `127.0.0.1:${plainPort}`],
    node: ['--import', `${import.meta.dirname}/connections/short-silence.mjs`],
  });
  const refs = await daemon.git(
    ['ls-remote', `${daemon.url.replace('//', `//x:${daemon.token}@`)}/git/platform.git`, 'HEAD'],
    daemon.dataDir,
  );
  world = { token: daemon.token, head: refs.stdout.slice(0, 40) };
});
afterAll(() => daemon.stop());

/** Connections of the daemon that are not closed, by the table of the kernel. */
function openConnections(): number {
  const folder = `/proc/${daemon.process.pid}/fd`;
  const own = new Set(readdirSync(folder).map((fd) => readLink(`${folder}/${fd}`)));
  const ports = [daemon.port, plainPort].map((port) =>
    port.toString(16).toUpperCase().padStart(4, '0'),
  );
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.filter((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isOurs = ports.some((port) => local.endsWith(`:${port}`));
    return isOurs && state !== LISTENS && own.has(`socket:[${inode}]`);
  }).length;
}

const LISTENS = '0A';

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Samples of the gauges of requests that are not zero. */
async function heldNow(): Promise<string[]> {
  const { text } = await daemon.call('GET', '/metrics', { headers: { connection: 'close' } });
  const gauges = /^gitplane_(?:watches|waiting_writes|fair_queue_requests)\b/;
  return text.split('\n').filter((line) => gauges.test(line) && !line.endsWith(' 0'));
}

test('random connections leave the daemon as it was', {
  timeout: 60_000 + SILENT_MS + COUNT * MS_PER_CONNECTION,
}, async () => {
  const recent: string[] = [];
  const problems: string[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < COUNT && daemon.process.exitCode === null && problems.length === 0) {
      const number = next++;
      const plan = randomPlan(world, randomFrom(seed + number * 7919));
      const text = describePlan(number, plan);
      const found = await runPlan(plan, { tls: daemon.port, plain: plainPort });
      recent.push(text);
      if (recent.length > SUSPECTS) recent.shift();
      problems.push(...found.map((problem) => `${problem}\n${text}`));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const where = `GITPLANE_TEST_SEED=${seed} GITPLANE_FUZZ_CONNECTIONS=${COUNT}:`;
  const alive = () =>
    expect(
      daemon.process.exitCode,
      [where, daemon.output().slice(-3000), ...recent].join('\n'),
    ).toBeNull();
  alive();
  expect(problems, where).toEqual([]);
  expect((await daemon.call('GET', '/livez', { token: null })).code).toBe(200);
  await expect.poll(heldNow, { message: where, timeout: SILENT_MS }).toEqual([]);
  if (process.platform === 'linux') {
    await expect.poll(openConnections, { message: where, timeout: SILENT_MS }).toBe(0);
  }
  alive();
  expect(daemon.output(), where).not.toMatch(/"level":(?:50|60)|^\s+at |[Uu]ncaught|[Uu]nhandled/m);
});

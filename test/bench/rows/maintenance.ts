/** Reads while the daemon tidies up: one after the other on one connection, and how long each takes. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { git } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import type { Goal, Line } from '../report.ts';
import { type Summary, summarize } from '../statistics.ts';

const MEASURED_MS = 2_000;
/** Saving 100,000 objects takes some seconds of the processor. */
const SETTLE_MS = 15_000;
const MOST_TIMES = 2;

interface Latencies {
  readonly saving: number[];
  readonly packing: number[];
  readonly calm: number[];
}

export async function measureMaintenance(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const found: Latencies = { saving: [], packing: [], calm: [] };
  for (let i = 0; i < fixture.repetitions; i++) await measureOnce(fixture, dataDir, found);
  const calm = summarize(found.calm);
  const line = (name: string, samples: readonly number[]): Line => {
    const measured = summarize(samples);
    const reference = { name: 'the same when nothing else happens', measured: calm };
    return { name, unit: 'ms', measured, reference, goal: goalOf(measured, calm) };
  };
  return [
    line('GET one while all objects are saved', found.saving),
    line('GET one while git packs everything', found.packing),
  ];
}

function goalOf(measured: Summary, calm: Summary): Goal {
  return { text: `p99 ≤ ${MOST_TIMES}x`, met: measured.p99 <= MOST_TIMES * calm.p99 };
}

/** A cold start saves everything once it serves; git packs as the daemon has it done. */
async function measureOnce(fixture: Fixture, dataDir: string, found: Latencies): Promise<void> {
  await rm(join(dataDir, 'state'), { recursive: true });
  const daemon = await fixture.start(dataDir);
  try {
    const request = readingOf(fixture, daemon);
    found.saving.push(...(await latencies(daemon, request)));
    await sleep(SETTLE_MS);
    found.calm.push(...(await latencies(daemon, request)));
    const gitDir = join(dataDir, 'repo.git');
    const packed = git(gitDir, '-c', 'pack.threads=1', 'repack', '-a', '-d', '-f', '-q');
    found.packing.push(...(await latencies(daemon, request)));
    await packed;
  } finally {
    await daemon.stop();
  }
}

function readingOf({ corpus }: Fixture, { token }: DaemonProcess): Buffer {
  const middle = Math.floor(corpus.secrets / 2);
  const path = `${API}/namespaces/${corpus.namespaceOf(middle)}/sharedsecrets/${secretName(middle)}`;
  return requestBytes({ method: 'GET', path, token });
}

async function latencies({ http }: DaemonProcess, request: Buffer): Promise<number[]> {
  const connection = await HttpConnection.open(http);
  const samples: number[] = [];
  for (const end = performance.now() + MEASURED_MS; performance.now() < end; ) {
    const sent = performance.now();
    assertStatus(await connection.send(request), 200);
    samples.push(performance.now() - sent);
  }
  connection.close();
  return samples;
}

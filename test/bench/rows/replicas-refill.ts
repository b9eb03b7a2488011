/** A replica with a repository and an etcd that is empty: how long until all of it is there and read. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { withReplicas } from '../replica-processes.ts';
import type { Line } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

const GIVE_UP_MS = 600_000;
const LOOK_EVERY_MS = 10;

export async function measureRefill(fixture: Fixture): Promise<Line[]> {
  const filled: number[] = [];
  const cold: number[] = [];
  for (let i = 0; i < fixture.repetitions; i++) {
    const alone = await bareCopy(fixture);
    const { ms } = await timed(() => startedAlone(fixture, alone));
    cold.push(ms / 1000);
    filled.push((await refill(fixture)) / 1000);
  }
  return [
    {
      name: 'an empty etcd filled from git, until all is read',
      unit: 's',
      measured: summarize(filled),
      reference: { name: 'cold start, embedded', measured: summarize(cold) },
    },
  ];
}

/** The repository and the keys; no state. */
async function bareCopy(fixture: Fixture): Promise<string> {
  const dataDir = await fixture.copyOfPlatform();
  for (const state of ['state', 'clusters']) {
    await rm(join(dataDir, state), { recursive: true, force: true });
  }
  return dataDir;
}

async function startedAlone(fixture: Fixture, dataDir: string): Promise<void> {
  const daemon = await fixture.start(dataDir);
  await untilRead(daemon, fixture.corpus.secrets);
  await daemon.kill();
}

async function refill(fixture: Fixture): Promise<number> {
  return await withReplicas(fixture, 1, async (set) => {
    const dataDir = await bareCopy(fixture);
    const { ms } = await timed(async () => {
      // What replicas show is what they have read from etcd, so it is there when it is shown.
      await untilRead(await set.start(dataDir), fixture.corpus.secrets);
    });
    return ms;
  });
}

async function untilRead({ http, token }: DaemonProcess, secrets: number): Promise<void> {
  const path = `${API}/sharedsecrets?limit=1`;
  const request = requestBytes({ method: 'GET', path, token });
  const connection = await HttpConnection.open(http);
  const end = performance.now() + GIVE_UP_MS;
  while (performance.now() < end) {
    const { status, body } = await connection.send(request, true);
    const metadata = status === 200 ? JSON.parse(body?.toString('utf8') ?? '').metadata : undefined;
    if (metadata !== undefined && (metadata.remainingItemCount ?? 0) + 1 === secrets) {
      connection.close();
      return;
    }
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`Not all objects are read after ${GIVE_UP_MS} ms`);
}

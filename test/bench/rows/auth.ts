/**
 * What authentication and authorization cost: the same small answer to everybody, and, once the
 * configuration asks for it, to holders of access keys only; with as many keys as there are
 * manifests, and a team to every ten of them.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { concealAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import { configure } from '../configure.ts';
import { API_GROUP, type CorpusFile } from '../corpus.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { makeRepository } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize } from '../statistics.ts';

const CONNECTIONS = 50;
const WARM_UP_MS = 500;
const MEASURED_MS = 1000;
const USERS = 1000;
/** Different keys that requests come with. */
const USED = 1000;
const GOAL = { atLeast: 0.85 };

export async function measureAuth(fixture: Fixture): Promise<Line[]> {
  const keys = fixture.corpus.size;
  const dataDir = fixture.workspace.path('keys');
  await mkdir(dataDir);
  await makeRepository(join(dataDir, 'repo.git'), files(keys));
  const daemon = await fixture.start(dataDir);
  try {
    const open: number[] = [];
    const closed: number[] = [];
    const used = Array.from({ length: Math.min(USED, keys) }, (_, i) => keyText(i));
    await setClosed(daemon, 'POST', false);
    await rate(daemon, [], WARM_UP_MS);
    await setClosed(daemon, 'PATCH', true);
    await rate(daemon, used, WARM_UP_MS);
    // In turn, so that noise falls on both.
    for (let i = 0; i < fixture.repetitions; i++) {
      await setClosed(daemon, 'PATCH', false);
      open.push(await rate(daemon, [], MEASURED_MS));
      await setClosed(daemon, 'PATCH', true);
      closed.push(await rate(daemon, used, MEASURED_MS));
    }
    const name = `GET /version with a key, ${keys} keys, ${teamsOf(keys)} teams`;
    const reference = { name: 'without a key', measured: summarize(open) };
    return [withGoal({ name, unit: '/s', measured: summarize(closed), reference }, GOAL)];
  } finally {
    await daemon.stop();
  }
}

function rate(daemon: DaemonProcess, keys: readonly string[], ms: number): Promise<number> {
  const path = '/version';
  const requests =
    keys.length === 0
      ? [requestBytes({ method: 'GET', path })]
      : keys.map((token) => requestBytes({ method: 'GET', path, token }));
  let next = 0;
  return throughput({
    endpoint: daemon.http,
    connections: CONNECTIONS,
    status: 200,
    ms,
    next: () => requests[next++ % requests.length],
  });
}

/** Whether `/version` takes a key. */
async function setClosed(
  daemon: DaemonProcess,
  method: 'POST' | 'PATCH',
  closed: boolean,
): Promise<void> {
  await configure(daemon, method, `authenticateVersionEndpoint: ${closed}\n`);
  const connection = await HttpConnection.open(daemon.http);
  const asked = requestBytes({ method: 'GET', path: '/version' });
  assertStatus(await connection.send(asked, true), closed ? 401 : 200);
  connection.close();
}

function teamsOf(keys: number): number {
  return Math.ceil(keys / 10);
}

function keyText(i: number): string {
  return `bench-key-${String(i).padStart(8, '0')}-4f1c9a7be2d03856`;
}

function* files(keys: number): IterableIterator<CorpusFile> {
  for (let i = 0; i < USERS; i++) {
    yield manifest('User', `users/${i}.yaml`, `user-${i}`, `  displayName: User ${i}\n`);
  }
  for (let i = 0; i < teamsOf(keys); i++) {
    const members = `  users: [user-${i % USERS}, user-${(i + 1) % USERS}]\n`;
    yield manifest('Team', `teams/${folder(i)}/${i}.yaml`, `team-${i}`, members);
  }
  for (let i = 0; i < keys; i++) {
    const spec = `  user: user-${i % USERS}\n  key: ${concealAccessKey(keyText(i))}\n`;
    yield manifest('OwnedAccessKey', `ownedaccesskeys/${folder(i)}/${i}.yaml`, `key-${i}`, spec);
  }
}

function folder(i: number): string {
  return String(Math.floor(i / 100));
}

function manifest(kind: string, path: string, name: string, spec: string): CorpusFile {
  const text = `apiVersion: ${API_GROUP}/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n${spec}`;
  return { path, content: Buffer.from(text) };
}

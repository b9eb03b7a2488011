/**
 * The secret sync at rest: a cycle over 1,000 secrets of which none has changed, in requests to the
 * store and in time of the daemon's processor. Beside it the same with a store that cannot list
 * versions, as Vault: there each secret is a request.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeIdentity } from '../../../src/sealing/data-keys.ts';
import { API_GROUP, type CorpusFile } from '../corpus.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';

const SECRETS = 1_000;
const MOST_REQUESTS = 3;
const TOKEN = 'bench';
const CREATED = '2026-01-01T00:00:00.000000001Z';
const ANNOTATION = 'gitplane.dev/secret-store-';

export async function measureSecretStore(fixture: Fixture): Promise<Line[]> {
  const store = new BenchStore();
  await store.listen();
  try {
    const { identity } = await makeIdentity();
    const dataDir = await fixture.platformOf(files(store.address), identity);
    const listed = await cycles(fixture, { dataDir, store });
    store.listsVersions = false;
    const read = await cycles(fixture, { dataDir, store });
    return [
      {
        name: `cycle over ${SECRETS} secrets at rest, processor`,
        unit: 'ms',
        measured: summarize(listed.milliseconds),
        reference: {
          name: `no listings: ${read.requests} requests`,
          measured: summarize(read.milliseconds),
        },
        goal: {
          text: `≤ ${MOST_REQUESTS} requests (${listed.requests})`,
          met: listed.requests <= MOST_REQUESTS,
        },
      },
    ];
  } finally {
    store.close();
  }
}

async function cycles(
  fixture: Fixture,
  of: { dataDir: string; store: BenchStore },
): Promise<{ milliseconds: number[]; requests: number }> {
  const { repetitions } = fixture;
  const daemon = await fixture.start(of.dataDir);
  try {
    // The first one agrees, the second one finds out what the store can.
    await cycle(daemon);
    await cycle(daemon);
    const milliseconds: number[] = [];
    const before = of.store.requests;
    for (let i = 0; i < repetitions; i++) {
      const used = daemon.processorMs() ?? 0;
      await cycle(daemon);
      milliseconds.push((daemon.processorMs() ?? 0) - used);
    }
    return { milliseconds, requests: (of.store.requests - before) / repetitions };
  } finally {
    await daemon.stop();
  }
}

async function cycle({ http, token }: DaemonProcess): Promise<void> {
  const path = '/kubernetes/management/secret-store/sync?wait=true&timeout=120s';
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`http://127.0.0.1:${http.port}${path}`, { method: 'POST', headers });
  const { state, counts } = (await answer.json()) as {
    state: string;
    counts: { synced?: number };
  };
  if (answer.status === 200 && state === 'available' && counts.synced === SECRETS) return;
  throw new Error(`The sync does not rest: ${answer.status} ${state} ${JSON.stringify(counts)}`);
}

function* files(address: string): Iterable<CorpusFile> {
  const secretStore = { enabled: true, address, auth: { token: TOKEN }, syncInterval: '10h' };
  const config = {
    apiVersion: `${API_GROUP}/v1`,
    kind: 'Config',
    metadata: { name: 'main' },
    spec: { raw: JSON.stringify({ secretStore }) },
  };
  yield { path: 'config/main.yaml', content: Buffer.from(JSON.stringify(config)) };
  for (let i = 0; i < SECRETS; i++) {
    const name = `secret-${i}`;
    const annotations = {
      [`${ANNOTATION}kv-mount-path`]: 'secret',
      [`${ANNOTATION}kv-secret-path`]: `bench/${name}`,
      [`${ANNOTATION}direction`]: 'both',
    };
    const secret = {
      apiVersion: `${API_GROUP}/v1`,
      kind: 'SharedSecret',
      metadata: { name, namespace: 'bench', annotations },
      spec: { data: { password: Buffer.from(storedText(name)).toString('base64') } },
    };
    const path = `namespaces/bench/sharedsecrets/${name}.yaml`;
    yield { path, content: Buffer.from(JSON.stringify(secret)) };
  }
}

function storedText(name: string): string {
  return `the value of ${name}`;
}

/** Answers as KV v2 does for secrets that never change. */
class BenchStore {
  requests = 0;
  listsVersions = true;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    request.resume();
    const url = new URL(request.url ?? '/', 'http://store');
    const data = this.#data(url.pathname.replace('/v1/', ''), url.searchParams);
    response.writeHead(data === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(data === undefined ? { errors: [] } : { data }));
  }

  #data(path: string, query: URLSearchParams): object | undefined {
    if (path.startsWith('auth/token/')) return { ttl: 0, renewable: false };
    if (path.startsWith('sys/internal/ui/mounts/')) {
      return { type: 'kv', path: 'secret/', uuid: 'bench', options: { version: '2' } };
    }
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (path.startsWith('secret/data/')) {
      const metadata = { version: 1, created_time: CREATED, deletion_time: '', destroyed: false };
      return { data: { password: storedText(name) }, metadata };
    }
    if (path.startsWith('secret/metadata/')) return METADATA;
    return path.startsWith('secret/detailed-metadata/') && this.listsVersions
      ? page(Number(query.get('limit')), query.get('after') ?? '')
      : undefined;
  }
}

const METADATA = {
  created_time: CREATED,
  current_version: 1,
  max_versions: 10,
  versions: { 1: { created_time: CREATED, deletion_time: '', destroyed: false } },
};

const NAMES = Array.from({ length: SECRETS }, (_, i) => `secret-${i}`).sort();

function page(limit: number, after: string): object {
  const keys = NAMES.filter((name) => name > after).slice(0, limit);
  return { keys, key_info: Object.fromEntries(keys.map((name) => [name, METADATA])) };
}

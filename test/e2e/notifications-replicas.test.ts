/** Notifications of replicas: what the killed leader could not deliver, the next one does. */
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type CallOptions } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import { freePort } from '../support/machine.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TOKEN = 'store-token-8f31';
const LONG = { timeout: 40_000, interval: 50 };

interface Received {
  readonly id: string;
  readonly event: string;
  readonly subjects: readonly string[];
}

const title =
  ETCD_MISSING === undefined ? 'notifications' : `notifications (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  const received: Received[] = [];
  let port: number;
  let receiver: Server | undefined;
  let set: ReplicaSet;
  let store: KvServer;

  async function listen(): Promise<void> {
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { id, data } = JSON.parse(Buffer.concat(chunks).toString());
        const subjects = data.items.map(({ subject }: { subject: string }) => subject);
        received.push({ id, event: `${data.type} ${data.phase}`, subjects });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((done) => receiver?.listen(port, '127.0.0.1', done));
  }

  beforeAll(async () => {
    port = await freePort();
    store = await startKvServer();
    store.store.mount('secret/').put('app/mail', { password: 'one' });
    store.store.token(TOKEN);
    const env = { STORE_TOKEN: TOKEN, HOOK_KEY: 'whsec_plJ3nmyCDGBKInavdOK15jsl' };
    const args = ['--leader-lease', '2'];
    set = await startReplicas({ replicas: 2, members: 1, seed: undefined, env, args });
  });

  afterAll(async () => {
    await set?.stop();
    await store?.close();
    receiver?.closeAllConnections();
    receiver?.close();
  });

  /** At a replica that runs. A busy machine may elect another leader meanwhile. */
  async function ok(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const replica = set.replicas.find(({ isRunning }) => isRunning);
    const ask = () => replica?.daemon.call(method, path, { token: set.token, ...options });
    let answer = await ask();
    for (let tries = 1; answer?.code === 503 && tries < 10; tries++) {
      await sleep(Number(answer.headers['retry-after']) * 1000);
      answer = await ask();
    }
    if (answer === undefined || answer.code >= 300) {
      throw new Error(`${method} ${path}: ${answer?.code} ${answer?.text}\n${set.output()}`);
    }
    return answer;
  }

  test('a key that expired and a secret out of step reach a receiver after a takeover', async () => {
    const url = `http://127.0.0.1:${port}/hook`;
    const raw = stringify({
      secretStore: {
        ...{ enabled: true, address: store.address, syncInterval: '10s' },
        auth: { token: '$STORE_TOKEN' },
      },
      notifications: [
        {
          name: 'hook',
          events: ['StoreOutOfStep', 'KeyExpired'],
          webhook: { url, secret: '$HOOK_KEY' },
        },
      ],
    });
    await ok('POST', `${API}/config`, { body: { metadata: { name: 'main' }, spec: { raw } } });
    await ok('POST', `${API}/users`, { body: { metadata: { name: 'grace' }, spec: {} } });
    await ok('POST', `${API}/ownedaccesskeys`, {
      body: { metadata: { name: 'short' }, spec: { user: 'grace', ttl: 2 } },
    });
    const annotations = {
      'gitplane.dev/secret-store-kv-mount-path': 'missing',
      'gitplane.dev/secret-store-kv-secret-path': 'app/mail',
    };
    await ok('POST', `${API}/namespaces/default/sharedsecrets`, {
      body: { metadata: { name: 'mail', annotations }, spec: { data: { password: 'b25l' } } },
    });
    const leader = await set.elected();
    await expect.poll(isOutOfStep, LONG).toBe(true);
    // The first of them at least is in the queue.
    await expect.poll(() => leader.output(), LONG).toContain('Deliveries wait');
    await leader.stop('SIGKILL');
    expect(received).toEqual([]);
    await listen();
    await expect
      .poll(() => new Set(received.map(({ event }) => event)), LONG)
      .toEqual(new Set(['KeyExpired Raised', 'StoreOutOfStep Raised']));
    const subjects = received.flatMap((one) => one.subjects);
    expect(subjects).toContain('Key "short"');
    expect(subjects).toContain('SharedSecret "default/mail"');
    // A repetition has the same id.
    expect(new Set(received.map(({ id }) => id)).size).toBe(2);
    await leader.start();
  });

  async function isOutOfStep(): Promise<boolean> {
    const { status } = (await ok('GET', `${API}/namespaces/default/sharedsecrets/mail`)).json();
    const conditions: { type: string; status: string }[] = status?.conditions ?? [];
    return conditions.some((one) => one.type === 'Synced' && one.status === 'False');
  }
});

/**
 * Informers of the official JavaScript client through churn by the API and by git, restarts, a kill
 * and the loss of the state, after which no version that they know is in the window: they end with
 * what a list says, and were told of nothing twice.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CustomObjectsApi,
  type Informer,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';

const RESOURCE = { group: 'management.gitplane.dev', version: 'v1', plural: 'teams' };
const SELECTOR = 'churn=on';
const NAMES = Array.from({ length: 40 }, (_, i) => `churned-${i}`);
const CLIENTS = 6;
const CHANGES = 60;

let daemon: Daemon;
let config: KubeConfig;
let over = false;

beforeAll(async () => {
  daemon = await startDaemon();
  config = new KubeConfig();
  config.loadFromFile(join(daemon.dataDir, 'kubeconfig'));
});
afterAll(async () => {
  over = true;
  await daemon.stop();
});

/** On the port that clients know. */
async function startAgain(): Promise<void> {
  const { dataDir, port } = daemon;
  daemon = await startDaemon({ dataDir, args: ['--listen', `127.0.0.1:${port}`] });
}

class Follower {
  readonly seen = new Map<string, string>();
  readonly #informer: Informer<KubernetesObject>;
  readonly #selector: string | undefined;

  constructor(selector: string | undefined) {
    this.#selector = selector;
    const path = `${API.slice('/kubernetes/management'.length)}/teams`;
    this.#informer = makeInformer(config, path, () => this.list() as never, selector);
    const note = (object: KubernetesObject): void => {
      this.seen.set(object.metadata?.name ?? '', object.metadata?.resourceVersion ?? '');
    };
    this.#informer.on('add', note);
    this.#informer.on('update', note);
    this.#informer.on('delete', ({ metadata }) => this.seen.delete(metadata?.name ?? ''));
    // The user of an informer decides about a lost connection.
    this.#informer.on('error', () => {
      if (!over) setTimeout(() => this.start(), 50);
    });
  }

  start(): void {
    this.#informer.start().catch(() => {
      if (!over) setTimeout(() => this.start(), 50);
    });
  }

  async stop(): Promise<void> {
    await this.#informer.stop();
  }

  async list(): Promise<{ items: KubernetesObject[] }> {
    const api = config.makeApiClient(CustomObjectsApi);
    const labelSelector = this.#selector === undefined ? {} : { labelSelector: this.#selector };
    return (await api.listClusterCustomObject({ ...RESOURCE, ...labelSelector })) as never;
  }

  async expectInStep(): Promise<void> {
    await vi.waitFor(async () => {
      const { items } = await this.list();
      const wanted = items.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]);
      expect(Object.fromEntries(this.seen)).toEqual(Object.fromEntries(wanted));
    });
  }
}

/** One change of one object: it is made, changed, taken out of the selection or into it, or deleted. */
async function change(random: Random, name: string): Promise<void> {
  const path = `${API}/teams/${name}`;
  const labels = { churn: random.below(3) === 0 ? 'off' : 'on' };
  const spec = { displayName: `Name ${random.below(1000)}` };
  const there = (await daemon.call('GET', path)).code === 200;
  const answer = !there
    ? await daemon.call('POST', `${API}/teams`, { body: { metadata: { name, labels }, spec } })
    : random.below(4) === 0
      ? await daemon.call('DELETE', path)
      : await daemon.call('PATCH', path, {
          body: { metadata: { labels }, spec },
          type: 'application/merge-patch+json',
        });
  expect([200, 201], answer.text).toContain(answer.code);
}

async function churn(seed: number): Promise<void> {
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const random = randomFrom(seed * 100 + client);
    // Each has objects of its own, so that none finds gone what it has just seen.
    const own = NAMES.filter((_name, i) => i % CLIENTS === client);
    for (let i = 0; i < CHANGES / CLIENTS; i++) {
      await change(random, random.pick(own));
    }
  });
  const clone = await daemon.clone();
  const pushed = `pushed-${seed}`;
  await commitFiles(daemon, clone, { [`teams/${pushed}.yaml`]: manifest('Team', pushed) });
  await Promise.all(clients);
  await gitIn(daemon, clone, 'pull', '-q', '--rebase');
  expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
}

test('informers end in the state of a list, through restarts and lost versions', async () => {
  const followers = [new Follower(undefined), new Follower(SELECTOR)];
  for (const follower of followers) follower.start();
  const inStep = async (): Promise<void> => {
    for (const follower of followers) await follower.expectInStep();
  };
  await churn(1);
  await inStep();

  await daemon.stop();
  await startAgain();
  await churn(2);
  await inStep();

  await daemon.stop('SIGKILL');
  await startAgain();
  await churn(3);
  await inStep();

  await daemon.stop();
  await rm(join(daemon.dataDir, 'state'), { recursive: true });
  await startAgain();
  await churn(4);
  await inStep();
  expect(followers[0]?.seen.has('pushed-4')).toBe(true);
  for (const follower of followers) await follower.stop();
});

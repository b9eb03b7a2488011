/**
 * The daemon and an OpenBao, one of them killed again and again while secrets change on both sides: no value
 * that was acknowledged is lost or taken back, and both sides agree in the end, or a person is asked.
 */
import { expect, onTestFinished, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { OPENBAO_RELEASES, OpenBao } from '../support/openbao.ts';
import { randomFrom } from '../support/random.ts';
import { budget, isLong, SEED, say, timeoutMs } from './budget.ts';

const USUAL_SECONDS = 20;
const COUNT = 5;
const SOON = { timeout: 60_000, interval: 500 };
const SECRETS = `${API}/namespaces/payments/sharedsecrets`;

/** Numbers written to one key by one side. */
interface Written {
  tried: number;
  acknowledged: number;
}

interface Pair {
  readonly name: string;
  /** Of the key `git`, which only git changes, and of the key `store`. */
  readonly git: Written;
  readonly store: Written;
}

class Scene {
  readonly bao: OpenBao;
  readonly pairs: readonly Pair[] = Array.from({ length: COUNT }, (_, index) => ({
    name: `mail-${index}`,
    git: { tried: 0, acknowledged: 0 },
    store: { tried: 0, acknowledged: 0 },
  }));
  #daemon: Daemon;

  private constructor(bao: OpenBao, daemon: Daemon) {
    this.bao = bao;
    this.#daemon = daemon;
  }

  static async open(): Promise<Scene> {
    const bao = await OpenBao.start({ storage: 'raft' });
    onTestFinished(() => bao.stop());
    const env = { STORE_TOKEN: bao.rootToken };
    const daemon = await startDaemon({ env });
    const scene = new Scene(bao, daemon);
    onTestFinished(async () => {
      await scene.#daemon.stop('SIGKILL');
    });
    const secretStore = {
      enabled: true,
      address: bao.address,
      auth: { token: '$STORE_TOKEN' },
      syncInterval: '1s',
    };
    for (const { metadata } of (await daemon.call('GET', `${API}/config`)).json().items) {
      await daemon.call('DELETE', `${API}/config/${metadata.name}`);
    }
    const spec = { raw: JSON.stringify({ secretStore }) };
    await daemon.call('POST', `${API}/config`, { body: { metadata: { name: 'main' }, spec } });
    for (const { name } of scene.pairs) {
      await bao.put(`faults/${name}`, { git: '0', store: '0' });
      const made = await daemon.call('POST', SECRETS, { body: tied(name) });
      expect(made.code, made.text).toBe(201);
    }
    // Sides that never agreed could not be told apart by their changes.
    for (const pair of scene.pairs) await vi.waitFor(() => scene.assertAgreed(pair), SOON);
    return scene;
  }

  async killDaemon(): Promise<void> {
    const { dataDir } = this.#daemon;
    await this.#daemon.stop('SIGKILL');
    const env = { STORE_TOKEN: this.bao.rootToken };
    this.#daemon = await startDaemon({ dataDir, seed: undefined, env });
  }

  async killStore(): Promise<void> {
    await this.bao.kill();
    await this.bao.startAgain();
  }

  async changeInGit({ name, git }: Pair): Promise<void> {
    git.tried += 1;
    const value = git.tried;
    const answer = await this.#daemon
      .call('PATCH', `${SECRETS}/${name}`, {
        type: 'application/merge-patch+json',
        body: { spec: { data: { git: encoded(value) } } },
      })
      .catch(() => undefined);
    if (answer?.code === 200) git.acknowledged = value;
  }

  /** As another tool does: reads, changes its key, and writes under check-and-set. */
  async changeInStore({ name, store }: Pair): Promise<void> {
    store.tried += 1;
    const value = store.tried;
    const path = `secret/data/faults/${name}`;
    const read = await this.bao.call('GET', path).catch(() => undefined);
    if (read?.status !== 200) return;
    const { data, metadata } = read.body.data;
    const answer = await this.bao
      .call('POST', path, {
        options: { cas: metadata.version },
        data: { ...data, store: String(value) },
      })
      .catch(() => undefined);
    if (answer?.status === 200) store.acknowledged = value;
  }

  /** Each side shows at least what it has acknowledged itself. */
  async assertNothingTakenBack(pair: Pair): Promise<void> {
    const before = { git: pair.git.acknowledged, store: pair.store.acknowledged };
    const inStore = await this.bao.live(`faults/${pair.name}`).catch(() => undefined);
    if (inStore !== undefined) {
      expect(Number(inStore['store']), pair.name).toBeGreaterThanOrEqual(before.store);
    }
    const inGit = await this.#inGit(pair).catch(() => undefined);
    if (inGit !== undefined) expect(inGit.git, pair.name).toBeGreaterThanOrEqual(before.git);
  }

  async assertAgreed(pair: Pair): Promise<void> {
    const { name, git, store } = pair;
    const inGit = await this.#inGit(pair);
    const inStore = await this.bao.live(`faults/${name}`);
    const { conditions } = inGit;
    expect(inStore, `${name} ${conditions}`).toEqual({
      git: String(inGit.git),
      store: String(inGit.store),
    });
    expect(inGit.git).toBeGreaterThanOrEqual(git.acknowledged);
    expect(inGit.git).toBeLessThanOrEqual(git.tried);
    expect(inGit.store).toBeGreaterThanOrEqual(store.acknowledged);
    expect(inGit.store).toBeLessThanOrEqual(store.tried);
    expect(conditions, name).toContain('"type":"Synced","status":"True"');
  }

  /** A secret that is held with a conflict has lost nothing: a person decides. */
  async endOf(pair: Pair): Promise<'agreed' | 'held'> {
    await this.assertNothingTakenBack(pair);
    const { conditions } = await this.#inGit(pair);
    if (conditions.includes('"reason":"Conflict"')) return 'held';
    await this.assertAgreed(pair);
    return 'agreed';
  }

  async #inGit({ name }: Pair): Promise<{ git: number; store: number; conditions: string }> {
    const { spec, status } = (await this.#daemon.call('GET', `${SECRETS}/${name}`)).json();
    const { git, store } = spec.data;
    const conditions = JSON.stringify(status?.conditions ?? []);
    return { git: decoded(git), store: decoded(store), conditions };
  }
}

function tied(name: string): object {
  const annotations = {
    'gitplane.dev/secret-store-kv-mount-path': 'secret',
    'gitplane.dev/secret-store-kv-secret-path': `faults/${name}`,
    'gitplane.dev/secret-store-direction': 'both',
  };
  const data = { git: encoded(0), store: encoded(0) };
  return { metadata: { name, annotations }, spec: { displayName: name, data } };
}

function encoded(value: number): string {
  return Buffer.from(String(value)).toString('base64');
}

function decoded(value: string): number {
  return Number(Buffer.from(value, 'base64').toString());
}

test.skipIf(OPENBAO_RELEASES[0].program === undefined || !isLong)(
  `kills of the daemon and of OpenBao lose no change of a secret (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const scene = await Scene.open();
    const counts = { daemon: 0, store: 0, changes: 0 };
    const hasTime = budget(USUAL_SECONDS);
    while (hasTime()) {
      // One change per key at a time: the order of two would not be known.
      const changes = scene.pairs.flatMap((pair) => [
        ...(random.chance(0.4) ? [scene.changeInGit(pair)] : []),
        ...(random.chance(0.4) ? [scene.changeInStore(pair)] : []),
      ]);
      counts.changes += changes.length;
      const victim = random.below(4);
      // The kill comes at any moment of the changes and of the sync that follows them.
      await new Promise((resolve) => setTimeout(resolve, random.below(400)));
      const killed =
        victim === 0 ? scene.killDaemon() : victim === 1 ? scene.killStore() : undefined;
      if (victim === 0) counts.daemon += 1;
      if (victim === 1) counts.store += 1;
      await Promise.all([...changes, killed]);
      for (const pair of scene.pairs) await scene.assertNothingTakenBack(pair);
    }
    let held = 0;
    for (const pair of scene.pairs) {
      const end = await vi.waitFor(() => scene.endOf(pair), SOON);
      if (end === 'held') held += 1;
    }
    say(
      `${counts.changes} changes, ${counts.daemon} kills of the daemon, ${counts.store} kills of OpenBao, ${held} of ${COUNT} secrets held: nothing lost`,
    );
  },
  timeoutMs(USUAL_SECONDS),
);

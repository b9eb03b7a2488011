/**
 * The daemon and an OpenBao, killed again and again while secrets change on both sides: no value that was
 * acknowledged is lost or taken back, both sides agree in the end, and no person is asked: each key has one writer.
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
  #unread = 0;
  /** Output of the newest daemons that were killed. */
  #logs: string[] = [];

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

  /** Times that a daemon could not read the history of a secret. */
  get unread(): number {
    return this.#unread + countUnread(this.#daemon);
  }

  async killDaemon(): Promise<void> {
    const { dataDir } = this.#daemon;
    this.#unread += countUnread(this.#daemon);
    this.#logs = [...this.#logs.slice(-5), this.#daemon.output().slice(-200_000)];
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

  /** Facts about a secret that is held, for the report of a failure. */
  async evidence(pair: Pair): Promise<string> {
    const { body } = await this.bao.call('GET', `secret/metadata/faults/${pair.name}`);
    const versions = Object.keys(body.data.versions).map(async (version) => {
      const read = await this.bao.call('GET', `secret/data/faults/${pair.name}?version=${version}`);
      const { created_time } = body.data.versions[version];
      return `${version} ${created_time} ${JSON.stringify(read.body.data?.data)}`;
    });
    const past = await this.#daemon.call('GET', `${SECRETS}/${pair.name}/history`);
    const log = [...this.#logs, this.#daemon.output()].flatMap((text) =>
      text.split('\n').filter((line) => line.includes(pair.name) || line.includes('history of')),
    );
    const inGit = JSON.stringify(await this.#inGit(pair));
    return [inGit, ...(await Promise.all(versions)), past.text.slice(0, 6_000), ...log].join('\n');
  }

  /** True if a person is asked to decide; false as well where the daemon does not answer. */
  async isHeld(pair: Pair): Promise<boolean> {
    const found = await this.#inGit(pair).catch(() => undefined);
    return /"reason":"(Conflict|CoveredValue|HistoryUnknown)"/.test(found?.conditions ?? '');
  }

  async #inGit({ name }: Pair): Promise<{ git: number; store: number; conditions: string }> {
    const { spec, status } = (await this.#daemon.call('GET', `${SECRETS}/${name}`)).json();
    const { git, store } = spec.data;
    const conditions = JSON.stringify(status?.conditions ?? []);
    return { git: decoded(git), store: decoded(store), conditions };
  }
}

function countUnread(daemon: Daemon): number {
  return daemon.output().split('history of a secret cannot be read').length - 1;
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
    const counts = { daemon: 0, store: 0, changes: 0, held: 0 };
    const hasTime = budget(USUAL_SECONDS);
    while (hasTime()) {
      // One change per key at a time: the order of two would not be known.
      const changes = scene.pairs.flatMap((pair) => [
        ...(random.chance(0.4) ? [scene.changeInGit(pair)] : []),
        ...(random.chance(0.4) ? [scene.changeInStore(pair)] : []),
      ]);
      counts.changes += changes.length;
      const victims = random.below(5);
      // The kill comes at any moment of the changes and of the sync that follows them.
      await new Promise((resolve) => setTimeout(resolve, random.below(400)));
      const kills: Promise<void>[] = [];
      if (victims === 0 || victims > 2) kills.push(scene.killDaemon());
      if (victims === 1 || victims > 3) kills.push(scene.killStore());
      if (victims === 0 || victims > 2) counts.daemon += 1;
      if (victims === 1 || victims > 3) counts.store += 1;
      await Promise.all([...changes, ...kills]);
      for (const pair of scene.pairs) {
        await scene.assertNothingTakenBack(pair);
        if (!(await scene.isHeld(pair))) continue;
        counts.held += 1;
        throw new Error(
          `${pair.name} is held after ${JSON.stringify(counts)}\n${await scene.evidence(pair)}`,
        );
      }
    }
    for (const pair of scene.pairs) await vi.waitFor(() => scene.assertAgreed(pair), SOON);
    say(
      `${counts.changes} changes, ${counts.daemon} kills of the daemon, ${counts.store} kills of OpenBao, ${counts.held} secrets held, ${scene.unread} histories not read at once: nothing lost`,
    );
  },
  timeoutMs(USUAL_SECONDS),
);

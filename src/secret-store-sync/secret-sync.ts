/**
 * Syncs secrets with the configured secret stores: one loop per store, so that none waits for
 * another. Secrets that name an unknown store get a condition.
 */
import type { SecretStoreBlock } from '../config/index.ts';
import { DEFAULT_STORE } from '../kinds/index.ts';
import type { SecretSyncFacts } from '../telemetry/index.ts';
import type { Finding } from './conditions.ts';
import {
  type LinkedSecret,
  LinkedSecrets,
  type LinkListener,
  type StoreSecrets,
} from './linked-secrets.ts';
import { SyncPublisher } from './publisher.ts';
import type { SecretSyncReport } from './report.ts';
import { StoreLoop, type StoreLoopOptions } from './store-loop.ts';

type OfOneStore =
  | 'name'
  | 'home'
  | 'configuration'
  | 'missingVariables'
  | 'environment'
  | 'notInForce'
  | 'pullsIncomplete'
  | 'linked';

export interface SecretSyncOptions extends Omit<StoreLoopOptions, OfOneStore> {
  /** The configured stores by name, including the default one; read for each request. */
  readonly stores: () => ReadonlyMap<string, SecretStoreBlock>;
  /** Completes the configuration of the default store. */
  readonly environment: StoreLoopOptions['environment'];
  /**
   * Reports the reason why configured stores are not in use, for the status of the Config;
   * undefined: they are in use.
   */
  readonly notInForce?: ((why: string | undefined) => void) | undefined;
  /**
   * Reports the reason why pulls left secrets out, for the status of the Config; undefined: none.
   */
  readonly pullsIncomplete?: ((why: string | undefined) => void) | undefined;
}

export class SecretSync {
  readonly #options: SecretSyncOptions;
  readonly #linked: LinkedSecrets;
  /** By name. The loop of a removed store sends no requests and has no secrets. */
  readonly #loops = new Map<string, StoreLoop>();
  /** Secrets that name an unknown store. */
  readonly #unassigned: StoreSecrets;
  readonly #unassignedPublisher: SyncPublisher;
  /** By the name of the store. */
  readonly #whyNotInForce = new Map<string, string>();
  readonly #whyIncomplete = new Map<string, string>();
  readonly #stops: (() => void)[] = [];
  #isFollowing = false;
  #isClosed = false;

  constructor(options: SecretSyncOptions) {
    this.#options = options;
    this.#linked = new LinkedSecrets(options);
    this.#unassigned = this.#linked.of((store) => !options.stores().has(store));
    this.#unassignedPublisher = new SyncPublisher({ ...options, name: '' });
    this.#openLoops();
    options.metrics.follow(() => this.#facts());
  }

  /**
   * Begins after the state is filled: links are in the objects, which are built in the background
   * after a cold start.
   */
  start(): void {
    void this.#options.store.filled().then(() => this.#follow());
  }

  #follow(): void {
    if (this.#isClosed) return;
    this.#isFollowing = true;
    const { store } = this.#options;
    this.#linked.follow((...change) => this.#linkChanged(...change));
    this.#stops.push(
      store.observe(this.#default.secrets, ({ current }) => {
        for (const loop of this.#loops.values()) {
          if (loop.refersTo(current.key)) loop.configurationChanged();
        }
      }),
    );
    for (const loop of this.#loops.values()) loop.start();
    this.#publishUnassigned(this.#unassigned.all());
  }

  /** Called after a change of the configuration, or of data it refers to. */
  configurationChanged(): void {
    if (this.#isClosed) return;
    this.#openLoops();
    const stores = this.#options.stores();
    for (const name of this.#loops.keys()) {
      if (stores.has(name)) continue;
      this.#reportNotInForce(name, undefined);
      this.#reportIncomplete(name, undefined);
    }
    for (const loop of this.#loops.values()) loop.configurationChanged();
    this.#unassignedPublisher.clear();
    this.#publishUnassigned(this.#unassigned.all());
  }

  /**
   * Resolves after a full cycle of the store, or of all stores, that began after this call. Never
   * rejects.
   */
  async syncNow({
    allowDeletions,
    store,
  }: {
    readonly allowDeletions: boolean;
    readonly store?: string | undefined;
  }): Promise<void> {
    const names = store === undefined ? [...this.#options.stores().keys()] : [store];
    const loops = names.flatMap((name) => this.#configured(name) ?? []);
    await Promise.all(loops.map((loop) => loop.syncNow({ allowDeletions })));
  }

  /** True if a store of this name is configured. */
  has(store: string): boolean {
    return this.#options.stores().has(store);
  }

  report(): SecretSyncReport {
    const names = [...this.#options.stores().keys()];
    const reports = names.flatMap((name) => this.#configured(name)?.report() ?? []);
    const counts = [...reports, { counts: this.#unassignedPublisher.counts() }].map(
      (one) => one.counts,
    );
    return {
      ...this.#default.report(),
      counts: summed(counts),
      attention: [
        ...reports.flatMap(({ attention }) => attention),
        ...this.#unassignedPublisher.attention(this.#unassigned.all()),
      ],
      stores: reports.filter(({ name }) => name !== DEFAULT_STORE),
    };
  }

  /** Finishes the secrets in progress; unfinished writes are in the sync records. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    this.#linked.close();
    await Promise.all([...this.#loops.values()].map((loop) => loop.close()));
  }

  get #default(): StoreLoop {
    const loop = this.#loops.get(DEFAULT_STORE);
    if (loop === undefined) throw new Error('The default store has no loop');
    return loop;
  }

  #configured(name: string): StoreLoop | undefined {
    return this.has(name) ? this.#loops.get(name) : undefined;
  }

  #openLoops(): void {
    for (const [name, { home }] of this.#options.stores()) {
      if (this.#loops.has(name)) continue;
      const loop = this.#newLoop(name, home);
      this.#loops.set(name, loop);
      if (this.#isFollowing) loop.start();
    }
  }

  #newLoop(name: string, home: string): StoreLoop {
    const { stores, environment } = this.#options;
    return new StoreLoop({
      ...this.#options,
      name,
      home,
      linked: this.#linked.of((store) => store === name && stores().has(name)),
      configuration: () => stores().get(name)?.config,
      missingVariables: () => stores().get(name)?.missing,
      // The environment describes one store. Its token must not be sent to another one.
      environment: name === DEFAULT_STORE ? environment : {},
      notInForce: (why) => this.#reportNotInForce(name, why),
      pullsIncomplete: (why) => this.#reportIncomplete(name, why),
    });
  }

  #linkChanged(...[key, id, { before, now }]: Parameters<LinkListener>): void {
    const [from, to] = [before?.link.store, now?.link.store];
    if (from !== undefined && from !== to) {
      this.#loops.get(from)?.left(key, id);
      this.#unassignedPublisher.forget(id);
      // Removes conditions of a sync that does not run.
      if (to === undefined) void this.#untie(key);
    }
    if (now === undefined) return;
    const loop = this.#configured(now.link.store);
    if (loop === undefined) this.#publishUnassigned([now]);
    else loop.changed(id);
  }

  async #untie(key: LinkedSecret['key']): Promise<void> {
    const { store, logger } = this.#options;
    const found = store.get(key);
    if (found === undefined || found.terminating) return;
    await this.#unassignedPublisher
      .removeConditions(key)
      .catch((err: unknown) => logger.warn({ err }, 'A secret could not be untied'));
  }

  #publishUnassigned(secrets: readonly LinkedSecret[]): void {
    if (!this.#isFollowing) return;
    const names = [...this.#options.stores().keys()].join(', ');
    const findings = secrets.map(({ id, link }): [string, Finding] => {
      const message = `The configuration has no secret store ${JSON.stringify(link.store)}; it has ${names}`;
      return [id, { is: 'failed', reason: 'StoreMissing', message }];
    });
    void this.#unassignedPublisher.publish(secrets, new Map(findings));
  }

  #reportNotInForce(name: string, why: string | undefined): void {
    this.#options.notInForce?.(reasonsOfAll(this.#whyNotInForce, name, why));
  }

  #reportIncomplete(name: string, why: string | undefined): void {
    this.#options.pullsIncomplete?.(reasonsOfAll(this.#whyIncomplete, name, why));
  }

  #facts(): ReadonlyMap<string, SecretSyncFacts> {
    const facts = [...this.#options.stores().keys()].flatMap(
      (name): [string, SecretSyncFacts][] => {
        const found = this.#configured(name)?.facts();
        return found === undefined ? [] : [[name, found]];
      },
    );
    if (this.#unassigned.all().length > 0) {
      facts.push(['', { ...NO_STORE, objects: this.#unassignedPublisher.counts() }]);
    }
    return new Map(facts);
  }
}

/** Report on all stores, after a change for one of them. */
function reasonsOfAll(
  all: Map<string, string>,
  name: string,
  why: string | undefined,
): string | undefined {
  if (why === undefined) all.delete(name);
  else all.set(name, why);
  const texts = [...all].map(([store, text]) =>
    store === DEFAULT_STORE ? text : `Store ${JSON.stringify(store)}: ${text}`,
  );
  return texts.length === 0 ? undefined : texts.join('; ');
}

const NO_STORE: Omit<SecretSyncFacts, 'objects'> = {
  isAvailable: undefined,
  isInForce: undefined,
  pace: undefined,
  lastSuccess: undefined,
  pulls: [],
};

function summed(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const one of counts) {
    for (const [state, count] of Object.entries(one)) sums[state] = (sums[state] ?? 0) + count;
  }
  return sums;
}

/**
 * One object, its users on both sides and a daemon that is killed at random, with everything that
 * can go wrong in between. `problems` collects what must never happen.
 */
import { DEFAULT_POLICY, type SyncPolicy } from '../../src/secretsync/policy.ts';
import type { GitChange, GitRead, GitSide, SyncMemory } from '../../src/secretsync/ports.ts';
import { StoreError } from '../../src/secretsync/ports.ts';
import { Fingerprints } from '../../src/secretsync/prints.ts';
import { StoreClient } from '../../src/secretsync/store/client.ts';
import { kv2 } from '../../src/secretsync/store/kv2.ts';
import { detectMount } from '../../src/secretsync/store/mount.ts';
import {
  type StoreRequest,
  type StoreResponse,
  type Transport,
  TransportError,
} from '../../src/secretsync/store/transport.ts';
import { type SyncOutcome, syncObject } from '../../src/secretsync/sync-object.ts';
import { NEW_STATE, type SyncState } from '../../src/secretsync/sync-state.ts';
import type { KvKey, KvMount } from '../support/kv/kv-mount.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import type { Random } from '../support/random.ts';

class Killed extends Error {}

export interface ModelOptions {
  readonly random: Random;
  readonly policy?: Partial<SyncPolicy>;
  /** Chances of a crash at each point, of a lost answer, of a race, of an old answer. */
  readonly crash?: number;
  readonly lost?: number;
  readonly race?: number;
  readonly stale?: number;
  /** Whether users remove keys for good and make them anew. */
  readonly recreates?: boolean;
}

export interface ModelCounts {
  cycles: number;
  crashes: number;
  pulls: number;
  pushes: number;
  conflicts: number;
  /** Pushes that replaced a value that only the store had; each has to be reported. */
  covered: number;
  waits: number;
}

const PATH = 'app/config';
const KEYS = ['user', 'password', 'host', 'port'];

type Values = Readonly<Record<string, unknown>>;

export class SyncModel {
  readonly problems: string[] = [];
  readonly counts: ModelCounts = {
    cycles: 0,
    crashes: 0,
    pulls: 0,
    pushes: 0,
    conflicts: 0,
    covered: 0,
    waits: 0,
  };
  readonly #options: ModelOptions;
  readonly #policy: SyncPolicy;
  readonly #mount: KvMount;
  readonly #store: KvStore;
  readonly #fingerprints = new Fingerprints(Buffer.alloc(32, 7));
  #client: StoreClient;
  #git: { commit: string; values: Map<string, string> }[] = [];
  #state: SyncState = NEW_STATE;
  #isCalm = false;
  #isOurs = false;
  #resolution: { winner: 'git' | 'store'; id: string } | undefined;
  #serial = 0;
  /** Values that may be replaced: git had them, or a person was shown them. */
  readonly #safe = new Set<string>();
  /** Values that the store had, with the latest time it was given them. */
  readonly #stored = new Map<string, number>();
  readonly #agreed = new Map<string, number>();
  /** What pushes replaced and nobody was told yet, by version. */
  readonly #uncovered = new Map<string, string>();
  #sequence = 0;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#policy = { ...DEFAULT_POLICY, direction: 'Both', ...options.policy };
    const lag = (): number => (this.#happens(options.stale) ? 1 + options.random.below(4) : 0);
    this.#store = new KvStore({ lag });
    this.#store.token('t');
    this.#mount = this.#store.mount('secret/');
    this.#mount.onWrite = (_path, before, after) => this.#watch(before, after);
    this.#client = this.#connect();
    this.#commit(new Map());
  }

  /** Some edits, then the daemon's cycle, which may not live to its end. */
  async step(): Promise<void> {
    const { random } = this.#options;
    if (random.chance(0.35)) this.#editGit();
    if (random.chance(0.35)) this.#editStore();
    await this.#cycle();
  }

  /** Nothing goes wrong any more and people answer: both sides have to come to rest. */
  async calmDown(): Promise<void> {
    this.#isCalm = true;
    let outcome: SyncOutcome | undefined;
    for (let round = 0; round < 20 && outcome?.result !== 'Synced'; round += 1) {
      outcome = await this.#cycle();
      if (outcome?.result === 'Differs') break;
    }
    const git = JSON.stringify([...this.#head.values].sort());
    const live = JSON.stringify(Object.entries(this.#mount.live(PATH) ?? {}).sort());
    if (outcome?.result === 'Synced' && git !== live)
      this.problems.push(`synced, but ${git} is not ${live}`);
    if (outcome?.result !== 'Synced' && outcome?.result !== 'Differs') {
      this.problems.push(`does not come to rest: ${JSON.stringify(outcome)}`);
    }
    for (const what of this.#uncovered.values()) {
      this.problems.push(`a push replaced ${what}, and nobody was told`);
    }
  }

  get #head(): { commit: string; values: Map<string, string> } {
    return this.#git.at(-1) as { commit: string; values: Map<string, string> };
  }

  #happens(chance = 0): boolean {
    return !this.#isCalm && this.#options.random.chance(chance);
  }

  async #cycle(): Promise<SyncOutcome | undefined> {
    this.counts.cycles += 1;
    try {
      const mount = await detectMount(this.#client, 'secret');
      const outcome = await syncObject({
        git: this.#gitSide(),
        store: kv2({ client: this.#client, mount, path: PATH }),
        memory: this.#memory(),
        fingerprints: this.#fingerprints,
        policy: this.#policy,
        owner: 'model',
        mayDelete: true,
        ...(this.#resolution && { resolution: this.#resolution }),
      });
      this.#hear(outcome);
      return outcome;
    } catch (error) {
      if (error instanceof Killed) {
        this.counts.crashes += 1;
        this.#client = this.#connect();
      } else if (!(error instanceof StoreError)) throw error;
      this.#resolution = undefined;
      return undefined;
    }
  }

  /** A person reads the condition, and may decide. */
  #hear(outcome: SyncOutcome): void {
    const { random } = this.#options;
    this.counts.pulls += outcome.pulled;
    this.counts.pushes += outcome.pushed;
    this.#resolution = undefined;
    if (outcome.result === 'Waiting') this.counts.waits += 1;
    if (outcome.result !== 'Held') return;
    this.counts.conflicts += 1;
    for (const { version, createdTime } of this.#state.covered) {
      this.#uncovered.delete(`${version} ${canonical(createdTime)}`);
    }
    if (!this.#isCalm && !random.chance(0.4)) return;
    const { held } = this.#state;
    if (held === undefined) return;
    const shown = this.#mount.keys.get(PATH)?.versions.get(held.version)?.data ?? {};
    for (const value of Object.values(shown)) this.#safe.add(String(value));
    for (const value of this.#head.values.values())
      this.#stored.set(value, this.#stored.get(value) ?? 0);
    this.#resolution = random.chance(0.5)
      ? { winner: 'git', id: held.commit }
      : { winner: 'store', id: String(held.version) };
    // Whoever is told to win may bring back what is older.
    for (const key of KEYS) this.#agreed.delete(key);
  }

  #editGit(): void {
    const { random } = this.#options;
    const values = new Map(this.#head.values);
    for (const key of KEYS) {
      if (!random.chance(0.4)) continue;
      if (random.chance(0.15)) values.delete(key);
      else values.set(key, this.#value('git'));
    }
    this.#commit(values);
  }

  #editStore(): void {
    const { random, recreates = false } = this.#options;
    const dice = random.next();
    if (dice < 0.08) this.#mount.deleteLatest(PATH);
    else if (dice < 0.14) this.#mount.undeleteLatest(PATH);
    else if (dice < 0.2 && recreates) this.#recreate();
    else if (dice < 0.23 && recreates) this.#mount.removeKey(PATH);
    else if (dice < 0.3) this.#mount.put(PATH, this.#agreeing());
    else this.#mount.put(PATH, this.#edited(this.#mount.live(PATH) ?? {}));
  }

  /** Somebody copies by hand what git has. */
  #agreeing(): Values {
    return Object.fromEntries(this.#head.values);
  }

  #edited(before: Values): Values {
    const { random } = this.#options;
    const after: Record<string, unknown> = { ...before };
    for (const key of KEYS) {
      if (!random.chance(0.4)) continue;
      if (random.chance(0.15)) delete after[key];
      else after[key] = this.#value('store');
    }
    return after;
  }

  /** Removed for good and made anew, often up to the number it had. */
  #recreate(): void {
    const current = this.#mount.keys.get(PATH)?.current ?? 0;
    this.#mount.removeKey(PATH);
    const versions = this.#options.random.chance(0.7) ? current : 1;
    for (let version = 0; version < versions; version += 1) this.#mount.put(PATH, this.#edited({}));
  }

  #value(side: string): string {
    this.#serial += 1;
    return `${side}-${this.#serial}`;
  }

  #commit(values: Map<string, string>): string {
    const commit = `c${this.#git.length + 1}`;
    for (const value of values.values()) this.#safe.add(value);
    this.#git.push({ commit, values });
    return commit;
  }

  #point(): void {
    if (this.#happens(this.#options.crash)) throw new Killed();
  }

  #connect(): StoreClient {
    const transport: Transport = {
      origin: 'http://store',
      close: () => {},
      send: async (request) => this.#exchange(request),
    };
    return new StoreClient({
      transport,
      token: async () => 't',
      clock: { now: () => 0 },
      intervalMs: 1000,
      random: () => 0,
    });
  }

  #exchange(request: StoreRequest): StoreResponse {
    const isWrite = request.method === 'POST' && request.path.includes('/data/');
    this.#point();
    if (isWrite && this.#happens(this.#options.race)) this.#editStore();
    if (isWrite && this.#happens(this.#options.race) && this.#options.recreates === true)
      this.#recreate();
    this.#isOurs = isWrite;
    const response = this.#store.handle(request);
    this.#isOurs = false;
    this.#point();
    if (this.#happens(this.#options.lost)) throw new TransportError('cut', true);
    return response;
  }

  /** Every change of the store passes here, whoever made it. */
  #watch(before: KvKey | undefined, after: KvKey | undefined): void {
    this.#sequence += 1;
    // Whoever removes a key for good removes what was covered along with it.
    if (after === undefined) this.#uncovered.clear();
    const latest = after?.versions.get(after.current);
    const previous = before?.versions.get(before.current);
    const isAppended = after !== undefined && after.current !== before?.current;
    if (
      this.#isOurs &&
      isAppended &&
      before &&
      previous &&
      !previous.destroyed &&
      previous.deletion === ''
    ) {
      this.#judgePush(before.current, previous.created, previous.data, latest?.data ?? {});
    }
    for (const [key, value] of Object.entries(latest?.data ?? {})) {
      if (previous?.data[key] !== value) this.#stored.set(String(value), this.#sequence);
      if (this.#isOurs) this.#agreed.set(key, this.#stored.get(String(value)) ?? 0);
    }
  }

  /**
   * What a push replaces was in git before, or a person was shown it, or it has to be reported. That
   * the daemon read it once does not help: its decision may come from what it read at another time.
   */
  #judgePush(version: number, created: string, before: Values, after: Values): void {
    const lost = Object.entries(before)
      .filter(([key, value]) => after[key] !== value && !this.#safe.has(String(value)))
      .map(([key, value]) => `${key}=${value}`);
    if (lost.length === 0) return;
    this.counts.covered += 1;
    this.#uncovered.set(`${version} ${canonical(created)}`, lost.join(' '));
  }

  #gitSide(): GitSide {
    return {
      read: async () => {
        this.#point();
        const { commit, values } = this.#head;
        return { commit, values: bytes(values) };
      },
      change: async (change) => {
        this.#point();
        if (this.#happens(this.#options.race)) this.#editGit();
        const commit = this.#applied(change);
        this.#point();
        return commit;
      },
      remove: async (seen: GitRead) =>
        seen.commit === this.#head.commit && this.#commit(new Map()) !== '',
      history: async (since) => {
        const at = this.#git.findIndex(({ commit }) => commit === since);
        return this.#git.slice(at + 1, -1).map(({ values }) => bytes(values));
      },
    };
  }

  #applied({ seen, set, remove }: GitChange): string | undefined {
    if (seen.commit !== this.#head.commit) return undefined;
    const values = new Map(this.#head.values);
    for (const key of [...set.keys(), ...remove]) {
      const old = values.get(key);
      if (old !== undefined && !this.#stored.has(old)) {
        this.problems.push(`a pull replaced ${key}=${old}, which the store never had`);
      }
    }
    for (const key of remove) values.delete(key);
    for (const [key, value] of set) {
      const text = Buffer.from(value).toString();
      const sequence = this.#stored.get(text) ?? 0;
      if (sequence < (this.#agreed.get(key) ?? 0))
        this.problems.push(`git went back to ${key}=${text}`);
      this.#agreed.set(key, sequence);
      values.set(key, text);
    }
    return this.#commit(values);
  }

  #memory(): SyncMemory {
    return {
      load: async () => this.#state,
      save: async (state) => {
        this.#point();
        this.#state = state;
        this.#point();
      },
    };
  }
}

function bytes(values: ReadonlyMap<string, string>): Map<string, Uint8Array> {
  return new Map([...values].map(([key, value]) => [key, Buffer.from(value)]));
}

function canonical(time: string): string {
  const [whole = '', fraction = ''] = time.replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(9, '0')}`;
}

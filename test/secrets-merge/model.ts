/**
 * One object, its users on both sides and a daemon that is killed at random, with everything that
 * can go wrong in between. What must never happen is for `ModelJudge` to say.
 */

import { StoreClient } from '../../src/secret-store-client/client.ts';
import { kv2 } from '../../src/secret-store-client/kv2.ts';
import { detectMount } from '../../src/secret-store-client/mount.ts';
import {
  type StoreRequest,
  type StoreResponse,
  type Transport,
  TransportError,
} from '../../src/secret-store-client/transport.ts';
import { Fingerprints } from '../../src/secrets-merge/fingerprints.ts';
import { DEFAULT_POLICY, type SyncPolicy } from '../../src/secrets-merge/policy.ts';
import type { GitChange, GitRead, GitSide, SyncMemory } from '../../src/secrets-merge/ports.ts';
import { StoreError } from '../../src/secrets-merge/ports.ts';
import { syncObject } from '../../src/secrets-merge/sync-object.ts';
import { NEW_STATE, type SyncState } from '../../src/secrets-merge/sync-state.ts';
import type { SyncOutcome } from '../../src/secrets-merge/sync-task.ts';
import type { KvMount } from '../support/kv/kv-mount.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import type { Random } from '../support/random.ts';
import { ModelJudge, type Values } from './model-judge.ts';

class Killed extends Error {}

export interface ModelOptions {
  readonly random: Random;
  readonly policy?: Partial<SyncPolicy>;
  /** Chances of a crash at each point, of a lost answer, of a race, of an old answer. */
  readonly crash?: number;
  readonly lost?: number;
  readonly race?: number;
  readonly stale?: number;
  /** Chance in each cycle that the disk of the daemon is a new one. */
  readonly forgets?: number;
  /** Chance at each change that the clock of the store steps back. */
  readonly back?: number;
  /** Chance in each cycle that the store is put back to an older copy. */
  readonly restores?: number;
  /** Whether users remove keys for good and make them anew. */
  readonly recreates?: boolean;
}

export interface ModelCounts {
  cycles: number;
  crashes: number;
  pulls: number;
  pushes: number;
  conflicts: number;
  covered: number;
  waits: number;
  restores: number;
}

const PATH = 'app/config';
const KEYS = ['user', 'password', 'host', 'port'];
/** Outcomes of a calm cycle after which nothing more happens until somebody does something. */
const AT_REST = new Set(['Synced', 'Differs', 'Forgotten']);

interface Commit {
  readonly commit: string;
  /** Undefined: the object is gone. */
  readonly values: ReadonlyMap<string, string> | undefined;
}

export class SyncModel {
  readonly counts: ModelCounts = {
    cycles: 0,
    crashes: 0,
    pulls: 0,
    pushes: 0,
    conflicts: 0,
    covered: 0,
    waits: 0,
    restores: 0,
  };
  readonly #options: ModelOptions;
  readonly #policy: SyncPolicy;
  readonly #judge: ModelJudge;
  readonly #mount: KvMount;
  readonly #store: KvStore;
  readonly #fingerprints = new Fingerprints(Buffer.alloc(32, 7));
  #client: StoreClient;
  #git: Commit[] = [];
  #state: SyncState = NEW_STATE;
  #isCalm = false;
  #isOurs = false;
  #resolution: { winner: 'git' | 'store'; id: string } | undefined;
  #serial = 0;
  #nanoseconds = 0;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#policy = { ...DEFAULT_POLICY, direction: 'Both', ...options.policy };
    this.#judge = new ModelJudge(this.#policy);
    const lag = (): number => (this.#happens(options.stale) ? 1 + options.random.below(4) : 0);
    this.#store = new KvStore({ lag, now: () => this.#now() });
    this.#store.isStandby = (options.stale ?? 0) > 0;
    this.#store.token('t');
    this.#mount = this.#store.mount('secret/');
    this.#mount.onWrite = (_path, before, after) => {
      const change = { ...(before && { before }), ...(after && { after }) };
      this.#judge.storeChanged({ ...change, isOurs: this.#isOurs, state: this.#state });
    };
    this.#mount.onRestore = (_path, after) => this.#judge.restored(after);
    this.#client = this.#connect();
    this.#userCommits(new Map());
  }

  get problems(): readonly string[] {
    return this.#judge.problems;
  }

  /** Some edits, then the daemon's cycle, which may not live to its end. */
  async step(): Promise<void> {
    const { random, forgets } = this.#options;
    if (random.chance(0.35)) this.#editGit();
    if (random.chance(0.35)) this.#editStore();
    if (this.#happens(forgets)) this.#state = NEW_STATE;
    if (this.#happens(this.#options.restores)) {
      this.#mount.restore(PATH, 1 + random.below(4));
      this.counts.restores += 1;
    }
    await this.#cycle();
  }

  /** Nothing goes wrong any more and people answer: both sides have to come to rest. */
  async calmDown(): Promise<void> {
    this.#isCalm = true;
    let outcome: SyncOutcome | undefined;
    for (let round = 0; round < 20 && !AT_REST.has(outcome?.result ?? ''); round += 1) {
      outcome = await this.#cycle();
    }
    const isAtRest = AT_REST.has(outcome?.result ?? '') || outcome?.reason === 'UnsupportedValue';
    if (!isAtRest) this.#judge.problems.push(`does not come to rest: ${JSON.stringify(outcome)}`);
    const git = shownAs(Object.fromEntries(this.#values));
    const live = shownAs(this.#mount.live(PATH) ?? {});
    if (outcome?.result === 'Synced' && git !== live) {
      this.#judge.problems.push(`synced, but ${git} is not ${live}`);
    }
    this.#judge.end();
    this.counts.covered = this.#judge.covered;
  }

  get #head(): Commit {
    return this.#git.at(-1) as Commit;
  }

  get #values(): ReadonlyMap<string, string> {
    return this.#head.values ?? new Map();
  }

  #happens(chance = 0): boolean {
    return !this.#isCalm && chance > 0 && this.#options.random.chance(chance);
  }

  #now(): string {
    const { back, random } = this.#options;
    this.#nanoseconds += 1_001 + random.below(3);
    if (this.#happens(back)) this.#nanoseconds -= random.below(30_000);
    const time = new Date(Date.UTC(2026, 0, 1)).toISOString().slice(0, 19);
    const fraction = String(1e8 + this.#nanoseconds).padStart(9, '0');
    return `${time}.${fraction.replace(/0+$/, '')}Z`;
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
      this.#judge.died();
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
    if (outcome.reason === 'CoveredValue') this.#judge.reported(this.#state.covered);
    if (outcome.reason === 'Conflict') this.#judgeConflict(outcome.keys);
    if (!this.#isCalm && !random.chance(0.4)) return;
    const { held } = this.#state;
    if (held === undefined) return;
    const shown = this.#mount.keys.get(PATH)?.versions.get(held.version)?.data ?? {};
    this.#judge.shown(shown, this.#values);
    this.#resolution = random.chance(0.5)
      ? { winner: 'git', id: held.commit }
      : { winner: 'store', id: String(held.version) };
  }

  /** Where keys stand for themselves and the store tells the truth, so does a conflict. */
  #judgeConflict(keys: readonly string[]): void {
    const { stale, recreates, forgets, race } = this.#options;
    const isPlain = this.#policy.merge === 'keys' && this.#policy.direction === 'Both';
    if (!isPlain || stale || recreates || forgets || race) return;
    const live = this.#mount.live(PATH);
    const stored = this.#mount.keys.get(PATH);
    if (live === undefined || stored === undefined) return;
    for (const key of keys) this.#judge.conflict(this.#values.get(key), live[key], stored);
  }

  #editGit(): void {
    const { random } = this.#options;
    if (random.chance(0.06)) {
      this.#userCommits(undefined);
      return;
    }
    const isEmptied = random.chance(0.04);
    const values = new Map(isEmptied ? [] : this.#values);
    for (const key of isEmptied ? [] : KEYS) {
      if (!random.chance(0.4)) continue;
      if (random.chance(0.15)) values.delete(key);
      else values.set(key, this.#value('git'));
    }
    this.#userCommits(values);
  }

  #editStore(): void {
    const { random, recreates = false } = this.#options;
    const dice = random.next();
    if (dice < 0.08) this.#mount.deleteLatest(PATH);
    else if (dice < 0.14) this.#mount.undeleteLatest(PATH);
    else if (dice < 0.2 && recreates) this.#recreate();
    else if (dice < 0.23 && recreates) this.#mount.removeKey(PATH);
    else if (dice < 0.3) this.#mount.put(PATH, Object.fromEntries(this.#values));
    else if (dice < 0.34) this.#mount.put(PATH, {});
    else this.#mount.put(PATH, this.#edited(this.#mount.live(PATH) ?? {}));
  }

  /** Between the daemon's read and its write; what check-and-set does not see comes first. */
  #race(): void {
    const { random, recreates } = this.#options;
    if (this.#happens(this.#options.race)) {
      if (this.#mount.live(PATH) === undefined && random.chance(0.5)) {
        this.#mount.undeleteLatest(PATH);
      } else this.#editStore();
    }
    if (this.#happens(this.#options.race) && recreates === true) this.#recreate();
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

  #userCommits(values: ReadonlyMap<string, string> | undefined): void {
    this.#judge.gitGot(values ?? new Map());
    this.#commit(values);
  }

  #commit(values: ReadonlyMap<string, string> | undefined): string {
    const commit = `c${this.#git.length + 1}`;
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
    const { method, path } = request;
    const isWrite = method !== 'GET' && /\/(data|delete|undelete)\//.test(path);
    this.#point();
    if (isWrite) this.#race();
    else if (this.#happens((this.#options.race ?? 0) / 8)) this.#editGit();
    this.#isOurs = isWrite;
    const response = this.#store.handle(request);
    this.#isOurs = false;
    this.#point();
    if (this.#happens(this.#options.lost)) throw new TransportError('cut', true);
    return response;
  }

  #gitSide(): GitSide {
    return {
      read: async () => {
        this.#point();
        const { commit, values } = this.#head;
        return values && { commit, values: bytes(values) };
      },
      change: async (change) => {
        this.#point();
        if (this.#happens(this.#options.race)) this.#editGit();
        const commit = this.#applied(change);
        this.#point();
        return commit;
      },
      remove: async (seen) => {
        this.#point();
        const isRemoved = this.#removed(seen);
        this.#point();
        return isRemoved;
      },
      history: async (since) => {
        const at = this.#git.findIndex(({ commit }) => commit === since);
        return this.#git.slice(at + 1, -1).map(({ values }) => bytes(values ?? new Map()));
      },
    };
  }

  #applied({ seen, set, remove }: GitChange): string | undefined {
    if (seen.commit !== this.#head.commit) return undefined;
    const values = new Map(this.#values);
    for (const key of remove) values.delete(key);
    for (const [key, value] of set) values.set(key, Buffer.from(value).toString());
    this.#judge.pulled(this.#values, values);
    return this.#commit(values);
  }

  #removed(seen: GitRead): boolean {
    if (seen.commit !== this.#head.commit) return false;
    // Where answers are old no number of them is proof.
    this.#judge.removed(this.#values, this.#options.stale ? undefined : this.#mount.live(PATH));
    this.#commit(undefined);
    return true;
  }

  #memory(): SyncMemory {
    return {
      load: async () => this.#state,
      save: async (state) => {
        this.#point();
        this.#state = state;
        if (state.base === undefined && this.#head.values === undefined) this.#judge.forgotten();
        this.#point();
      },
    };
  }
}

function bytes(values: ReadonlyMap<string, string>): Map<string, Uint8Array> {
  return new Map([...values].map(([key, value]) => [key, Buffer.from(value)]));
}

function shownAs(values: Values): string {
  return JSON.stringify(Object.entries(values).sort());
}

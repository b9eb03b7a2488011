/** What everybody who takes part in one run shares: the replicas, the names, and the record. */
import { API } from '../../support/daemon.ts';
import type { Operation } from '../../support/linearizability.ts';
import type { Random } from '../../support/random.ts';
import type { Replica } from '../../support/replica.ts';
import type { ReplicaSet } from '../../support/replicas.ts';
import type { Input, Output } from '../object-model.ts';

export const TEAMS = `${API}/teams`;
export const MERGE_PATCH = 'application/merge-patch+json';

/** `lost`: acknowledged and gone. `doubled`: done twice. `stale`: a fresh read of before. */
export type Harm = 'lost' | 'doubled' | 'stale' | 'other';

export interface Violation {
  readonly harm: Harm;
  readonly text: string;
}

export interface Recorded extends Operation<Input, Output> {
  readonly name: string;
  /** Of writes of the API: the idempotency key. Of pushes: the commit. */
  readonly key: string | undefined;
  /** As the answer said. */
  readonly commit: string | undefined;
  /** How the last try ended, for people. */
  readonly end: string;
}

export class Scene {
  readonly set: ReplicaSet;
  readonly seed: number;
  readonly random: Random;
  readonly names: readonly string[];
  readonly operations: Recorded[] = [];
  readonly violations: Violation[] = [];
  /** Replicas that nobody should begin to talk to: a load balancer would have noticed. */
  readonly away = new Set<Replica>();
  /** Of everything that was sent, in whatever run. */
  readonly keys: Set<string>;
  /** Commits that were surely not taken. */
  readonly refused = new Set<string>();
  pushes = 0;
  pushesLost = 0;
  over = false;
  /** etcd was put back: what was written since has another version, once. */
  isPutBack = false;
  #marks = 0;

  constructor(of: { set: ReplicaSet; seed: number; random: Random; keys: Set<string> }) {
    this.set = of.set;
    this.seed = of.seed;
    this.random = of.random;
    this.keys = of.keys;
    this.names = ['one', 'two', 'three', 'four'].map((name) => `${name}-${of.seed}`);
  }

  /** A text that no other write has. */
  mark(): string {
    return `m${this.seed}-${this.#marks++}`;
  }

  key(): string {
    const key = `k${this.seed}-${this.#marks++}`;
    this.keys.add(key);
    return key;
  }

  violation(text: string, harm: Harm = 'other'): void {
    this.violations.push({ harm, text });
  }

  /** One that seems to work; any when none does. */
  somewhere(except?: Replica): Replica {
    const { replicas } = this.set;
    const running = replicas.filter((one) => one.isRunning && !this.away.has(one));
    const others = running.filter((one) => one !== except);
    const choice = others.length > 0 ? others : running.length > 0 ? running : replicas;
    return this.random.pick(choice);
  }
}

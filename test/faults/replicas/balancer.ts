/** Knows which replicas are ready, as a load balancer or the endpoints of a Service do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../../support/replica.ts';
import type { ReplicaSet } from '../../support/replicas.ts';
import { Asker } from './ask.ts';

const LOOK_EVERY_MS = 100;

export class Balancer {
  readonly #set: ReplicaSet;
  readonly #asker = new Asker();
  readonly #ready = new Set<Replica>();
  readonly #looking: Promise<void>[];
  #isOver = false;
  #turn = 0;

  constructor(set: ReplicaSet) {
    this.#set = set;
    this.#looking = set.replicas.map((replica) => this.#look(replica));
  }

  isReady(replica: Replica): boolean {
    return this.#ready.has(replica);
  }

  async untilReady(replica: Replica): Promise<void> {
    while (!this.#isOver && !this.isReady(replica)) await sleep(LOOK_EVERY_MS);
  }

  /** One after the other; undefined: none is ready. */
  next(): Replica | undefined {
    const ready = this.#set.replicas.filter((one) => this.isReady(one));
    this.#turn += 1;
    return ready[this.#turn % Math.max(1, ready.length)];
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#looking);
    this.#asker.close();
  }

  async #look(replica: Replica): Promise<void> {
    while (!this.#isOver) {
      if (await this.#answers(replica)) this.#ready.add(replica);
      else this.#ready.delete(replica);
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #answers(replica: Replica): Promise<boolean> {
    if (!replica.isRunning) return false;
    const question = { path: '/readyz', token: this.#set.token, timeoutMs: 2_000 };
    const answer = await this.#asker.ask(replica, question).catch(() => undefined);
    return answer?.code === 200;
  }
}

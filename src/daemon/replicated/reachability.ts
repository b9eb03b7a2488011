/**
 * Checks if peers reach the address that the leader advertises. Every replica probes it, the leader too,
 * and reports if its last probe was answered. A leader that neither a peer nor itself reaches steps
 * down: its lease in etcd says nothing about the network between the replicas.
 */
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { deadline } from '../../apimachinery/index.ts';
import { PEER_NAME, type PeerIdentity, type ReplicaCoordination } from '../../replication/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export interface ReachabilityOptions {
  readonly link: Pick<ReplicaCoordination, 'leader' | 'replicas' | 'stepDown'>;
  /** Id of this replica. */
  readonly self: string;
  /** Address at which other replicas reach this one. */
  readonly address: { readonly host: string; readonly port: number };
  readonly addressOf: (peer: string) => { readonly host: string; readonly port: number };
  readonly identity: PeerIdentity;
  readonly logger: Logger;
}

/** Path on the peer listener. */
export const ALIVE_PATH = '/peer/alive';
/** The same path, for a replica whose last probe was answered. */
export const ANSWERED_PATH = `${ALIVE_PATH}/answered`;

const ASK_EVERY_MS = 500;
const ANSWER_MS = 1_000;
const FAILURES = 3;
/** Shortest time between two hand-overs while no replica reaches another. */
const STEP_DOWN_EVERY_MS = 60_000;

export class Reachability {
  readonly #options: ReachabilityOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #failures = 0;
  #term: bigint | undefined;
  #isHeard = false;
  #isAnswered = false;
  /** Consecutive probes that the leader of this term did not answer. */
  #unanswered = 0;
  #steppedDown = Number.NEGATIVE_INFINITY;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Call when another replica has reached this one. */
  askedByPeer(): void {
    this.#isHeard = true;
  }

  /** False: the leader did not answer the last probes of this replica. */
  get reachesLeader(): boolean {
    return this.#unanswered < FAILURES || this.#options.link.leader?.term !== this.#term;
  }

  /** True if this replica reaches the address that it advertises. */
  async reachesItself(): Promise<boolean> {
    return await this.#ask(this.#options.address);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#round();
      await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #round(): Promise<void> {
    const { link, self, address, addressOf } = this.#options;
    const { leader } = link;
    if (leader === undefined) return;
    const isOwn = leader.id === self;
    this.#isHeard = false;
    const isAnswered = await this.#ask(isOwn ? address : addressOf(leader.peer));
    this.#isAnswered = isAnswered && !isOwn;
    if (leader.term !== this.#term || isAnswered || this.#isHeard) this.#failures = 0;
    else this.#failures += 1;
    // A leader in the same process is reached without a network.
    if (isAnswered || isOwn) this.#unanswered = 0;
    else this.#unanswered = leader.term === this.#term ? this.#unanswered + 1 : 1;
    this.#term = leader.term;
    if (isOwn && this.#failures >= FAILURES) this.#stepDown(leader.peer);
  }

  #stepDown(peer: string): void {
    const { link, self, logger } = this.#options;
    const now = performance.now();
    const isAlone = link.replicas.every(({ id }) => id === self);
    if (isAlone || this.#closing.signal.aborted) return;
    if (now - this.#steppedDown < STEP_DOWN_EVERY_MS) return;
    this.#steppedDown = now;
    const remedy = 'check --advertise-peer and the network between the replicas';
    logger.error({ peer, remedy }, 'No replica reaches this leader: another replica should lead');
    link.stepDown();
  }

  async #ask(at: { readonly host: string; readonly port: number }): Promise<boolean> {
    const { ca, cert, key } = this.#options.identity;
    const signal = deadline(ANSWER_MS, this.#closing.signal);
    return await new Promise((resolve) => {
      const asked = request({
        ...{ ...at, ca, cert, key, servername: PEER_NAME, agent: false, signal },
        path: this.#isAnswered ? ANSWERED_PATH : ALIVE_PATH,
      });
      asked.on('error', () => resolve(false));
      asked.once('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode === 204);
      });
      asked.end();
    });
  }
}

/**
 * Current role of a replica: follower, or leader for a term. The leader is opened and closed in this
 * process while the rest of the replica continues.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred, describeProgress, type ProgressState } from '../../concurrency/index.ts';
import {
  aborted,
  type LeaderContext,
  type Leading,
  type LogSize,
  type Term,
} from '../../replication/index.ts';
import { handlePeer, type PeerService } from '../../server/index.ts';
import type { Writer } from '../../state/index.ts';
import { type Logger, type RoleSnapshot, SlowSteps } from '../../telemetry/index.ts';
import { saveActivity } from '../access/last-uses.ts';
import type { Leader } from './leader.ts';

export interface RoleOptions {
  readonly logger: Logger;
  /** See `Leading`. */
  readonly eligible: Leading['eligible'];
  /** Creates the shared files that only the first leader of a platform creates. */
  readonly found: (term: Term) => Promise<void>;
  readonly open: (term: Term, steps: Pick<SlowSteps, 'begin'>) => Promise<Leader>;
  /** Ends the process when the leader cannot be closed. */
  readonly exit: (reason: string) => void;
  readonly limits?: Partial<RoleLimits>;
}

export interface RoleLimits {
  /** Time of a takeover without progress, after which the replica gives the term up. */
  readonly stallMs: number;
  /** Time limit to close a leader, or a takeover that was given up. */
  readonly closeMs: number;
}

/**
 * A limit of the whole takeover would fail large repositories, whose history takes as long as it takes.
 * Steps that take long are counted, and each process of git has a deadline of its own.
 */
const LIMITS: RoleLimits = { stallMs: 15 * 60_000, closeMs: 10_000 };

export class Role implements Leading {
  readonly eligible: Leading['eligible'];
  readonly #options: RoleOptions;
  readonly #limits: RoleLimits;
  /** Resolves when the takeover that was given up last has ended. */
  #abandoned: Promise<void> | undefined;
  #current: { readonly leader: Leader; readonly term: Term } | undefined;
  #isResigning = false;
  #terms = 0;
  #takeoverSeconds: number | undefined;
  #logBytes: number | undefined;
  #forcedTrims = 0;

  constructor(options: RoleOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.eligible = async (signal) => {
      await Promise.race([this.#abandoned, aborted(signal)]);
      await options.eligible(signal);
    };
  }

  /** The leader, while this replica accepts writes. */
  get leader(): Leader | undefined {
    const current = this.#current;
    return current?.term.isHeld() === true && !this.#isResigning ? current.leader : undefined;
  }

  /** Read index, while this replica leads. */
  get writer(): Writer | undefined {
    return this.leader?.writer;
  }

  get counts(): Pick<RoleSnapshot, 'terms' | 'takeoverSeconds' | 'logBytes' | 'forcedTrims'> {
    return {
      terms: this.#terms,
      takeoverSeconds: this.#takeoverSeconds,
      logBytes: this.leader && this.#logBytes,
      forcedTrims: this.#forcedTrims,
    };
  }

  /** For metrics. */
  trimmed({ bytes, isForced }: LogSize): void {
    this.#logBytes = bytes;
    if (isForced) this.#forcedTrims += 1;
  }

  /** Answers requests for the leader, or refuses them while this replica does not lead. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const { leader } = this;
    if (handlePeer(this.#peer(leader), request, response)) return;
    leader?.handle(request, response);
  }

  async run(term: Term, by: LeaderContext): Promise<void> {
    const started = performance.now();
    const { logger } = this.#options;
    const leader = await this.#takeOver(term);
    this.#current = { leader, term };
    this.#isResigning = false;
    try {
      await by.ready();
      this.#terms += 1;
      this.#takeoverSeconds = (performance.now() - started) / 1000;
      const milliseconds = Math.round(performance.now() - started);
      logger.info({ term: String(term.number), milliseconds }, 'Leading');
      await aborted(term.signal, by.resigning);
    } finally {
      this.#isResigning = true;
      await this.#close(leader);
      this.#current = undefined;
    }
  }

  async #takeOver(term: Term): Promise<Leader> {
    const { found, open, logger } = this.#options;
    const { stallMs } = this.#limits;
    const stalled = deferred<never>();
    const onStall = (state: ProgressState): void => {
      stalled.reject(new Error(`no progress for ${stallMs / 1000} s: ${describeProgress(state)}`));
    };
    const steps = new SlowSteps(logger, 'Taking over', { stallMs, onStall });
    const opening = async (): Promise<Leader> => {
      steps.begin('the shared files of a new platform');
      await found(term);
      return await open(term, steps);
    };
    const opened = opening();
    stalled.promise.catch(() => {
      // The steps that are left see it, and change nothing any more.
      term.end();
      const late = opened.then((leader) => leader.close()).catch(() => undefined);
      this.#abandoned = this.#orExit(late, 'A takeover without progress did not end');
    });
    try {
      return await Promise.race([opened, stalled.promise]);
    } finally {
      steps.end();
    }
  }

  async #close(leader: Leader): Promise<void> {
    await this.#orExit(leader.close(), 'The leader did not close in time');
  }

  async #orExit(ended: Promise<void>, reason: string): Promise<void> {
    const limit = new AbortController();
    const late = sleep(this.#limits.closeMs, undefined, { signal: limit.signal }).then(
      () => this.#options.exit(reason),
      () => undefined,
    );
    await ended;
    limit.abort();
    await late;
  }

  #peer(leader: Leader | undefined): PeerService {
    const platform = leader?.service.platform;
    return {
      isHeld: () => leader !== undefined && this.leader === leader,
      version: () => platform?.store.resourceVersion ?? 0,
      noteUses: async (uses) => {
        if (platform !== undefined) await saveActivity(platform, uses);
      },
    };
  }
}

/**
 * Asks providers again who people are, while their keys are in use: in the background, once for each
 * key at a time, and never all at once. What the provider takes back is gone within the hour; what it
 * cannot say now keeps for a day (reference: identity, section 3.7).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { backoffAfter } from '../concurrency/index.ts';
import type { Accounts, PersistedIdentity } from './accounts.ts';
import type { KeepConnectorData } from './connector.ts';
import type { SignIn } from './sign-in.ts';
import { SignInError } from './sign-in-error.ts';

export interface RefreshOptions {
  readonly signIn: Pick<SignIn, 'admit' | 'connectors'>;
  readonly accounts: Accounts;
  readonly clock: { now(): number };
  /** Log lines; never a secret. */
  readonly tell: (event: RefreshEvent) => void;
  /** Between 0 and 1; random when absent. */
  readonly jitter?: () => number;
}

export interface RefreshEvent {
  readonly accessKey: string;
  readonly outcome: 'refreshed' | 'ended' | 'later';
  /** Why not. */
  readonly reason?: string;
  readonly problem?: string;
}

/** When a key is looked at next, and how it went before. */
interface Course {
  at: number;
  failures: number;
  /** Since when the provider says nothing; undefined: it said something last time. */
  failingSince: number | undefined;
}

const EVERY_MS = 30 * 60_000;
const BACKOFF = { firstMs: 60_000, lastMs: EVERY_MS };
const JITTER_MS = 5 * 60_000;
const GIVE_UP_AFTER_MS = 24 * 3_600_000;
const CLOSE_WITHIN_MS = 2_000;
const MOST_AT_ONCE = 16;
const BUSY_MS = 10_000;
const MOST_COURSES = 100_000;

export class IdentityRefresher {
  readonly #options: RefreshOptions;
  readonly #courses = new Map<string, Course>();
  readonly #running = new Set<Promise<void>>();
  /** Tokens that a provider is being asked with: keys of programs have those of another key. */
  readonly #asked = new Set<string>();
  readonly #closing = new AbortController();

  constructor(options: RefreshOptions) {
    this.#options = options;
  }

  /** Called at every use of a key, by its name; returns at once. */
  used(key: string): void {
    const now = this.#options.clock.now();
    const course = this.#courses.get(key) ?? this.#begin(key, now);
    if (now < course.at || this.#closing.signal.aborted) return;
    if (this.#running.size >= MOST_AT_ONCE) {
      course.at = now + this.#jittered(BUSY_MS);
      return;
    }
    // Nobody else begins while this is under way.
    course.at = Number.POSITIVE_INFINITY;
    const running = this.#refresh(key, course).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // A provider that does not answer holds nobody up: what it says is asked for again.
    const patience = new AbortController();
    const late = delay(CLOSE_WITHIN_MS, undefined, { signal: patience.signal }).catch(
      () => undefined,
    );
    await Promise.race([this.idle(), late]);
    patience.abort();
  }

  #begin(key: string, now: number): Course {
    if (this.#courses.size >= MOST_COURSES) this.#courses.clear();
    const last = this.#options.accounts.refreshedAt(key);
    // A key that has no identity is looked at now and then: the user of it may have another that has.
    const at = (last ?? now) + this.#next();
    const course: Course = { at, failures: 0, failingSince: undefined };
    this.#courses.set(key, course);
    return course;
  }

  /** Never rejects. */
  async #refresh(key: string, course: Course): Promise<void> {
    const { accounts, clock, tell } = this.#options;
    const refreshed = accounts.identityToRefresh(key);
    if (refreshed === undefined) {
      course.at = clock.now() + this.#next();
      return;
    }
    const { name, ...kept } = refreshed;
    const last = accounts.refreshedAt(name);
    if (last !== undefined && clock.now() - last < EVERY_MS) {
      // Another key with the same tokens was used before.
      course.at = last + this.#next();
      return;
    }
    const tokens = JSON.stringify(kept);
    if (this.#asked.has(tokens)) {
      course.at = clock.now() + this.#jittered(BUSY_MS);
      return;
    }
    this.#asked.add(tokens);
    try {
      await this.#ask(name, kept);
      this.#courses.set(key, {
        at: clock.now() + this.#next(),
        failures: 0,
        failingSince: undefined,
      });
      tell({ accessKey: name, outcome: 'refreshed' });
    } catch (error) {
      const failure = asFailure(error);
      const { reason, message: problem } = failure;
      const since = course.failingSince ?? clock.now();
      const isOver = failure.isFinal || clock.now() - since >= GIVE_UP_AFTER_MS;
      const left = isOver ? await accounts.end(name).then(() => undefined, asFailure) : undefined;
      course.failures += 1;
      course.failingSince = since;
      course.at = clock.now() + this.#retry(course.failures);
      const also = left === undefined ? '' : `; ${left.message}`;
      tell({
        accessKey: name,
        outcome: isOver ? 'ended' : 'later',
        reason,
        problem: problem + also,
      });
    } finally {
      this.#asked.delete(tokens);
    }
  }

  async #ask(name: string, { connector: id, provided }: PersistedIdentity): Promise<void> {
    const { signIn, accounts } = this.#options;
    const use = await signIn.connectors.use(id).catch((error: unknown) => {
      // Whoever took the connector away may put it back.
      throw asTransient(error);
    });
    try {
      const { connector } = use;
      if (connector.refresh === undefined) return;
      const keep: KeepConnectorData = async (connectorData) =>
        await accounts.keep(name, { ...provided, connectorData });
      const now = await connector.refresh(provided, this.#closing.signal, keep);
      if (now.userId !== provided.userId) {
        throw new SignInError('the provider tells of somebody else than before', {
          reason: 'other-user',
          code: 403,
        });
      }
      // First of all what only we have: the old tokens may be void.
      if (now.connectorData !== undefined) await keep(now.connectorData);
      const identity = signIn.admit(connector, now);
      // Handed back as they were known, groups are those of this login, and maybe older than others.
      await accounts.refresh(name, identity, now.groups !== provided.groups);
    } finally {
      use.release();
    }
  }

  #next(): number {
    return EVERY_MS + this.#jitter() * JITTER_MS;
  }

  #retry(failures: number): number {
    return backoffAfter(failures, BACKOFF, () => this.#jitter());
  }

  #jittered(milliseconds: number): number {
    return milliseconds * (0.5 + this.#jitter() / 2);
  }

  #jitter(): number {
    return (this.#options.jitter ?? Math.random)();
  }
}

function asFailure(error: unknown): SignInError {
  return error instanceof SignInError ? error : asTransient(error);
}

function asTransient(error: unknown): SignInError {
  const message = error instanceof Error ? error.message : String(error);
  const reason = error instanceof SignInError ? error.reason : 'internal';
  return new SignInError(message, { reason, code: 503, cause: error });
}

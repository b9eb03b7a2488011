/**
 * Refreshes identities while their keys are in use: in the background, once per key at a time, with a
 * limit on all. An identity that the provider revokes ends within the hour; while the provider cannot
 * answer, it stays valid for a day (reference: identity, section 3.7).
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
  /** Reports events for the log; never a secret. */
  readonly tell: (event: RefreshEvent) => void;
  /** Between 0 and 1; random when absent. */
  readonly jitter?: () => number;
}

export interface RefreshEvent {
  readonly accessKey: string;
  readonly outcome: 'refreshed' | 'ended' | 'later';
  /** Reason of the failure. */
  readonly reason?: string;
  readonly problem?: string;
}

/** Next check of a key, and the results so far. */
interface Course {
  at: number;
  failures: number;
  /** Begin of the current outage of the provider; undefined: the last request was answered. */
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
  /** Tokens in use by a refresh: keys of programs share those of another key. */
  readonly #asked = new Set<string>();
  readonly #closing = new AbortController();

  constructor(options: RefreshOptions) {
    this.#options = options;
  }

  /** Call at every use of a key; returns at once. */
  used(key: string): void {
    const now = this.#options.clock.now();
    const course = this.#courses.get(key) ?? this.#begin(key, now);
    if (now < course.at || this.#closing.signal.aborted) return;
    if (this.#running.size >= MOST_AT_ONCE) {
      course.at = now + this.#jittered(BUSY_MS);
      return;
    }
    // No second refresh of the key starts meanwhile.
    course.at = Number.POSITIVE_INFINITY;
    const running = this.#refresh(key, course).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when no refresh is in progress. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // A slow provider blocks no caller: the refresh is retried later.
    const timer = new AbortController();
    const late = delay(CLOSE_WITHIN_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([this.idle(), late]);
    timer.abort();
  }

  #begin(key: string, now: number): Course {
    if (this.#courses.size >= MOST_COURSES) this.#courses.clear();
    const last = this.#options.accounts.refreshedAt(key);
    // A key without an identity is checked now and then: its user may have another key with one.
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
      // A key that shares the tokens was refreshed before.
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
      // The connector may be configured again.
      throw asTransient(error);
    });
    try {
      const { connector } = use;
      if (connector.refresh === undefined) return;
      const keep: KeepConnectorData = async (connectorData) =>
        await accounts.keep(name, { ...provided, connectorData });
      const now = await connector.refresh(provided, this.#closing.signal, keep);
      if (now.userId !== provided.userId) {
        throw new SignInError('the provider returned another user than before', {
          reason: 'other-user',
          code: 403,
        });
      }
      // Persist the new tokens first: the old ones may be void.
      if (now.connectorData !== undefined) await keep(now.connectorData);
      const identity = signIn.admit(connector, now);
      // Groups that were not refreshed are those of this login, and may be older than those of another.
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

/**
 * Suspensions: parts of the platform that a user has stopped until a time. They are documents of the
 * state, so that they survive a restart and a change of the leader. Each ends by itself.
 */
import { type Clock, isRecord, type JsonObject, rfc3339 } from '../apimachinery/index.ts';
import type { Store } from '../state/index.ts';

/** Parts that can be suspended, and whether one of several can be named. */
export const SUSPENDABLE = { remote: false, 'secret-store': true, tenants: true } as const;
export type Suspendable = keyof typeof SUSPENDABLE;

export interface SuspensionTarget {
  readonly part: Suspendable;
  /** A store or a tenant; absent: all of them. */
  readonly name?: string | undefined;
}

export interface Suspension extends SuspensionTarget {
  readonly user: string;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly until: number;
}

export interface SuspensionChange {
  readonly suspension: Suspension;
  readonly is: 'suspended' | 'resumed' | 'expired';
  /** Absent: the time is over. */
  readonly user?: string;
}

type Listener = (change: SuspensionChange) => void;

/** Key of the state store, next to those of the catalog. */
const DOCUMENT = 'suspensions';
/** Limit of suspensions at one time. */
export const MOST_SUSPENSIONS = 100;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface SuspensionsOptions {
  readonly store: Pick<Store, 'apply' | 'document' | 'flush'>;
  readonly clock: Clock;
}

export class Suspensions {
  readonly #options: SuspensionsOptions;
  readonly #listeners = new Set<Listener>();
  #active: readonly Suspension[];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SuspensionsOptions) {
    this.#options = options;
    const now = options.clock.now();
    const { items } = options.store.document(DOCUMENT) ?? {};
    const saved = Array.isArray(items) ? items.flatMap((item) => readSuspension(item) ?? []) : [];
    this.#active = saved.filter(({ until }) => until > now);
    this.#arm();
  }

  /** In the order in which they began. */
  list(): readonly Suspension[] {
    const now = this.#options.clock.now();
    return this.#active.filter(({ until }) => until > now);
  }

  /** The suspension that stops a part, or one store or tenant of it; undefined: it runs. */
  find(part: Suspendable, name?: string): Suspension | undefined {
    return this.list().find(
      (one) => one.part === part && (one.name === undefined || one.name === name),
    );
  }

  /** Resolves when the suspension is on stable storage. An earlier one of the same target is replaced. */
  async suspend(suspension: Suspension): Promise<void> {
    await this.#save([...this.#others(suspension), suspension]);
    this.#report({ suspension, is: 'suspended', user: suspension.user });
  }

  /** Returns the ended suspension; undefined: there was none of this target. */
  async resume(target: SuspensionTarget, user: string): Promise<Suspension | undefined> {
    const suspension = this.list().find((one) => isSame(one, target));
    if (suspension === undefined) return undefined;
    await this.#save(this.#others(target));
    this.#report({ suspension, is: 'resumed', user });
    return suspension;
  }

  /** Listeners are synchronous and must not throw. Returns a function that removes the listener. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  #others(target: SuspensionTarget): Suspension[] {
    return this.list().filter((one) => !isSame(one, target));
  }

  async #save(active: readonly Suspension[]): Promise<void> {
    this.#active = active;
    this.#arm();
    const { store } = this.#options;
    const document = active.length === 0 ? undefined : { items: active.map(asJson) };
    store.apply([], { [DOCUMENT]: document });
    await store.flush();
  }

  #report(change: SuspensionChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Wakes at the next expiry. Expired suspensions leave the document with the next write. */
  #arm(): void {
    clearTimeout(this.#timer);
    const next = Math.min(...this.#active.map(({ until }) => until));
    if (next === Number.POSITIVE_INFINITY) return;
    const wait = Math.min(Math.max(0, next - this.#options.clock.now()), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#expire(), wait).unref();
  }

  #expire(): void {
    const now = this.#options.clock.now();
    const expired = this.#active.filter(({ until }) => until <= now);
    this.#active = this.#active.filter(({ until }) => until > now);
    this.#arm();
    for (const suspension of expired) this.#report({ suspension, is: 'expired' });
  }
}

/** `remote`, `tenants`, `tenants/blue`. */
export function suspensionId({ part, name }: SuspensionTarget): string {
  return name === undefined ? part : `${part}/${name}`;
}

export function describeSuspension({ user, reason, until }: Suspension): string {
  return `suspended by ${user} until ${rfc3339(until)}: ${reason}`;
}

function isSame(one: SuspensionTarget, other: SuspensionTarget): boolean {
  return one.part === other.part && one.name === other.name;
}

function asJson({ part, name, user, reason, since, until }: Suspension): JsonObject {
  return { part, ...(name === undefined ? {} : { name }), user, reason, since, until };
}

/** Undefined for an entry of another shape: a newer version may have written it. */
function readSuspension(value: unknown): Suspension | undefined {
  if (!isRecord(value)) return undefined;
  const { part, name, user, reason, since, until } = value;
  if (typeof part !== 'string' || !isSuspendable(part)) return undefined;
  if (typeof user !== 'string' || typeof reason !== 'string') return undefined;
  if (typeof since !== 'number' || typeof until !== 'number') return undefined;
  return { part, ...(typeof name === 'string' ? { name } : {}), user, reason, since, until };
}

export function isSuspendable(part: string): part is Suspendable {
  return Object.hasOwn(SUSPENDABLE, part);
}

/**
 * Registry for writes that may be repeated. A proxy that does not know the outcome of a request
 * sends it again with the same idempotency key. The repetition gets the result of the first request
 * and makes no second commit. A key with a different request is refused.
 */

import { LRUCache } from 'lru-cache';
import {
  type KubeObject,
  keyString,
  type ObjectKey,
  StatusError,
  valueAt,
} from '../../apimachinery/index.ts';
import { StorageError } from '../../git/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ObjectRegistry } from '../registry.ts';
import type { ApplyRequest } from './apply.ts';
import type { CreateRequest } from './create.ts';
import type { DeleteRequest } from './delete.ts';
import { type RecentWrite, RecentWrites } from './recent-writes.ts';
import { UnresolvedIdempotencyKeys } from './unresolved-idempotency-keys.ts';
import type { UpdateRequest } from './update.ts';
import {
  type DeleteResult,
  keyOf,
  type Target,
  type WriteOptions,
  type WriteResult,
} from './write-context.ts';

export interface IdempotentParts {
  readonly registry: Required<ObjectRegistry>;
  readonly repository: { readonly gitDir: string; head(): Promise<string | undefined> };
  /** Reads an object from a commit of the branch, once readers see the commit. */
  readonly committed: (kind: Kind, key: ObjectKey, commit: string) => Promise<Committed>;
}

export interface Committed {
  /** The object in the commit, without a resourceVersion; undefined: it is not in the commit. */
  readonly object: KubeObject | undefined;
  /** No earlier commit has the object: this one created it. */
  readonly isFirst: boolean;
  /** No later commit changed the object: readers see this version. */
  readonly isNewest: boolean;
}

/** Cached results for repetitions; some contain values that are shown only once. */
const MAX_RESULTS = 256;
/** JSON of their objects. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
/**
 * Lifetime of a refusal, in milliseconds. A connection that was cut off delivers a request minutes
 * later: Linux sends the data of a closed socket again for about 100 s.
 */
const REFUSAL_MS = 5 * 60_000;
/** Characters of all refusals. */
const MAX_REFUSALS = 8 * 1024 * 1024;

/** Reads recent writes from the branch, including those of former leaders. */
export async function openIdempotentRegistry(
  parts: IdempotentParts,
): Promise<Required<ObjectRegistry>> {
  const { repository } = parts;
  const recent = new RecentWrites();
  await recent.read(repository, await repository.head());
  return new IdempotentRegistry(parts, recent);
}

interface Wanted extends Target {
  readonly options: WriteOptions;
  readonly verbs: readonly string[];
}

/** The result of an earlier write with that verb, for its repetition. */
type Again<R extends WriteResult> = (made: WriteResult, verb: string) => R;

const unchanged: Again<WriteResult> = (made) => made;

/** A cached result, or one in progress. */
interface CachedResult {
  readonly user: string;
  readonly idempotencyKey: string;
  readonly digest: string | undefined;
  readonly result: Promise<WriteResult>;
}

/** An answer that is final: the request was not carried out and must not be later. */
interface Refusal {
  readonly digest: string;
  readonly error: StatusError;
}

class IdempotentRegistry implements Required<ObjectRegistry> {
  readonly #registry: Required<ObjectRegistry>;
  readonly #committed: IdempotentParts['committed'];
  readonly #recent: RecentWrites;
  readonly #unresolved: UnresolvedIdempotencyKeys;
  readonly #running = new Map<string, CachedResult>();
  /** Those that are dropped follow from their commits, where they changed something. */
  readonly #results = new LRUCache<string, CachedResult>({
    max: MAX_RESULTS,
    maxSize: MAX_RESULT_BYTES,
  });
  readonly #refusals = new LRUCache<string, Refusal>({
    ttl: REFUSAL_MS,
    maxSize: MAX_REFUSALS,
    sizeCalculation: ({ error }, id) => id.length + JSON.stringify(error.toStatus()).length,
  });

  constructor({ registry, repository, committed }: IdempotentParts, recent: RecentWrites) {
    this.#registry = registry;
    this.#committed = committed;
    this.#recent = recent;
    this.#unresolved = new UnresolvedIdempotencyKeys(async () =>
      recent.read(repository, await repository.head()),
    );
  }

  get(target: Target): StoredObject {
    return this.#registry.get(target);
  }

  create(request: CreateRequest): Promise<WriteResult> {
    const wanted = { ...request, name: nameIn(request.body), verbs: CREATES };
    return this.#once(wanted, () => this.#registry.create(request), unchanged);
  }

  update(request: UpdateRequest): Promise<WriteResult> {
    const wanted = { ...request, verbs: UPDATES };
    return this.#once(wanted, () => this.#registry.update(request), unchanged);
  }

  apply(request: ApplyRequest): Promise<WriteResult & { created: boolean }> {
    const wanted = { ...request, verbs: [...CREATES, ...UPDATES] };
    const again: Again<WriteResult & { created: boolean }> = (made, verb) => {
      return { ...made, created: CREATES.includes(verb) };
    };
    return this.#once(wanted, () => this.#registry.apply(request), again);
  }

  delete(request: DeleteRequest): Promise<DeleteResult> {
    const wanted = { ...request, verbs: DELETES };
    const again: Again<DeleteResult> = (made) => ({ ...made, gone: made.stored === undefined });
    return this.#once(wanted, () => this.#registry.delete(request), again);
  }

  #once<R extends WriteResult>(wanted: Wanted, run: () => Promise<R>, again: Again<R>): Promise<R> {
    const { options } = wanted;
    const { idempotencyKey, user, dryRun } = options;
    if (idempotencyKey === undefined || idempotencyKey === '' || dryRun) return run();
    if (this.#unresolved.has(user.name, idempotencyKey)) {
      return this.#unresolved.settle().then(() => this.#once(wanted, run, again));
    }
    if (this.#isOfAnother(options)) return Promise.reject(idempotencyKeyReused(idempotencyKey));
    const { verbs } = wanted;
    const key = keyOf(wanted);
    const id = [user.name, idempotencyKey, verbs[0], keyString(key)].join('\0');
    const cached = this.#running.get(id) ?? this.#results.get(id);
    if (cached !== undefined) return cached.result as Promise<R>;
    const refusal = this.#refusals.get(id);
    if (refusal !== undefined && refusal.digest === options.requestDigest) {
      return Promise.reject(refusal.error);
    }
    const found = this.#recent.find(user.name, idempotencyKey, { verbs, key });
    const result =
      found === undefined
        ? run()
        : this.#made(wanted.kind, found).then((made) => (made ? again(made, found.verb) : run()));
    this.#cache(id, { user: user.name, idempotencyKey, digest: options.requestDigest, result });
    result.then(
      (made) => this.#record(wanted, made),
      () => undefined,
    );
    return result;
  }

  /**
   * Records the write for as long as its commit is recent, when its result is not cached any more.
   */
  #record({ options, kind, namespace, verbs }: Wanted, made: WriteResult): void {
    const { idempotencyKey, user, requestDigest: digest } = options;
    const { commit, object } = made;
    const isUpdate = 'created' in made && made.created === false;
    const verb = isUpdate ? UPDATES[0] : verbs[0];
    const name = object.metadata.name ?? '';
    if (commit === undefined || idempotencyKey === undefined || verb === undefined) return;
    const key = keyOf({ kind, namespace, name });
    this.#recent.record({ user: user.name, idempotencyKey, verb, key, commit, digest });
  }

  /**
   * A failed write may be repeated once it is certain that nothing of it was committed. A refused one
   * stays refused: a copy of the request that arrives late must not do what its client was denied.
   */
  #cache(id: string, cached: CachedResult): void {
    this.#running.set(id, cached);
    cached.result.then(
      (made) => {
        this.#running.delete(id);
        this.#results.set(id, cached, { size: bytesOf(made) });
      },
      (error: unknown) => {
        this.#running.delete(id);
        const { user, idempotencyKey, digest } = cached;
        if (mayHaveHappened(error)) this.#unresolved.add(user, idempotencyKey);
        else if (isFinal(error) && digest !== undefined) this.#refusals.set(id, { digest, error });
      },
    );
  }

  /** Covers requests in progress, and those that changed nothing. */
  #isOfAnother({ user, idempotencyKey = '', requestDigest }: WriteOptions): boolean {
    if (requestDigest === undefined) return false;
    if (this.#recent.isOfAnother(user.name, idempotencyKey, requestDigest)) return true;
    return [...this.#running.values(), ...this.#results.values()].some(
      (cached) =>
        cached.idempotencyKey === idempotencyKey &&
        cached.user === user.name &&
        cached.digest !== undefined &&
        cached.digest !== requestDigest,
    );
  }

  /**
   * The result of an earlier write. Later writes may have changed the object, so it is read from
   * the write's commit, without a resourceVersion: that one is not known any more. Undefined: the
   * commit claims to have created the object and did not. A pusher can claim that, and the creator
   * is shown all fields.
   */
  async #made(kind: Kind, { key, verb, commit }: RecentWrite): Promise<WriteResult | undefined> {
    const { group } = kind;
    const { namespace, name } = key;
    const metadata = namespace === '' ? { name } : { name, namespace };
    const bare = { apiVersion: `${group}/${kind.version}`, kind: kind.kind, metadata };
    if (DELETES.includes(verb)) {
      const now = this.#find({ kind, namespace, name });
      const held = now?.terminating === true ? now : undefined;
      return { object: held?.object ?? bare, stored: held, warnings: [], commit };
    }
    const id = keyOf({ kind, namespace, name });
    const { object, isFirst, isNewest } = await this.#committed(kind, id, commit);
    if (CREATES.includes(verb) && !isFirst) return undefined;
    const stored = isNewest ? this.#find({ kind, namespace, name }) : undefined;
    const made = { object: stored?.object ?? object ?? bare, stored, warnings: [], commit };
    // A pushed commit may claim to be an update of another user's object.
    return CREATES.includes(verb) ? made : { ...made, isReplayed: true };
  }

  #find(target: Target): StoredObject | undefined {
    try {
      return this.#registry.get(target);
    } catch {
      return undefined;
    }
  }
}

function bytesOf({ stored, object }: WriteResult): number {
  return stored?.json().length ?? JSON.stringify(object).length;
}

function idempotencyKeyReused(key: string): StatusError {
  const message = `the Idempotency-Key ${JSON.stringify(key)} came with another request before: give each request a key of its own`;
  return new StatusError(422, 'Invalid', message, {});
}

/** A refused write was not committed. A write that failed after its commit may have been. */
function mayHaveHappened(error: unknown): boolean {
  if (error instanceof StorageError) return error.moved;
  return !(error instanceof StatusError);
}

/** True for refusals because of the request; overload and failures ask for a retry. */
function isFinal(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code < 500 && error.code !== 429;
}

const CREATES = ['create'];
const UPDATES = ['update', 'patch', 'rollback'];
const DELETES = ['delete'];

function nameIn(body: unknown): string {
  const name = valueAt(body, ['metadata', 'name']);
  return typeof name === 'string' ? name : '';
}

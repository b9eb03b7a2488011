/**
 * The door for writes that may come twice: a request that a front sends again, because it does not
 * know what became of it, has the key of the first. It is answered with what the first one made, and
 * makes no second commit. A key that comes with a request for something else is refused.
 */

import { keyString } from '../apimachinery/key.ts';
import { idempotencyKeyReused } from '../apimachinery/status-error.ts';
import type { StoredObject } from '../state/store.ts';
import type { ApplyRequest } from './apply.ts';
import type { CreateRequest } from './create.ts';
import type { DeleteRequest } from './delete.ts';
import { RecentWrites } from './recent-writes.ts';
import type { DeleteResult, ObjectRegistry, WriteResult } from './registry.ts';
import type { UpdateRequest } from './update.ts';
import type { Target, WriteOptions } from './write-context.ts';

export interface IdempotentParts {
  readonly registry: Required<ObjectRegistry>;
  readonly repository: { readonly gitDir: string; head(): Promise<string | undefined> };
  readonly clock: { now(): number };
}

/** Results that are at hand for who asks again; some show what is shown only once. */
const KEPT_RESULTS = 256;

/** Reads which writes were made lately, by whoever led then. */
export async function openIdempotentRegistry(
  parts: IdempotentParts,
): Promise<Required<ObjectRegistry>> {
  const { repository, clock } = parts;
  const recent = await RecentWrites.read(repository, await repository.head(), clock.now());
  return new IdempotentRegistry(parts.registry, recent);
}

interface Wanted extends Target {
  readonly options: WriteOptions;
  readonly verbs: readonly string[];
}

/** A result at hand, or on its way. */
interface Kept {
  readonly user: string;
  readonly idempotencyKey: string;
  readonly digest: string | undefined;
  readonly result: Promise<WriteResult>;
}

class IdempotentRegistry implements Required<ObjectRegistry> {
  readonly #registry: Required<ObjectRegistry>;
  readonly #recent: RecentWrites;
  readonly #results = new Map<string, Kept>();

  constructor(registry: Required<ObjectRegistry>, recent: RecentWrites) {
    this.#registry = registry;
    this.#recent = recent;
  }

  get(target: Target): StoredObject {
    return this.#registry.get(target);
  }

  create(request: CreateRequest): Promise<WriteResult> {
    const name = nameIn(request.body);
    return this.#once(
      { ...request, name, verbs: CREATES },
      {
        run: () => this.#registry.create(request),
        again: (made) => made,
      },
    );
  }

  update(request: UpdateRequest): Promise<WriteResult> {
    return this.#once(
      { ...request, verbs: UPDATES },
      {
        run: () => this.#registry.update(request),
        again: (made) => made,
      },
    );
  }

  apply(request: ApplyRequest): Promise<WriteResult & { created: boolean }> {
    return this.#once(
      { ...request, verbs: [...CREATES, ...UPDATES] },
      {
        run: () => this.#registry.apply(request),
        again: (made, verb) => ({ ...made, created: CREATES.includes(verb) }),
      },
    );
  }

  delete(request: DeleteRequest): Promise<DeleteResult> {
    return this.#once(
      { ...request, verbs: DELETES },
      {
        run: () => this.#registry.delete(request),
        again: (made) => ({ ...made, gone: made.stored === undefined }),
      },
    );
  }

  #once<R extends WriteResult>(
    wanted: Wanted,
    work: { run(): Promise<R>; again(made: WriteResult, verb: string): R },
  ): Promise<R> {
    const { options } = wanted;
    const { idempotencyKey, user, dryRun } = options;
    if (idempotencyKey === undefined || idempotencyKey === '' || dryRun) return work.run();
    if (this.#isOfAnother(options)) return Promise.reject(idempotencyKeyReused(idempotencyKey));
    const { kind, namespace, name, verbs } = wanted;
    const key = { group: kind.group, kind: kind.kind, namespace, name };
    const id = [user.name, idempotencyKey, verbs[0], keyString(key)].join('\0');
    const running = this.#results.get(id)?.result as Promise<R> | undefined;
    if (running !== undefined) return running;
    const found = this.#recent.find(user.name, idempotencyKey, { verbs, key });
    if (found !== undefined) {
      return this.#made(wanted, found).then((made) => work.again(made, found.verb));
    }
    const result = work.run();
    this.#keep(id, { user: user.name, idempotencyKey, digest: options.requestDigest, result });
    result.then(
      (made) => this.#note(wanted, made),
      () => undefined,
    );
    return result;
  }

  /** Known for as long as its commit is recent, when its result is not at hand any more. */
  #note({ options, kind, namespace, verbs }: Wanted, made: WriteResult): void {
    const { idempotencyKey, user, requestDigest: digest } = options;
    const { commit, object } = made;
    const isUpdate = 'created' in made && made.created === false;
    const verb = isUpdate ? UPDATES[0] : verbs[0];
    const name = object.metadata.name ?? '';
    if (commit === undefined || idempotencyKey === undefined || verb === undefined) return;
    const key = { group: kind.group, kind: kind.kind, namespace, name };
    this.#recent.note({ user: user.name, idempotencyKey, verb, key, commit, digest });
  }

  /** What failed may be tried again: nothing of it was done. */
  #keep(id: string, kept: Kept): void {
    this.#results.set(id, kept);
    const [oldest] = this.#results.keys();
    if (this.#results.size > KEPT_RESULTS && oldest !== undefined) this.#results.delete(oldest);
    kept.result.catch(() => this.#results.delete(id));
  }

  /** Also of a request that is under way, or that changed nothing. */
  #isOfAnother({ user, idempotencyKey = '', requestDigest }: WriteOptions): boolean {
    if (requestDigest === undefined) return false;
    if (this.#recent.isOfAnother(user.name, idempotencyKey, requestDigest)) return true;
    return [...this.#results.values()].some(
      (kept) =>
        kept.idempotencyKey === idempotencyKey &&
        kept.user === user.name &&
        kept.digest !== undefined &&
        kept.digest !== requestDigest,
    );
  }

  async #made(
    { kind }: Wanted,
    { key, commit }: { key: { namespace: string; name: string }; commit: string },
  ): Promise<WriteResult> {
    const { namespace, name } = key;
    const stored = this.#find({ kind, namespace, name });
    const metadata = namespace === '' ? { name } : { name, namespace };
    const apiVersion = `${kind.group}/${kind.version}`;
    const object = stored?.object ?? { apiVersion, kind: kind.kind, metadata };
    return { object, stored, warnings: [], commit };
  }

  #find(target: Target): StoredObject | undefined {
    try {
      return this.#registry.get(target);
    } catch {
      return undefined;
    }
  }
}

const CREATES = ['create'];
const UPDATES = ['update', 'patch', 'rollback'];
const DELETES = ['delete'];

function nameIn(body: unknown): string {
  const metadata = (body as { metadata?: { name?: unknown } } | null)?.metadata;
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

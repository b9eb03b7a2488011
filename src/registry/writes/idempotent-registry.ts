/**
 * The door for writes that may come twice: a request that a front sends again, because it does not
 * know what became of it, has the key of the first. It is answered with what the first one made, and
 * makes no second commit. A key that comes with a request for something else is refused.
 */

import { LRUCache } from 'lru-cache';
import {
  idempotencyKeyReused,
  type KubeObject,
  keyString,
  type ObjectKey,
  StatusError,
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
import type { DeleteResult, Target, WriteOptions, WriteResult } from './write-context.ts';

export interface IdempotentParts {
  readonly registry: Required<ObjectRegistry>;
  readonly repository: { readonly gitDir: string; head(): Promise<string | undefined> };
  /** What a commit of the branch made of an object, once readers see the commit. */
  readonly committed: (kind: Kind, key: ObjectKey, commit: string) => Promise<Committed>;
}

export interface Committed {
  /** As the commit has it, without a resourceVersion; undefined where it has none. */
  readonly object: KubeObject | undefined;
  /** No commit before has it: it is the making of this one. */
  readonly isFirst: boolean;
  /** No commit after has changed it: readers see what the commit made. */
  readonly isNewest: boolean;
}

/** Results that are at hand for who asks again; some show what is shown only once. */
const KEPT_RESULTS = 256;

/** Reads which writes were made lately, by whoever led then. */
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

interface Work<R extends WriteResult> {
  run(): Promise<R>;
  /** What a write of that verb made before. */
  again(made: WriteResult, verb: string): R;
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
  readonly #committed: IdempotentParts['committed'];
  readonly #recent: RecentWrites;
  readonly #unsure: UnresolvedIdempotencyKeys;
  readonly #results = new LRUCache<string, Kept>({ max: KEPT_RESULTS });

  constructor({ registry, repository, committed }: IdempotentParts, recent: RecentWrites) {
    this.#registry = registry;
    this.#committed = committed;
    this.#recent = recent;
    this.#unsure = new UnresolvedIdempotencyKeys(async () =>
      recent.read(repository, await repository.head()),
    );
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

  #once<R extends WriteResult>(wanted: Wanted, work: Work<R>): Promise<R> {
    const { options } = wanted;
    const { idempotencyKey, user, dryRun } = options;
    if (idempotencyKey === undefined || idempotencyKey === '' || dryRun) return work.run();
    if (this.#unsure.has(user.name, idempotencyKey)) {
      return this.#unsure.settle().then(() => this.#once(wanted, work));
    }
    if (this.#isOfAnother(options)) return Promise.reject(idempotencyKeyReused(idempotencyKey));
    const { kind, namespace, name, verbs } = wanted;
    const key = { group: kind.group, kind: kind.kind, namespace, name };
    const id = [user.name, idempotencyKey, verbs[0], keyString(key)].join('\0');
    const running = this.#results.get(id)?.result as Promise<R> | undefined;
    if (running !== undefined) return running;
    const found = this.#recent.find(user.name, idempotencyKey, { verbs, key });
    const result = found === undefined ? work.run() : this.#again(wanted, work, found);
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

  async #again<R extends WriteResult>(
    { kind }: Wanted,
    work: Work<R>,
    found: RecentWrite,
  ): Promise<R> {
    const made = await this.#made(kind, found);
    return made === undefined ? await work.run() : work.again(made, found.verb);
  }

  /** What failed may be tried again, once it is known that nothing of it was done. */
  #keep(id: string, kept: Kept): void {
    this.#results.set(id, kept);
    kept.result.catch((error: unknown) => {
      this.#results.delete(id);
      if (mayHaveHappened(error)) this.#unsure.add(kept.user, kept.idempotencyKey);
    });
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

  /**
   * What the write made, which others may have changed since: as its commit has it, then, and without
   * a resourceVersion, since nobody knows any more which one it had. Undefined: the commit says that
   * it made the object, and did not. Whoever pushes may say so, and the maker is shown all of it.
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
    const id = { group, kind: kind.kind, namespace, name };
    const { object, isFirst, isNewest } = await this.#committed(kind, id, commit);
    if (CREATES.includes(verb) && !isFirst) return undefined;
    const stored = isNewest ? this.#find({ kind, namespace, name }) : undefined;
    const made = { object: stored?.object ?? object ?? bare, stored, warnings: [], commit };
    // A pushed commit may call itself an update of what others made.
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

/** What was refused was not done; of what broke off behind the commit nobody said that. */
function mayHaveHappened(error: unknown): boolean {
  if (error instanceof StorageError) return error.moved;
  return !(error instanceof StatusError);
}

const CREATES = ['create'];
const UPDATES = ['update', 'patch', 'rollback'];
const DELETES = ['delete'];

function nameIn(body: unknown): string {
  const metadata = (body as { metadata?: { name?: unknown } } | null)?.metadata;
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

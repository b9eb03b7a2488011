/**
 * The door for writes that may come twice: a request that a front sends again, because it does not
 * know what became of it, has the key of the first. It is answered with what the first one made, and
 * makes no second commit. A key that comes with a request for something else is refused.
 */

import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import { jsonEqual, type KubeObject } from '../apimachinery/object.ts';
import { idempotencyKeyReused, StatusError } from '../apimachinery/status-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredObject } from '../state/store.ts';
import type { ApplyRequest } from './apply.ts';
import type { CreateRequest } from './create.ts';
import type { DeleteRequest } from './delete.ts';
import { RecentWrites } from './recent-writes.ts';
import type { ObjectRegistry } from './registry.ts';
import type { UpdateRequest } from './update.ts';
import type { DeleteResult, Target, WriteOptions, WriteResult } from './write-context.ts';

export interface IdempotentParts {
  readonly registry: Required<ObjectRegistry>;
  readonly repository: { readonly gitDir: string; head(): Promise<string | undefined> };
  /** An object as a commit of the branch has it; undefined where that has none. */
  readonly objectAt: (
    kind: Kind,
    key: ObjectKey,
    commit: string,
  ) => Promise<StoredObject | undefined>;
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
  readonly #repository: IdempotentParts['repository'];
  readonly #objectAt: IdempotentParts['objectAt'];
  readonly #recent: RecentWrites;
  /** Keys of users whose writes failed and may be in history all the same. */
  readonly #unsure = new Set<string>();
  readonly #results = new Map<string, Kept>();

  constructor({ registry, repository, objectAt }: IdempotentParts, recent: RecentWrites) {
    this.#registry = registry;
    this.#repository = repository;
    this.#objectAt = objectAt;
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
        again: (made) => ({ ...made, gone: made.object.metadata.uid === undefined }),
      },
    );
  }

  #once<R extends WriteResult>(wanted: Wanted, work: Work<R>): Promise<R> {
    const { options } = wanted;
    const { idempotencyKey, user, dryRun } = options;
    if (idempotencyKey === undefined || idempotencyKey === '' || dryRun) return work.run();
    if (this.#unsure.has(ownerOf(user.name, idempotencyKey))) return this.#surely(wanted, work);
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

  /** What became of it is in history by now, wherever the branch was when it failed. */
  async #surely<R extends WriteResult>(wanted: Wanted, work: Work<R>): Promise<R> {
    const unsure = [...this.#unsure];
    await this.#recent.read(this.#repository, await this.#repository.head());
    for (const owner of unsure) this.#unsure.delete(owner);
    return await this.#once(wanted, work);
  }

  /** What failed may be tried again, once it is known that nothing of it was done. */
  #keep(id: string, kept: Kept): void {
    this.#results.set(id, kept);
    const [oldest] = this.#results.keys();
    if (this.#results.size > KEPT_RESULTS && oldest !== undefined) this.#results.delete(oldest);
    kept.result.catch((error: unknown) => {
      this.#results.delete(id);
      const isRefusal = error instanceof StatusError && error.code < 500;
      if (!isRefusal) this.#unsure.add(ownerOf(kept.user, kept.idempotencyKey));
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
   * a resourceVersion, since nobody knows any more which one it had.
   */
  async #made(
    { kind }: Wanted,
    { key, commit }: { key: { namespace: string; name: string }; commit: string },
  ): Promise<WriteResult> {
    const { namespace, name } = key;
    const { group } = kind;
    const then = await this.#objectAt(kind, { group, kind: kind.kind, namespace, name }, commit);
    if (then === undefined) {
      const metadata = namespace === '' ? { name } : { name, namespace };
      const object = { apiVersion: `${group}/${kind.version}`, kind: kind.kind, metadata };
      return { object, warnings: [], commit };
    }
    const now = this.#find({ kind, namespace, name });
    if (now === undefined || !isAsMade(now.object, then.object)) {
      return { object: then.object, warnings: [], commit };
    }
    return { object: now.object, stored: now, warnings: [], commit };
  }

  #find(target: Target): StoredObject | undefined {
    try {
      return this.#registry.get(target);
    } catch {
      return undefined;
    }
  }
}

/** Whether nobody has asked for anything else since. */
function isAsMade({ metadata: now }: KubeObject, { metadata: then }: KubeObject): boolean {
  return (
    now.uid === then.uid &&
    now.generation === then.generation &&
    jsonEqual(now.labels, then.labels) &&
    jsonEqual(now.annotations, then.annotations)
  );
}

function ownerOf(user: string, idempotencyKey: string): string {
  return `${user}\0${idempotencyKey}`;
}

const CREATES = ['create'];
const UPDATES = ['update', 'patch', 'rollback'];
const DELETES = ['delete'];

function nameIn(body: unknown): string {
  const metadata = (body as { metadata?: { name?: unknown } } | null)?.metadata;
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

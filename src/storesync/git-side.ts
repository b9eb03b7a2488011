/**
 * One secret as git has it, for the sync: read from what is served, changed by commits of a bot. A
 * change is decided in its turn, on exactly the values that the sync has seen, or not made.
 */
import { describeKey, type ObjectKey } from '../apimachinery/key.ts';
import { isRecord, type KubeObject } from '../apimachinery/object.ts';
import { SUPERUSER_GROUP, type User } from '../apimachinery/request.ts';
import { StatusError } from '../apimachinery/status-error.ts';
import type { History } from '../history/history.ts';
import type { Kind } from '../kinds/kind.ts';
import { secretDataOf } from '../kinds/secret-data.ts';
import type { Branch } from '../registry/branch.ts';
import { ownChange } from '../registry/own-writes.ts';
import type { ObjectRegistry } from '../registry/registry.ts';
import type { WriteOptions } from '../registry/write-context.ts';
import type { GitChange, GitRead, GitSide } from '../secretsync/ports.ts';
import type { SecretValues } from '../secretsync/prints.ts';
import type { StoreVersion } from '../secretsync/sync-state.ts';
import type { Store } from '../state/store.ts';

/** Git does not give or take what the sync needs; `reason` is a word for conditions. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly reason: 'Unreadable' | 'GitRefused' | 'ReviewOnly';

  constructor(reason: GitError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

export interface GitParts {
  readonly store: Pick<Store, 'get'>;
  readonly branch: { readonly state: Pick<Branch['state'], 'shown' | 'catalog'> };
  readonly registry: Pick<ObjectRegistry, 'update' | 'delete'>;
  readonly history: Pick<History, 'entries' | 'find' | 'objectAt'>;
  /** Writes go to another branch for review, and are not what is served. */
  readonly isReviewed: boolean;
}

export interface GitObject {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly uid: string;
  /** `secret/app/mail`, for the message of commits. */
  readonly place: string;
}

const BOT: User = {
  name: 'gitplane-secret-sync',
  email: 'secret-sync@noreply.gitplane.dev',
  groups: [SUPERUSER_GROUP],
};
/** Versions of a secret that are looked through to tell whether a value was there before. */
const MOST_PAST = 100;

export function gitSide(parts: GitParts, object: GitObject): GitSide {
  return new ServedSecret(parts, object);
}

class ServedSecret implements GitSide {
  readonly #parts: GitParts;
  readonly #object: GitObject;
  readonly #versions = new WeakMap<GitRead, string>();

  constructor(parts: GitParts, object: GitObject) {
    this.#parts = parts;
    this.#object = object;
  }

  async read(): Promise<GitRead | undefined> {
    const { store, branch } = this.#parts;
    const { key, uid } = this.#object;
    const found = store.get(key);
    if (found === undefined || found.terminating) return undefined;
    const { object } = found;
    if (object.metadata.uid !== uid) return undefined;
    const { shown, catalog } = branch.state;
    const problems = catalog.object(key)?.problems ?? [];
    if (problems.length > 0 || catalog.object(key)?.source.partial === true) {
      const message = `${describeKey(key)} is not as git has it: see its condition Degraded`;
      throw new GitError('Unreadable', message);
    }
    const read = { commit: shown ?? '', values: secretValues(object) };
    this.#versions.set(read, object.metadata.resourceVersion ?? '');
    return read;
  }

  async change({ seen, set, remove, from }: GitChange): Promise<string | undefined> {
    this.#refuseReview();
    const { kind, key, uid } = this.#object;
    const { registry, branch } = this.#parts;
    const keys = [...set.keys(), ...remove].sort();
    try {
      const target = { kind, namespace: key.namespace, name: key.name };
      const options = this.#options(`Keys: ${keys.join(', ')}`, from);
      const changed = ownChange(target, options, (current) => {
        const isSeen =
          current.metadata.uid === uid && sameValues(secretValues(current), seen.values);
        if (!isSeen) throw new Outrun();
        return withValues(current, { set, remove });
      });
      const { commit } = await registry.update(changed);
      return commit ?? branch.state.shown ?? seen.commit;
    } catch (error) {
      return error instanceof Outrun || isGone(error) ? undefined : refused(error, key);
    }
  }

  async remove(seen: GitRead): Promise<boolean> {
    this.#refuseReview();
    const { kind, key, uid } = this.#object;
    const resourceVersion = this.#versions.get(seen);
    try {
      await this.#parts.registry.delete({
        kind,
        namespace: key.namespace,
        name: key.name,
        delete: { uid, resourceVersion },
        options: this.#options('It was deleted in the secret store.'),
      });
      return true;
    } catch (error) {
      const isChanged = error instanceof StatusError && error.code === 409;
      return isChanged || isGone(error) ? false : refused(error, key);
    }
  }

  async history(since: string): Promise<readonly SecretValues[]> {
    const { history } = this.#parts;
    const { kind, key, uid } = this.#object;
    const base = await history.find({ revision: since }).catch(() => undefined);
    if (base === undefined) return [];
    const past: SecretValues[] = [];
    for (const entry of (await history.entries(kind, key)).slice(0, MOST_PAST)) {
      if (entry.uid !== uid) break;
      const point = await history.find({ revision: entry.revision });
      if (point.ordinal <= base.ordinal) break;
      const found = await history.objectAt(kind, key, point);
      // What cannot be opened any more proves nothing.
      if (found !== undefined && found.source.source.partial !== true)
        past.push(secretValues(found.object));
    }
    return past;
  }

  #options(reason: string, from?: StoreVersion): WriteOptions {
    const versions = from !== undefined && from.version > 0;
    return {
      user: BOT,
      dryRun: false,
      fieldValidation: 'Ignore',
      fieldManager: BOT.name,
      reason: `Pulled from the secret store, ${this.#object.place}. ${reason}`,
      trailers: versions
        ? { 'Store-Version': String(from.version), 'Store-Created': from.createdTime }
        : {},
    };
  }

  #refuseReview(): void {
    if (!this.#parts.isReviewed) return;
    const message =
      'writes are reviewed on another branch, where the sync cannot see what became of them: set the direction to push, or let gitplane write to the branch';
    throw new GitError('ReviewOnly', message);
  }
}

/** Somebody else changed the values first. */
class Outrun extends Error {}

function isGone(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}

/** Messages of refusals name fields and rules, never values. */
function refused(error: unknown, key: ObjectKey): never {
  if (!(error instanceof StatusError)) throw error;
  throw new GitError(
    'GitRefused',
    `${describeKey(key)} cannot be changed: ${error.message}`,
    error,
  );
}

export function secretValues(object: KubeObject): SecretValues {
  const entries = Object.entries(secretDataOf(object));
  return new Map(entries.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

function sameValues(a: SecretValues, b: SecretValues): boolean {
  return (
    a.size === b.size &&
    [...a].every(([key, value]) => {
      const other = b.get(key);
      return other !== undefined && Buffer.from(value).equals(other);
    })
  );
}

function withValues(
  object: KubeObject,
  { set, remove }: Pick<GitChange, 'set' | 'remove'>,
): KubeObject {
  const gone = new Set(remove);
  const kept = Object.entries(secretDataOf(object)).filter(([key]) => !gone.has(key));
  const brought = [...set].map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const spec = isRecord(object.spec) ? object.spec : {};
  return { ...object, spec: { ...spec, data: Object.fromEntries([...kept, ...brought]) } };
}

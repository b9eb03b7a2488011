/**
 * The git side of one secret: read from the current state, changed by commits of a bot. A change is
 * validated inside the write queue against exactly the values that the sync has read, or not made.
 */
import {
  describeKey,
  isRecord,
  type KubeObject,
  type ObjectKey,
  StatusError,
  SUPERUSER_GROUP,
  type User,
} from '../apimachinery/index.ts';
import type { History } from '../history/index.ts';
import { type Kind, placeOf, secretDataOf, storeLinkOf } from '../kinds/index.ts';
import {
  type Branch,
  type ObjectRegistry,
  ownChange,
  type WriteOptions,
} from '../registry/index.ts';
import type {
  GitChange,
  GitRead,
  GitSide,
  SecretValues,
  StoreVersion,
} from '../secrets-merge/index.ts';
import type { Store } from '../state/index.ts';

/** Git cannot be read or refuses the change; `reason` is a condition reason. */
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
  readonly registry: Pick<ObjectRegistry, 'create' | 'update' | 'delete'>;
  readonly history: Pick<History, 'entries' | 'find' | 'objectAt'>;
  /** Writes go to another branch for review, and are not visible yet. */
  readonly isReviewed: boolean;
  /** Called with the reason why the history of a secret cannot be read. */
  readonly onHistoryError?: ((error: unknown) => void) | undefined;
}

export interface GitObject {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly uid: string;
  /** Linked place, from `placeOf`; part of commit messages. */
  readonly place: string;
}

/** Author of the commits of the sync. */
export const BOT: User = {
  name: 'gitplane-secret-sync',
  email: 'secret-sync@noreply.gitplane.dev',
  groups: [SUPERUSER_GROUP],
};
export const REVIEWED =
  'writes are reviewed on another branch, and the sync cannot see their result';
/** Maximum number of versions that are searched for an earlier value. */
const MAX_VERSIONS = 1_000;

export function gitSide(parts: GitParts, object: GitObject): GitSide {
  return new CurrentSecret(parts, object);
}

class CurrentSecret implements GitSide {
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
      const message = `${describeKey(key)} differs from git: see its condition Degraded`;
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
        const link = storeLinkOf(kind, current);
        // The values belong to another place if the secret was linked elsewhere meanwhile.
        const isTied = link !== undefined && placeOf(link) === this.#object.place;
        const isSeen =
          isTied && current.metadata.uid === uid && sameValues(secretValues(current), seen.values);
        if (!isSeen) throw new ChangedMeanwhile();
        return withValues(current, { set, remove });
      });
      const { commit } = await registry.update(changed);
      return commit ?? branch.state.shown ?? seen.commit;
    } catch (error) {
      return error instanceof ChangedMeanwhile || isGone(error) ? undefined : refused(error, key);
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

  async history(since: string): Promise<readonly SecretValues[] | undefined> {
    try {
      return await this.#valuesSince(since);
    } catch (error) {
      this.#parts.onHistoryError?.(error);
      return undefined;
    }
  }

  /** Rejects if a version is missing: then a value that is not found proves nothing. */
  async #valuesSince(since: string): Promise<readonly SecretValues[]> {
    const { history } = this.#parts;
    const { kind, key, uid } = this.#object;
    const base = await history.find({ revision: since });
    const past: SecretValues[] = [];
    for (const { revision, uid: life } of await history.entries(key)) {
      if (life !== uid) break;
      const point = await history.find({ revision });
      if (point.ordinal <= base.ordinal) break;
      if (past.length >= MAX_VERSIONS) {
        throw new Error(
          `${describeKey(key)} has more than ${MAX_VERSIONS} versions since ${since}`,
        );
      }
      const found = await history.objectAt(kind, key, point);
      if (found?.source.source.partial === true) {
        throw new Error(`${describeKey(key)} cannot be opened as of ${revision}`);
      }
      if (found !== undefined) past.push(secretValues(found.object));
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
    throw new GitError(
      'ReviewOnly',
      `${REVIEWED}: set the direction to push, or let gitplane write to the branch`,
    );
  }
}

/** Another writer changed the values first. */
class ChangedMeanwhile extends Error {}

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

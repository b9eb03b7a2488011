/**
 * One cycle over linked secrets. Each secret is synced independently, so that none can fail
 * another. Deletions are counted before the first one is made.
 */
import { describeKey } from '../apimachinery/index.ts';
import { type Kind, placeOf } from '../kinds/index.ts';
import { isStoreWide } from '../secret-store-client/index.ts';
import {
  type Fingerprints,
  isMassDeletion,
  mayPush,
  type Preference,
  StoreError,
  type SyncOutcome,
  syncObject,
} from '../secrets-merge/index.ts';
import type { Store } from '../state/index.ts';
import type { Finding } from './conditions.ts';
import type { StoreConnection } from './connection.ts';
import { GitError, type GitParts, gitSide } from './git-side.ts';
import type { LinkedSecret } from './linked-secrets.ts';
import type { SyncRecordStore } from './memory.ts';
import type { UnchangedSecrets } from './unchanged-secrets.ts';
import type { VisitOrder } from './visit-order.ts';

export interface CycleParts {
  readonly connection: StoreConnection;
  readonly records: SyncRecordStore;
  readonly unchanged: UnchangedSecrets;
  readonly order: Pick<VisitOrder, 'oldestFirst'>;
  readonly git: GitParts;
  readonly store: Pick<Store, 'get'>;
  readonly kinds: readonly Kind[];
  readonly fingerprints: Fingerprints;
  /** Id of this daemon in markers. */
  readonly owner: string;
  /** Number of all secrets linked to the store. */
  readonly tracked: number;
  /** True if a user approved every deletion of this cycle. */
  readonly allowDeletions: boolean;
  /** True if the cycle covers all secrets: only then it deletes. */
  readonly isFull: boolean;
  /** False: the interval of the secret leaves it out of this cycle. */
  readonly isDue: (secret: LinkedSecret) => boolean;
  /** Policy for secrets without one. */
  readonly onStoreOlder: Preference;
  /** True: no further secret is started. */
  readonly isStopping: () => boolean;
  /** True if git changed the secret since its last visit, other than by the sync. */
  readonly isChanged: (secret: LinkedSecret) => boolean;
  /** The next secret that git changed since the cycle began and that is not being synced. */
  readonly nextChange: (isInWork: (id: string) => boolean) => LinkedSecret | undefined;
  /** Called with each finding as soon as it is final; a secret may have several. */
  readonly found: (secret: LinkedSecret, finding: Finding) => void;
  /** Receives unexpected errors. */
  readonly onError: (error: unknown) => void;
}

/** Concurrent secrets at half the highest pace and above; that many pulls share a flush. */
const CONCURRENCY = 16;

export async function runCycle(
  parts: CycleParts,
  secrets: readonly LinkedSecret[],
): Promise<ReadonlyMap<string, Finding>> {
  return await new RunningCycle(parts, secrets).run();
}

class RunningCycle {
  readonly #parts: CycleParts;
  readonly #secrets: readonly LinkedSecret[];
  readonly #paths: SharedPaths;
  /** Findings by id, also of deleted secrets. */
  readonly #findings = new Map<string, Finding>();
  readonly #inWork = new Set<string>();

  constructor(parts: CycleParts, secrets: readonly LinkedSecret[]) {
    this.#parts = parts;
    this.#secrets = secrets;
    this.#paths = sharedPaths(secrets);
  }

  /** Changes in git come first, then the secrets with the oldest visit. */
  async run(): Promise<ReadonlyMap<string, Finding>> {
    const { order, isFull } = this.#parts;
    const { owners, disputed } = this.#paths;
    for (const [secret, first] of disputed) this.#found(secret, pathShared(first));
    const gone = isFull ? await departed(this.#parts, this.#secrets) : [];
    const due = owners.filter((secret) => this.#parts.isDue(secret));
    const sorted = order.oldestFirst(due);
    await this.#inParallel(
      sorted.filter((secret) => this.#parts.isChanged(secret)),
      (secret) => this.#visitOnce(secret),
    );
    if (isFull) await this.#listFolders(sorted);
    await this.#inParallel([...sorted, ...gone], (secret) => this.#visitOnce(secret));
    await this.#deletions([...owners, ...gone], gone.length);
    return this.#findings;
  }

  async #listFolders(secrets: readonly LinkedSecret[]): Promise<void> {
    const { unchanged, connection, records } = this.#parts;
    const open = secrets.filter(({ id }) => !this.#findings.has(id));
    await this.#inParallel(unchanged.folders(open), async (members) => {
      const found = await unchanged
        .unchanged(members, { connection, records })
        .catch((error: unknown): ReadonlyMap<LinkedSecret, Finding> => {
          // Reading the secrets fails in the same way.
          if (error instanceof StoreError) return new Map();
          throw error;
        });
      for (const [secret, finding] of found) {
        if (!this.#findings.has(secret.id)) this.#found(secret, finding);
      }
    });
  }

  async #deletions(secrets: readonly LinkedSecret[], goneCount: number): Promise<void> {
    const { isFull, allowDeletions, tracked } = this.#parts;
    const wanting = secrets.filter(({ id }) => wantedDeletion(this.#findings.get(id)));
    for (const side of isFull ? ['DeleteInGit', 'DeleteInStore'] : []) {
      const doomed = wanting.filter(({ id }) => wantedDeletion(this.#findings.get(id)) === side);
      const isTooMuch = isMassDeletion(doomed.length, tracked + goneCount);
      if (isTooMuch && !allowDeletions) continue;
      await this.#inParallel(doomed, (secret) => this.#visit(secret, { mayDelete: true, isFull }));
    }
    for (const secret of wanting) {
      const finding = this.#findings.get(secret.id);
      if (finding !== undefined && wantedDeletion(finding)) this.#parts.found(secret, finding);
    }
  }

  async #visitOnce(secret: LinkedSecret): Promise<void> {
    const { isFull } = this.#parts;
    if (!this.#findings.has(secret.id)) await this.#visit(secret, { mayDelete: false, isFull });
  }

  /** A secret that is already being synced for a change in git is skipped. */
  async #visit(secret: LinkedSecret, mode: VisitMode): Promise<void> {
    if (this.#inWork.has(secret.id)) return;
    this.#inWork.add(secret.id);
    try {
      this.#found(secret, await syncOne(this.#parts, secret, mode));
    } finally {
      this.#inWork.delete(secret.id);
    }
  }

  /** Deletions are reported after all of them are counted. */
  #found(secret: LinkedSecret, finding: Finding): void {
    this.#findings.set(secret.id, finding);
    if (!wantedDeletion(finding)) this.#parts.found(secret, finding);
  }

  /** Syncs a secret that git changed since the cycle began. */
  async #visitChange(secret: LinkedSecret): Promise<void> {
    const { mount, path, policy } = secret.link;
    const place = `${mount}/${path}`;
    const owner = this.#paths.first.get(place);
    if (mayPush(policy) && owner === undefined) this.#paths.first.set(place, secret);
    if (mayPush(policy) && owner !== undefined && owner.id !== secret.id) {
      this.#found(secret, pathShared(owner));
    } else await this.#visit(secret, { mayDelete: false, isFull: false });
  }

  /** Concurrency follows the pace of the store. Changes in git do not wait for the items. */
  async #inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    const { isStopping, nextChange, connection } = this.#parts;
    const waiting = items.values();
    const running = new Set<Promise<void>>();
    const next = (): Promise<void> | undefined => {
      if (isStopping()) return undefined;
      const change = nextChange((id) => this.#inWork.has(id));
      if (change !== undefined) return this.#visitChange(change);
      const item = waiting.next();
      return item.done === true ? undefined : work(item.value);
    };
    try {
      for (;;) {
        while (running.size < CONCURRENCY * Math.min(1, 2 * connection.pace.share)) {
          const begun = next();
          if (begun === undefined) break;
          const ended: Promise<void> = begun.finally(() => running.delete(ended));
          running.add(ended);
        }
        if (running.size === 0) return;
        await Promise.race(running);
      }
    } finally {
      await Promise.allSettled(running);
    }
  }
}

interface VisitMode {
  readonly mayDelete: boolean;
  readonly isFull: boolean;
}

function wantedDeletion(finding: Finding | undefined): SyncOutcome['reason'] {
  const isWanting = finding?.is === 'outcome' && finding.outcome.result === 'WantsDeletion';
  return isWanting ? finding.outcome.reason : undefined;
}

interface SharedPaths {
  /** By place, the one secret that is pushed there. */
  readonly first: Map<string, LinkedSecret>;
  readonly owners: readonly LinkedSecret[];
  /** The other secrets, each with the one that is pushed to its place. */
  readonly disputed: ReadonlyMap<LinkedSecret, LinkedSecret>;
}

/** Two secrets that push to one path would overwrite each other forever: the first one owns it. */
function sharedPaths(secrets: readonly LinkedSecret[]): SharedPaths {
  const first = new Map<string, LinkedSecret>();
  const disputed = new Map<LinkedSecret, LinkedSecret>();
  for (const secret of secrets) {
    const { mount, path, policy } = secret.link;
    if (!mayPush(policy)) continue;
    const place = `${mount}/${path}`;
    const owner = first.get(place);
    if (owner === undefined) first.set(place, secret);
    else disputed.set(secret, owner);
  }
  return { first, owners: secrets.filter((secret) => !disputed.has(secret)), disputed };
}

function pathShared({ key }: LinkedSecret): Finding {
  const message = `${describeKey(key)} is pushed to the same path; only one secret can be`;
  return { is: 'failed', reason: 'PathShared', message };
}

/**
 * Deleted secrets with a sync record, with their last link. Records of secrets that were unlinked
 * or linked elsewhere are removed, also if that happened while the daemon was down: their later
 * deletion does not affect the store.
 */
async function departed(
  { records, store, kinds }: CycleParts,
  secrets: readonly LinkedSecret[],
): Promise<LinkedSecret[]> {
  const tied = new Map(secrets.map((secret) => [secret.id, secret]));
  const gone: LinkedSecret[] = [];
  for (const [id, { uid, link }] of [...records.all()]) {
    const now = tied.get(id);
    if (now !== undefined) {
      const { mount, path } = now.link;
      const isSame = now.uid === uid && mount === link.mount && path === link.path;
      if (!isSame) await records.forget(id);
      continue;
    }
    const [group = '', name = '', namespace = '', own = ''] = id.split('/');
    const key = { group, kind: name, namespace, name: own };
    const kind = kinds.find((one) => one.kind === name && one.group === group);
    const found = store.get(key);
    if (found !== undefined && !found.terminating) await records.forget(id);
    if (found === undefined && kind !== undefined) {
      gone.push({ id, kind, key, uid, link, generation: 0 });
    }
  }
  return gone;
}

async function syncOne(
  parts: CycleParts,
  secret: LinkedSecret,
  { mayDelete, isFull }: VisitMode,
): Promise<Finding> {
  const { connection, records, git, fingerprints, owner } = parts;
  const { id, uid, link, kind, key } = secret;
  const place = placeOf(link);
  try {
    const outcome = await syncObject({
      git: gitSide(git, { kind, key, uid, place }),
      store: await connection.sideOf(link),
      memory: records.of(id, { uid, link }),
      fingerprints,
      policy: { storeOlder: parts.onStoreOlder, ...link.policy },
      owner: `${owner}/${uid}`,
      mayDelete,
      isFull,
      ...(link.resolution && { resolution: link.resolution }),
    });
    return { is: 'outcome', outcome, held: records.stateOf(id, { uid, link }).held };
  } catch (error) {
    return findingOf(parts, error);
  }
}

export function findingOf({ onError }: Pick<CycleParts, 'onError'>, error: unknown): Finding {
  if (isStoreWide(error)) {
    return { is: 'unavailable', reason: error.reason, message: error.message };
  }
  if (error instanceof StoreError || error instanceof GitError) {
    return { is: 'failed', reason: error.reason, message: error.message };
  }
  onError(error);
  return { is: 'failed', reason: 'InternalError', message: 'See the log of gitplane' };
}

/**
 * One round over secrets that are tied to the store: each is a unit of its own, and none of them can
 * fail another. Deletions are counted before the first one is made.
 */
import { describeKey } from '../apimachinery/key.ts';
import type { Kind } from '../kinds/kind.ts';
import { isMassDeletion } from '../secretsync/guards.ts';
import { mayPush } from '../secretsync/policy.ts';
import { StoreError } from '../secretsync/ports.ts';
import type { Fingerprints } from '../secretsync/prints.ts';
import { isStoreWide } from '../secretsync/store/client.ts';
import { syncObject } from '../secretsync/sync-object.ts';
import type { SyncOutcome } from '../secretsync/sync-task.ts';
import type { Store } from '../state/store.ts';
import type { Finding } from './conditions.ts';
import type { StoreConnection } from './connection.ts';
import { GitError, type GitParts, gitSide } from './git-side.ts';
import type { LinkedSecret } from './linked-secrets.ts';
import type { SyncNotes } from './memory.ts';
import type { QuietSecrets } from './quiet.ts';

export interface CycleParts {
  readonly connection: StoreConnection;
  readonly notes: SyncNotes;
  readonly quiet: QuietSecrets;
  readonly git: GitParts;
  readonly store: Pick<Store, 'get'>;
  readonly kinds: readonly Kind[];
  readonly fingerprints: Fingerprints;
  /** Who this daemon is in markers. */
  readonly owner: string;
  /** How many secrets are tied to the store in all. */
  readonly tracked: number;
  /** Somebody agreed to whatever this cycle deletes. */
  readonly allowDeletions: boolean;
  /** Whether this is about all secrets: others delete nothing. */
  readonly isFull: boolean;
  /** False: its own interval leaves the secret out of this cycle. */
  readonly isDue: (secret: LinkedSecret) => boolean;
  /** The secret in hand is the last. */
  readonly isStopping: () => boolean;
  /** An error that nothing here expects. */
  readonly onError: (error: unknown) => void;
}

/** Secrets in work at once; pulls of that many share a flush. */
const AT_ONCE = 16;

/** Findings by id; of secrets that are gone as well. */
export async function runCycle(
  parts: CycleParts,
  secrets: readonly LinkedSecret[],
): Promise<Map<string, Finding>> {
  const findings = new Map<string, Finding>();
  const { owners, disputed } = sharedPaths(secrets);
  for (const [id, first] of disputed) findings.set(id, pathShared(first));
  const gone = parts.isFull ? await departed(parts, secrets) : [];
  const due = owners.filter((secret) => parts.isDue(secret));
  const quiet = await quietAmong(parts, due);
  for (const [id, finding] of quiet) findings.set(id, finding);
  const visit = async (secret: LinkedSecret, mayDelete: boolean): Promise<void> => {
    findings.set(secret.id, await syncOne(parts, secret, mayDelete));
  };
  const open = due.filter(({ id }) => !quiet.has(id));
  await inParallel(parts, open, (secret) => visit(secret, false));
  if (!parts.isFull) return findings;
  await inParallel(parts, gone, (secret) => visit(secret, false));
  const wanting = [...owners, ...gone].filter(({ id }) => wantedDeletion(findings.get(id)));
  for (const side of ['DeleteInGit', 'DeleteInStore']) {
    const doomed = wanting.filter(({ id }) => wantedDeletion(findings.get(id)) === side);
    const isTooMuch = isMassDeletion(doomed.length, parts.tracked + gone.length);
    if (isTooMuch && !parts.allowDeletions) continue;
    await inParallel(parts, doomed, (secret) => visit(secret, true));
  }
  return findings;
}

/** Whatever goes wrong with listings is found out by reading as well. */
async function quietAmong(
  { quiet, connection, notes, isFull }: CycleParts,
  secrets: readonly LinkedSecret[],
): Promise<ReadonlyMap<string, Finding>> {
  if (!isFull) return new Map();
  try {
    return await quiet.among(secrets, { connection, notes });
  } catch (error) {
    if (error instanceof StoreError) return new Map();
    throw error;
  }
}

function wantedDeletion(finding: Finding | undefined): SyncOutcome['reason'] {
  const isWanting = finding?.is === 'outcome' && finding.outcome.result === 'WantsDeletion';
  return isWanting ? finding.outcome.reason : undefined;
}

/** Two secrets that push to one path would undo each other for ever: the first one has it. */
function sharedPaths(secrets: readonly LinkedSecret[]): {
  owners: LinkedSecret[];
  disputed: Map<string, LinkedSecret>;
} {
  const first = new Map<string, LinkedSecret>();
  for (const secret of secrets) {
    const { mount, path, policy } = secret.link;
    const place = `${mount}/${path}`;
    if (mayPush(policy) && !first.has(place)) first.set(place, secret);
  }
  const disputed = new Map<string, LinkedSecret>();
  for (const secret of secrets) {
    const owner = first.get(`${secret.link.mount}/${secret.link.path}`);
    const isOther = owner !== undefined && owner !== secret;
    if (isOther && mayPush(secret.link.policy)) disputed.set(secret.id, owner);
  }
  return { owners: secrets.filter(({ id }) => !disputed.has(id)), disputed };
}

function pathShared({ key }: LinkedSecret): Finding {
  const message = `${describeKey(key)} is pushed to the same path; only one secret can be`;
  return { is: 'failed', reason: 'PathShared', message };
}

/**
 * Secrets that are remembered and are not there any more, as they were tied last. What is remembered
 * of one that was untied or tied elsewhere is forgotten, also when that happened while nothing ran:
 * its deletion, later, is none in the store.
 */
async function departed(
  { notes, store, kinds }: CycleParts,
  secrets: readonly LinkedSecret[],
): Promise<LinkedSecret[]> {
  const tied = new Map(secrets.map((secret) => [secret.id, secret]));
  const gone: LinkedSecret[] = [];
  for (const [id, { uid, link }] of [...notes.all()]) {
    const now = tied.get(id);
    if (now !== undefined) {
      const { mount, path } = now.link;
      const isSame = now.uid === uid && mount === link.mount && path === link.path;
      if (!isSame) await notes.forget(id);
      continue;
    }
    const [group = '', name = '', namespace = '', own = ''] = id.split('/');
    const key = { group, kind: name, namespace, name: own };
    const kind = kinds.find((one) => one.kind === name && one.group === group);
    const found = store.get(key);
    if (found !== undefined && !found.terminating) await notes.forget(id);
    if (found === undefined && kind !== undefined) {
      gone.push({ id, kind, key, uid, link, generation: 0 });
    }
  }
  return gone;
}

async function syncOne(
  parts: CycleParts,
  secret: LinkedSecret,
  mayDelete: boolean,
): Promise<Finding> {
  const { connection, notes, git, fingerprints, owner } = parts;
  const { id, uid, link, kind, key } = secret;
  const place = `${link.mount}/${link.path}`;
  try {
    const outcome = await syncObject({
      git: gitSide(git, { kind, key, uid, place }),
      store: await connection.sideOf(link),
      memory: notes.of(id, { uid, link }),
      fingerprints,
      policy: link.policy,
      owner: `${owner}/${uid}`,
      mayDelete,
      isFull: parts.isFull,
      ...(link.resolution && { resolution: link.resolution }),
    });
    return { is: 'outcome', outcome, held: notes.stateOf(id, { uid, link }).held };
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

async function inParallel<T>(
  { isStopping }: CycleParts,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) {
      if (isStopping()) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}

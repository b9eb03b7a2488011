/**
 * Secrets that need no read: nothing changed in git since they settled, and a listing of their
 * folder shows the store version with which they settled.
 */
import type { Listing } from '../secret-store-client/index.ts';
import type { SyncState } from '../secrets-merge/index.ts';
import type { Finding } from './conditions.ts';
import type { StoreConnection } from './connection.ts';
import type { LinkedSecret } from './linked-secrets.ts';
import type { SyncRecordStore } from './memory.ts';

/** The finding of a settled secret, and its version in git. */
interface Settled {
  readonly finding: Finding;
  readonly requestKey: string;
}

/** A folder with fewer linked secrets is not listed, since it may have many other entries. */
const MIN_MEMBERS = 3;

export class UnchangedSecrets {
  readonly #settled = new Map<string, Settled>();

  /** Keeps a settled secret that could not be read. */
  record(secret: LinkedSecret, finding: Finding): void {
    if (finding.is === 'unavailable') return;
    if (!isSettled(finding)) this.#settled.delete(secret.id);
    else
      this.#settled.set(secret.id, {
        finding: withoutWrites(finding),
        requestKey: requestKey(secret),
      });
  }

  clear(): void {
    this.#settled.clear();
  }

  /** Settled secrets, grouped by the folder to list. */
  folders(secrets: readonly LinkedSecret[]): LinkedSecret[][] {
    const folders = new Map<string, LinkedSecret[]>();
    for (const secret of secrets) {
      if (this.#settled.get(secret.id)?.requestKey !== requestKey(secret)) continue;
      const folder = JSON.stringify([secret.link.mount, folderOf(secret)]);
      folders.set(folder, [...(folders.get(folder) ?? []), secret]);
    }
    return [...folders.values()].filter((members) => members.length >= MIN_MEMBERS);
  }

  /**
   * Members of one folder that are unchanged according to its listing. Rejects with `StoreError`.
   */
  async unchanged(
    members: readonly LinkedSecret[],
    of: { connection: StoreConnection; records: SyncRecordStore },
  ): Promise<Map<LinkedSecret, Finding>> {
    const known = new Map<LinkedSecret, Finding>();
    const [first] = members;
    const listed = first && (await of.connection.listing(first.link.mount, folderOf(first)));
    if (listed === undefined) return known;
    for (const secret of members) {
      const state = of.records.stateOf(secret.id, secret);
      const rest = this.#settled.get(secret.id);
      if (rest !== undefined && isUnchanged(secret, state, listed)) known.set(secret, rest.finding);
    }
    return known;
  }
}

function isSettled(finding: Finding): boolean {
  if (finding.is !== 'outcome') return false;
  return finding.outcome.result === 'Synced' || finding.outcome.result === 'Differs';
}

/** The writes of that finding are not counted again. */
function withoutWrites(finding: Finding): Finding {
  if (finding.is !== 'outcome') return finding;
  return { ...finding, outcome: { ...finding.outcome, pulled: 0, pushed: 0 } };
}

function requestKey({ uid, generation, link }: LinkedSecret): string {
  return JSON.stringify([uid, generation, link]);
}

function isUnchanged(
  { link }: LinkedSecret,
  { base, intents, covered, held, staleReads, missingReads }: SyncState,
  { listing, mount }: { readonly listing: Listing; readonly mount: string | undefined },
): boolean {
  const isSettled = intents.length === 0 && covered.length === 0 && held === undefined;
  if (base === undefined || !isSettled || staleReads > 0 || missingReads > 0) return false;
  const at = listing.get(link.path.slice(link.path.lastIndexOf('/') + 1));
  return (
    at !== undefined &&
    at.version === base.at.version &&
    at.createdTime === base.at.createdTime &&
    base.mount === mount
  );
}

function folderOf({ link }: LinkedSecret): string {
  return link.path.slice(0, Math.max(0, link.path.lastIndexOf('/')));
}

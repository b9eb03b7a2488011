/**
 * Secrets that need no read: nothing changed in git since they settled, and a listing of their
 * folder shows the store version with which they settled.
 */
import type { Listing } from '../secret-store-client/index.ts';
import type { SyncState } from '../secrets-merge/index.ts';
import type { Finding } from './conditions.ts';
import type { StoreConnection } from './connection.ts';
import type { LinkedSecret } from './linked-secrets.ts';
import type { SyncNotes } from './memory.ts';

/** The finding of a settled secret, and its version in git. */
interface Rest {
  readonly finding: Finding;
  readonly asked: string;
}

/** A folder with fewer linked secrets is not listed, since it may have many other entries. */
const FEWEST = 3;

export class UnchangedSecrets {
  readonly #rests = new Map<string, Rest>();

  /** Keeps a settled secret that could not be read. */
  note(secret: LinkedSecret, finding: Finding): void {
    if (finding.is === 'unavailable') return;
    if (!isRest(finding)) this.#rests.delete(secret.id);
    else this.#rests.set(secret.id, { finding: atRest(finding), asked: askedBy(secret) });
  }

  clear(): void {
    this.#rests.clear();
  }

  /** Settled secrets, grouped by the folder to list. */
  folders(secrets: readonly LinkedSecret[]): LinkedSecret[][] {
    const folders = new Map<string, LinkedSecret[]>();
    for (const secret of secrets) {
      if (this.#rests.get(secret.id)?.asked !== askedBy(secret)) continue;
      const folder = JSON.stringify([secret.link.mount, folderOf(secret)]);
      folders.set(folder, [...(folders.get(folder) ?? []), secret]);
    }
    return [...folders.values()].filter((members) => members.length >= FEWEST);
  }

  /**
   * Members of one folder that are unchanged according to its listing. Rejects with `StoreError`.
   */
  async unchanged(
    members: readonly LinkedSecret[],
    of: { connection: StoreConnection; notes: SyncNotes },
  ): Promise<Map<LinkedSecret, Finding>> {
    const known = new Map<LinkedSecret, Finding>();
    const [first] = members;
    const listed = first && (await of.connection.listing(first.link.mount, folderOf(first)));
    if (listed === undefined) return known;
    for (const secret of members) {
      const state = of.notes.stateOf(secret.id, secret);
      const rest = this.#rests.get(secret.id);
      if (rest !== undefined && isAsAgreed(secret, state, listed)) known.set(secret, rest.finding);
    }
    return known;
  }
}

function isRest(finding: Finding): boolean {
  if (finding.is !== 'outcome') return false;
  return finding.outcome.result === 'Synced' || finding.outcome.result === 'Differs';
}

/** The writes of that finding are not counted again. */
function atRest(finding: Finding): Finding {
  if (finding.is !== 'outcome') return finding;
  return { ...finding, outcome: { ...finding.outcome, pulled: 0, pushed: 0 } };
}

function askedBy({ uid, generation, link }: LinkedSecret): string {
  return JSON.stringify([uid, generation, link]);
}

function isAsAgreed(
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

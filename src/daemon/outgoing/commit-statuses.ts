/**
 * Statuses of followed commits on the forge. A record in the state names the revision and the hold that
 * were reported last; the difference to the present ones is enqueued together with the next record, so
 * that no commit is left out after a crash.
 */
import type { JsonObject } from '../../apimachinery/index.ts';
import { WorkQueue } from '../../concurrency/index.ts';
import type { StatusState } from '../../forges/index.ts';
import { formatProblem } from '../../manifests/index.ts';
import type { NewDelivery, Outbox } from '../../outbox/index.ts';
import type { CommitVerdict, Hold, SyncReport } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';
import type { Platform } from '../platform.ts';

export interface CommitStatusesParts {
  readonly outbox: Pick<Outbox, 'enqueue'>;
  readonly store: Pick<Store, 'document'>;
  readonly repository: Pick<Platform['repository'], 'commitMetadata' | 'isAncestor'>;
  readonly report: Pick<SyncReport, 'revision' | 'hold' | 'verdictOn'>;
  /** Name of the statuses. */
  readonly context: string;
  /** Identity of the repository on its forge. Another one starts anew. */
  readonly place: string;
  readonly onError: (error: unknown) => void;
}

export const FORGE = 'forge';
const RECORD = 'forge:reported';
const INTERVAL_MS = 1000;
/** Commits that get a status after one move of the branch: the newest ones. */
const MOST_COMMITS = 20;

export class CommitStatuses {
  readonly #parts: CommitStatusesParts;
  readonly #queue: WorkQueue;

  constructor(parts: CommitStatusesParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      reconcile: async () => {
        try {
          await this.report();
        } catch (error) {
          parts.onError(error);
          throw error;
        }
        return INTERVAL_MS;
      },
      workers: 1,
    });
  }

  start(): void {
    this.#queue.add(RECORD);
  }

  /** Enqueues statuses for the moves of the branch since the last call. */
  async report(): Promise<void> {
    const { report, outbox, place, store } = this.#parts;
    const { revision, hold } = report;
    const before = readRecord(store.document(RECORD), place);
    const held = hold?.head;
    if (before.revision === revision && before.held === held) return;
    const commits = [
      ...(held === undefined || held === before.held ? [] : await this.#chain(revision, held)),
      ...(revision === undefined || revision === before.revision
        ? []
        : await this.#chain(before.revision, revision)),
    ];
    const deliveries: NewDelivery[] = [];
    for (const commit of commits.reverse()) {
      const verdict = await report.verdictOn(commit);
      if (verdict !== undefined) deliveries.push(this.#delivery(verdict));
    }
    const record = { place, ...(revision && { revision }), ...(held && { held }) };
    await outbox.enqueue(deliveries, { [RECORD]: record });
  }

  async close(): Promise<void> {
    await this.#queue.stop();
  }

  /** Commits up to the tip that do not lead to `from`, newest first. Absent: the tip alone. */
  async #chain(from: string | undefined, tip: string): Promise<string[]> {
    const { repository } = this.#parts;
    const chain: string[] = [];
    let next: string | undefined = tip;
    while (next !== undefined && chain.length < MOST_COMMITS) {
      if (from !== undefined && (await repository.isAncestor(next, from))) break;
      chain.push(next);
      if (from === undefined) break;
      next = (await repository.commitMetadata(next)).parents[0];
    }
    return chain;
  }

  #delivery(verdict: CommitVerdict): NewDelivery {
    const { context } = this.#parts;
    const status = { commit: verdict.revision, context, ...describe(verdict) };
    return { destination: FORGE, topic: `status ${verdict.revision}`, payload: { status } };
  }
}

function describe({ result, files, hold }: CommitVerdict): {
  readonly state: StatusState;
  readonly description: string;
} {
  if (hold !== undefined) return { state: stateOf(hold), description: `Held: ${hold.message}` };
  const problems = files.flatMap((file) => file.problems);
  const [first] = problems;
  if (first === undefined) {
    return result === 'refused'
      ? { state: 'failure', description: 'Refused' }
      : { state: 'success', description: 'Applied' };
  }
  const count = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`;
  return { state: 'failure', description: `Degraded: ${formatProblem(first)}${count}` };
}

/** An approval releases a hold, unless it is for commits that nobody may approve. */
function stateOf({ reason }: Hold): StatusState {
  return reason === 'TreeTooLarge' || reason === 'SignatureRequired' ? 'failure' : 'pending';
}

function readRecord(
  record: JsonObject | undefined,
  place: string,
): { readonly revision?: string; readonly held?: string } {
  if (record?.['place'] !== place) return {};
  const { revision, held } = record;
  return {
    ...(typeof revision === 'string' && { revision }),
    ...(typeof held === 'string' && { held }),
  };
}

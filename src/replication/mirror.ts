/**
 * The repository on the disk of a follower, kept at the branch head in etcd: by the log, or by a
 * fetch from a peer if the log does not reach back far enough. Local commits that are in no record
 * were never acknowledged, and are kept under another ref. After a restore of etcd from an older
 * snapshot they stay on the branch instead, for the next leader to restore.
 */
import { Mutex, pause, RetryDelay } from '../concurrency/index.ts';
import type { Etcd } from '../etcd/index.ts';
import {
  GitError,
  type GitLogger,
  importPacks,
  Maintenance,
  moveRef,
  readRef,
  tryGit,
  tryWalk,
} from '../git/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { followKeys, type KeyFollower } from './follow-keys.ts';
import { type AcknowledgedCommit, LastAcknowledgedCommit } from './last-acknowledged-commit.ts';
import { LogReader } from './log-reader.ts';
import type { BranchHead, LogRecord, RecordContext } from './log-record.ts';

export interface MirrorOptions extends RecordContext {
  readonly etcd: Etcd;
  readonly gitDir: string;
  /** Full name of the branch. */
  readonly ref: string;
  /** Fetches the branch of a peer, and returns its commit; throws when no peer has it. */
  readonly fetch: () => Promise<string>;
  /** Called with the sequence of the newest record on the disk. */
  readonly onMirrored: (sequence: number) => void;
  readonly logger: Logger & GitLogger;
}

/** Refs of commits that the branch has lost. */
export const LOST_REFS = 'refs/gitplane/lost/';
const BACKOFF = { firstMs: 100, lastMs: 5_000 };
const PACKS_BETWEEN_MAINTENANCE = 50;

export class Mirror {
  readonly #options: MirrorOptions;
  readonly #reader: LogReader;
  readonly #mark: LastAcknowledgedCommit;
  #isAheadLogged = false;
  #position: { readonly commit: string; readonly sequence: number } | undefined;
  readonly #mutex = new Mutex();
  #following: { readonly keys: KeyFollower; readonly maintenance: Maintenance } | undefined;
  #wanted: BranchHead | undefined;
  #retry: AbortController | undefined;
  #running: Promise<void> | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#reader = new LogReader(options);
    this.#mark = new LastAcknowledgedCommit(options.gitDir);
  }

  /** Sequence of the newest record on the disk; undefined: none, or not known yet. */
  get sequence(): number | undefined {
    return this.#position?.sequence;
  }

  /** Sequence of the branch head, as last read from etcd. */
  get wanted(): number | undefined {
    return this.#wanted?.sequence;
  }

  /** Moves the repository to the current branch head, and returns it. */
  catchUp(): Promise<BranchHead | undefined> {
    return this.#mutex.run(() => this.#catchUp());
  }

  /** Called when this replica leads and has moved the branch. */
  moved(head: BranchHead): void {
    this.#wanted = head;
    this.#reached(head);
  }

  /**
   * The local commit, if etcd was restored from an older snapshot and its branch head is an
   * ancestor: all later commits were, or may have been, acknowledged.
   */
  async ahead(): Promise<string | undefined> {
    const { local, acknowledged } = await this.#diskState();
    const head = await this.#reader.head();
    if (head === undefined || local === undefined || local === head.commit) return undefined;
    return (await this.#isRestoredSnapshot({ local, acknowledged, head })) ? local : undefined;
  }

  /** Follows the branch until `stop`. */
  follow(): void {
    const { etcd, keys, gitDir, logger } = this.#options;
    if (this.#following !== undefined) return;
    const maintenance = new Maintenance(
      { gitDir },
      { packThreshold: PACKS_BETWEEN_MAINTENANCE, logger, onRepacked: () => undefined },
    );
    const again = (): void => this.#run();
    const follower = followKeys(etcd, { key: keys.head }, { reset: again, changed: again });
    this.#following = { keys: follower, maintenance };
  }

  /**
   * See `Maintenance.runFully`. False while this replica leads: the leader maintains the
   * repository.
   */
  async maintainFully(signal: AbortSignal): Promise<boolean> {
    return (await this.#following?.maintenance.runFully(signal)) ?? false;
  }

  async stop(): Promise<void> {
    const following = this.#following;
    this.#following = undefined;
    this.#retry?.abort();
    await following?.keys.close();
    await following?.maintenance.close();
    await this.#running;
    await this.#mutex.idle();
    this.#mark.close();
  }

  /** One run at a time; a run repeats after changes. */
  #run(): void {
    // Without a following the loop would end before `#running` is set.
    if (this.#following === undefined) return;
    this.#retry?.abort();
    this.#again = true;
    this.#running ??= this.#loop();
  }

  #again = false;

  async #loop(): Promise<void> {
    const delay = new RetryDelay(BACKOFF);
    while (this.#again && this.#following !== undefined) {
      this.#again = false;
      try {
        await this.catchUp();
        await this.#following?.maintenance.runIfDue();
        delay.reset();
      } catch (err) {
        if (this.#following === undefined) break;
        const retryInMs = delay.next();
        this.#options.logger.warn({ err, retryInMs }, 'The mirror cannot follow the branch');
        this.#retry = new AbortController();
        await pause(retryInMs, this.#retry.signal);
        this.#again = true;
      }
    }
    // In the same tick as the last check, so that a later caller starts a new loop.
    this.#running = undefined;
  }

  async #catchUp(): Promise<BranchHead | undefined> {
    for (;;) {
      const here = await this.#diskState();
      const head = await this.#reader.head();
      this.#wanted = head;
      if (head === undefined) return undefined;
      const local = await this.#local();
      if (local === head.commit) {
        this.#reached(head);
        return head;
      }
      if (await this.#isRestoredSnapshot({ ...here, head })) return head;
      const after = await this.#findPosition(local, head);
      if (after !== undefined) await this.#applyRecords(after, head);
    }
  }

  #reached({ commit, sequence }: { commit: string; sequence: number }): void {
    this.#position = { commit, sequence };
    this.#mark.save({ commit, sequence });
    this.#options.onMirrored(sequence);
  }

  /**
   * The state of the disk. Read before etcd, which then has at least this unless it was restored
   * from a snapshot.
   */
  async #diskState(): Promise<DiskState> {
    return { acknowledged: await this.#mark.read(), local: await this.#local() };
  }

  /** A repository without a mark comes from a backup, or from a single daemon. */
  async #isRestoredSnapshot({
    local,
    acknowledged,
    head,
  }: DiskState & { head: BranchHead }): Promise<boolean> {
    if (local === undefined || local === head.commit) return false;
    if (acknowledged !== undefined) {
      if (acknowledged.sequence < head.sequence) return false;
      if (acknowledged.sequence === head.sequence && acknowledged.commit === head.commit)
        return false;
    }
    const { gitDir, logger, ref } = this.#options;
    if (!(await isAncestor(gitDir, head.commit, local))) return false;
    if (!this.#isAheadLogged) {
      const fields = { ref, commit: local, branch: head.commit };
      logger.warn(
        fields,
        'etcd was restored from an older snapshot: the later commits on this disk stay valid',
      );
    }
    this.#isAheadLogged = true;
    return true;
  }

  /** Position of the repository in the log; undefined: it was moved, try again. */
  async #findPosition(local: string | undefined, head: BranchHead): Promise<number | undefined> {
    const known = this.#position;
    if (local !== undefined && known?.commit === local && known.sequence < head.sequence) {
      const [next] = await this.#reader.records(known.sequence, known.sequence + 1);
      if (next?.from === local) return known.sequence;
    }
    const records = await this.#reader.records(0, head.sequence);
    const first = records[0];
    if (first !== undefined && isWhole(records, head)) {
      const found = records.findLast(({ to }) => to === local);
      if (found !== undefined) return found.sequence;
      if (first.from === local) return first.sequence - 1;
    }
    await this.#realign(local, records, head);
    return undefined;
  }

  async #applyRecords(after: number, head: BranchHead): Promise<void> {
    const { gitDir, ref } = this.#options;
    const records = await this.#reader.records(after, head.sequence);
    if (records[0]?.sequence !== after + 1 || !isWhole(records, head)) return;
    let sequence = after;
    for await (const moves of this.#reader.moves(records)) {
      await importPacks(gitDir, moves);
      const [from, to] = [moves[0]?.from, moves.at(-1)?.to];
      if (to === undefined) return;
      sequence += moves.length;
      this.#mark.save({ commit: to, sequence });
      await moveRef(gitDir, { ref, from, to });
      this.#reached({ commit: to, sequence });
    }
  }

  /** The repository has no position in the log: moves it to a commit from which it can continue. */
  async #realign(
    local: string | undefined,
    records: readonly LogRecord[],
    head: BranchHead,
  ): Promise<void> {
    const known = [head.commit, ...records.map(({ to }) => to).reverse()];
    for (const commit of known) {
      if (await this.#has(commit)) return await this.#moveTo(commit, local);
    }
    const fetched = await this.#options.fetch();
    if (!(await this.#isInLog(fetched))) {
      throw new GitError(`A peer has the branch at ${fetched}, which is not in the log`, {
        remedy: 'The fetch is retried',
      });
    }
    await this.#moveTo(fetched, local);
  }

  async #isInLog(commit: string): Promise<boolean> {
    const head = await this.#reader.head();
    if (head?.commit === commit) return true;
    const records = await this.#reader.records(0, head?.sequence ?? 0);
    return records.some(({ to }) => to === commit);
  }

  async #moveTo(commit: string, local: string | undefined): Promise<void> {
    const { gitDir, ref } = this.#options;
    if (local !== undefined && !(await isAncestor(gitDir, local, commit))) {
      await this.#saveLost(local, commit);
    }
    await moveRef(gitDir, {
      ref,
      from: await readRef(gitDir, ref).catch(() => undefined),
      to: commit,
    });
  }

  async #saveLost(local: string, commit: string): Promise<void> {
    const { gitDir, logger, ref } = this.#options;
    const kept = `${LOST_REFS}${local}`;
    if ((await readRef(gitDir, kept)) === undefined) {
      await moveRef(gitDir, { ref: kept, from: undefined, to: local });
    }
    logger.warn(
      { ref, commit: local, branch: commit, kept },
      'The local repository had commits that the branch does not have: they are kept under another ref',
    );
  }

  /** Undefined if the ref is absent or does not resolve. */
  async #local(): Promise<string | undefined> {
    const { gitDir, ref } = this.#options;
    return await readRef(gitDir, ref);
  }

  async #has(commit: string): Promise<boolean> {
    const { gitDir } = this.#options;
    const args = ['rev-list', '--quiet', '--objects', '-n1', commit];
    return (await tryGit({ gitDir }, args)).code === 0;
  }
}

interface DiskState {
  /** Branch head on the disk. */
  readonly local: string | undefined;
  /** Last head of etcd that the disk knows. */
  readonly acknowledged: AcknowledgedCommit | undefined;
}

/** True if the records lead to the head without a gap. */
function isWhole(records: readonly LogRecord[], head: BranchHead): boolean {
  const newest = records.at(-1);
  if (newest?.sequence !== head.sequence || newest.to !== head.commit) return false;
  return records.every((record, i) => {
    const before = records[i - 1];
    return before === undefined || before.sequence + 1 === record.sequence;
  });
}

async function isAncestor(gitDir: string, one: string, other: string): Promise<boolean> {
  return (await tryWalk({ gitDir }, ['merge-base', '--is-ancestor', one, other])).code === 0;
}

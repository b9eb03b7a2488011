/**
 * The repository on the disk of this replica, kept at where etcd says that the branch is: by the
 * log, and by a fetch from a peer where the log does not reach back far enough. What is here and in
 * no record was never acknowledged by all of us, and is kept beside the branch; unless etcd was put
 * back to an earlier time, when what is here beyond it stays for the next leader to take up again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Mutex } from '../concurrency/index.ts';
import type { Etcd } from '../etcd/index.ts';
import {
  GitError,
  type GitLogger,
  Maintenance,
  moveRef,
  readRef,
  takePacks,
  tryGit,
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
  /** Brings the branch of some peer here and returns its commit; throws when no peer has any. */
  readonly fetch: () => Promise<string>;
  /** What is on the disk now: the number of the record that moved the branch there. */
  readonly onMirrored: (sequence: number) => void;
  readonly logger: Logger & GitLogger;
}

/** Where commits are kept that the branch has lost. */
export const LOST_REFS = 'refs/gitplane/lost/';
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
const PACKS_BETWEEN_MAINTENANCE = 50;

export class Mirror {
  readonly #options: MirrorOptions;
  readonly #reader: LogReader;
  readonly #mark: LastAcknowledgedCommit;
  #isToldAhead = false;
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

  /** Of the newest record that is on the disk; undefined: none, or not known yet. */
  get sequence(): number | undefined {
    return this.#position?.sequence;
  }

  /** Where the branch was when etcd last said so, by the number of its record. */
  get wanted(): number | undefined {
    return this.#wanted?.sequence;
  }

  /** Brings the repository to where the branch is now, and returns that. */
  catchUp(): Promise<BranchHead | undefined> {
    return this.#mutex.run(() => this.#catchUp());
  }

  /** The branch was moved here by the leader, which this replica is. */
  moved(head: BranchHead): void {
    this.#wanted = head;
    this.#reached(head);
  }

  /**
   * The commit here, where etcd was put back to an earlier time and the branch there is where this
   * one was once: everything beyond was acknowledged, or may have been.
   */
  async ahead(): Promise<string | undefined> {
    const { local, agreed } = await this.#here();
    const head = await this.#reader.head();
    if (head === undefined || local === undefined || local === head.commit) return undefined;
    return (await this.#isPutBack({ local, agreed, head })) ? local : undefined;
  }

  /** Follows the branch until it is stopped. */
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

  /** See `Maintenance.runFully`. False while this replica leads: the leader maintains the repository. */
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

  /** One run at a time; what changes meanwhile is seen by its last look. */
  #run(): void {
    // The loop has to wait for something, or it would end before it is known to run.
    if (this.#following === undefined) return;
    this.#retry?.abort();
    this.#again = true;
    this.#running ??= this.#loop();
  }

  #again = false;

  async #loop(): Promise<void> {
    let wait = FIRST_RETRY_MS;
    while (this.#again && this.#following !== undefined) {
      this.#again = false;
      try {
        await this.catchUp();
        await this.#following?.maintenance.runIfDue();
        wait = FIRST_RETRY_MS;
      } catch (err) {
        if (this.#following === undefined) break;
        this.#options.logger.warn({ err, retryInMs: wait }, 'The mirror cannot follow the branch');
        this.#retry = new AbortController();
        await sleep(wait, undefined, { signal: this.#retry.signal }).catch(() => undefined);
        wait = Math.min(wait * 2, LAST_RETRY_MS);
        this.#again = true;
      }
    }
    // In the turn of the last look: who asks after it finds that nothing runs.
    this.#running = undefined;
  }

  async #catchUp(): Promise<BranchHead | undefined> {
    for (;;) {
      const here = await this.#here();
      const head = await this.#reader.head();
      this.#wanted = head;
      if (head === undefined) return undefined;
      const local = await this.#local();
      if (local === head.commit) {
        this.#reached(head);
        return head;
      }
      if (await this.#isPutBack({ ...here, head })) return head;
      const after = await this.#place(local, head);
      if (after !== undefined) await this.#take(after, head);
    }
  }

  #reached({ commit, sequence }: { commit: string; sequence: number }): void {
    this.#position = { commit, sequence };
    this.#mark.note({ commit, sequence });
    this.#options.onMirrored(sequence);
  }

  /** What is here; to be read before etcd is asked, which then knows of it unless it was put back. */
  async #here(): Promise<Here> {
    return { agreed: await this.#mark.read(), local: await this.#local() };
  }

  /** A repository that remembers nothing comes from a backup, or from a daemon alone. */
  async #isPutBack({ local, agreed, head }: Here & { head: BranchHead }): Promise<boolean> {
    if (local === undefined || local === head.commit) return false;
    if (agreed !== undefined) {
      if (agreed.sequence < head.sequence) return false;
      if (agreed.sequence === head.sequence && agreed.commit === head.commit) return false;
    }
    const { gitDir, logger, ref } = this.#options;
    if (!(await isAncestor(gitDir, head.commit, local))) return false;
    if (!this.#isToldAhead) {
      const told = { ref, commit: local, branch: head.commit };
      logger.warn(told, 'etcd was put back to an earlier time: what is here beyond it counts');
    }
    this.#isToldAhead = true;
    return true;
  }

  /** Where the repository is in the log; undefined: it was moved, look again. */
  async #place(local: string | undefined, head: BranchHead): Promise<number | undefined> {
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

  async #take(after: number, head: BranchHead): Promise<void> {
    const { gitDir, ref } = this.#options;
    const records = await this.#reader.records(after, head.sequence);
    if (records[0]?.sequence !== after + 1 || !isWhole(records, head)) return;
    let sequence = after;
    for await (const moves of this.#reader.moves(records)) {
      await takePacks(gitDir, moves);
      const [from, to] = [moves[0]?.from, moves.at(-1)?.to];
      if (to === undefined) return;
      sequence += moves.length;
      this.#mark.note({ commit: to, sequence });
      await moveRef(gitDir, { ref, from, to });
      this.#reached({ commit: to, sequence });
    }
  }

  /** The repository is nowhere in the log: it is put where it can go on from. */
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
        remedy: 'It is tried again',
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
      await this.#keep(local, commit);
    }
    await moveRef(gitDir, {
      ref,
      from: await readRef(gitDir, ref).catch(() => undefined),
      to: commit,
    });
  }

  async #keep(local: string, commit: string): Promise<void> {
    const { gitDir, logger, ref } = this.#options;
    const kept = `${LOST_REFS}${local}`;
    if ((await readRef(gitDir, kept)) === undefined) {
      await moveRef(gitDir, { ref: kept, from: undefined, to: local });
    }
    logger.warn(
      { ref, commit: local, branch: commit, kept },
      'The repository here had commits that the branch does not have: they are kept beside it',
    );
  }

  /** Undefined where it is not there; one that leads nowhere counts as not there. */
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

interface Here {
  /** Where the branch is on the disk. */
  readonly local: string | undefined;
  /** Where etcd had it, as far as the disk remembers. */
  readonly agreed: AcknowledgedCommit | undefined;
}

/** Whether the records lead to the head without a gap. */
function isWhole(records: readonly LogRecord[], head: BranchHead): boolean {
  const newest = records.at(-1);
  if (newest?.sequence !== head.sequence || newest.to !== head.commit) return false;
  return records.every((record, i) => {
    const before = records[i - 1];
    return before === undefined || before.sequence + 1 === record.sequence;
  });
}

async function isAncestor(gitDir: string, one: string, other: string): Promise<boolean> {
  return (await tryGit({ gitDir }, ['merge-base', '--is-ancestor', one, other])).code === 0;
}

/**
 * A daemon that is ended again and again while clients write to it, and what must be true each time
 * it is back (design, invariants 1, 2, 8 and 9).
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { API, type Daemon, scratchDir } from '../support/daemon.ts';
import {
  FAULTY_ARGS,
  isAlive,
  type Kill,
  killGroup,
  startFaultyDaemon,
} from '../support/faults/fault-daemon.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { writeByApi } from './api-client.ts';
import { Follower } from './follower.ts';
import { repositoryOf } from './history.ts';
import { Journal } from './journal.ts';
import { fits, type Life, newLife, type View, viewOf } from './life.ts';
import { Pusher } from './pusher.ts';
import { rebuildDifferences } from './rebuild.ts';

/** How a round ends. */
export type Ending =
  /** At an operation of the daemon's own; at the end of the round when it never comes to it. */
  | { readonly how: 'site'; readonly kill: Kill }
  /** A little after so many answers. */
  | { readonly how: 'instant'; readonly after: number; readonly group: boolean }
  | { readonly how: 'stop'; readonly after: number };

export interface RoundResult {
  readonly ended: 'while it started' | 'in the round' | 'after the round' | 'by a stop';
}

const API_CLIENTS = 5;
const LIVES_EACH = 3;
/** A fault that was not met by then is not met any more. */
const ENOUGH_ANSWERS = 50;
const LONGEST_ROUND_MS = 10_000;

export class Campaign {
  readonly dataDir = join(scratchDir('gitplane-faults-'), 'data');
  readonly journal = new Journal();
  readonly #random: Random;
  readonly #clients: readonly Life[][];
  readonly #pusher: Pusher;
  readonly #followers: readonly Follower[];
  readonly #lives: readonly Life[];
  /** Commit by key, of all of history that was checked. */
  readonly #commits = new Map<string, string>();
  #checkedHead: string | undefined;
  fscks = 0;
  rebuilds = 0;
  landed = { done: 0, not: 0 };

  constructor(options: { seed: number }) {
    this.#random = randomFrom(options.seed);
    const { journal } = this;
    this.#clients = Array.from({ length: API_CLIENTS }, (_c, client) =>
      Array.from({ length: LIVES_EACH }, (_l, i) =>
        newLife(`c${client}-${i}`, client % 2 === 0 ? 'Team' : 'SharedSecret'),
      ),
    );
    const pushed = [newLife('p-0', 'Team', 'pushed'), newLife('p-1', 'SharedSecret', 'pushed')];
    const random = randomFrom(this.#random.below(2 ** 31));
    this.#pusher = new Pusher({ lives: pushed, journal, random });
    this.#lives = [...this.#clients.flat(), ...pushed];
    const collections = [
      [`${API}/teams`, 'Team'],
      [`${API}/sharedsecrets`, 'SharedSecret'],
    ] as const;
    this.#followers = collections.map(([path, kind]) => new Follower(path, kind, journal));
  }

  get watchEvents(): number {
    return this.#followers.reduce((sum, { events }) => sum + events, 0);
  }

  get watchesResumed(): number {
    return this.#followers.reduce((sum, { resumed }) => sum + resumed, 0);
  }

  get watchesExpired(): number {
    return this.#followers.reduce((sum, { expired }) => sum + expired, 0);
  }

  get watchesRecalled(): number {
    return this.#followers.reduce((sum, { recalled }) => sum + recalled, 0);
  }

  /** Starts, checks what the last round left, lets clients write, and ends. */
  async round(ending: Ending, trace?: string): Promise<RoundResult> {
    const kill = ending.how === 'site' ? ending.kill : undefined;
    const daemon = await this.#start({ kill, trace });
    if (daemon === undefined) return { ended: 'while it started' };
    try {
      if (!(await this.#checked(daemon))) return { ended: 'while it started' };
      return await this.#work(daemon, ending);
    } finally {
      killGroup(daemon);
      for (const follower of this.#followers) follower.detach();
    }
  }

  /** The last check; also compares with a daemon that knows nothing but history. */
  async finish(): Promise<void> {
    const daemon = await this.#start({});
    if (daemon === undefined) throw new Error('The daemon died without a fault');
    try {
      await this.#check(daemon);
      const differences = await rebuildDifferences(daemon, FAULTY_ARGS);
      this.rebuilds += 1;
      for (const difference of differences) this.journal.violation(`rebuilt: ${difference}`);
    } finally {
      for (const follower of this.#followers) follower.detach();
      await daemon.stop();
      killGroup(daemon);
    }
  }

  async #start(faults: {
    kill?: Kill | undefined;
    trace?: string | undefined;
  }): Promise<Daemon | undefined> {
    try {
      return await startFaultyDaemon({ dataDir: this.dataDir, ...faults });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      // Killed by a signal, it has no exit code.
      if (faults.kill === undefined || !text.includes('ended with null')) {
        this.journal.violation(`it does not start: ${text}`);
      }
      return undefined;
    }
  }

  async #work(daemon: Daemon, ending: Ending): Promise<RoundResult> {
    const { journal } = this;
    let over = false;
    const stopped = (): boolean => over || !isAlive(daemon);
    const clients = this.#clients.map((lives) => {
      const random = randomFrom(this.#random.below(2 ** 31));
      return writeByApi({ daemon, lives, journal, random, stopped });
    });
    const pusher = this.#pusher.pushUntil(daemon, stopped);
    const gone = new Promise<'gone'>((resolve) =>
      daemon.process.once('exit', () => resolve('gone')),
    );
    const first = await Promise.race([gone, this.#endOfRound(ending)]);
    let code: number | null | undefined;
    if (ending.how === 'stop') code = await daemon.stop();
    else if (ending.how === 'instant' && !ending.group) await daemon.stop('SIGKILL');
    else killGroup(daemon);
    over = true;
    await Promise.all([...clients, pusher, ...(isAlive(daemon) ? [gone] : [])]);
    if (ending.how === 'stop' && code !== 0) journal.violation(`a stop ended with ${code}`);
    if (ending.how === 'stop') return { ended: 'by a stop' };
    return {
      ended: first === 'gone' || ending.how === 'instant' ? 'in the round' : 'after the round',
    };
  }

  async #endOfRound(ending: Ending): Promise<void> {
    const enough = ending.how === 'site' ? ENOUGH_ANSWERS : ending.after;
    const limit = sleep(LONGEST_ROUND_MS, undefined, { ref: false });
    await Promise.race([this.journal.afterAnswers(enough), limit]);
    await sleep(this.#random.below(30));
  }

  /** False when the daemon died meanwhile, as it may have been told to. */
  async #checked(daemon: Daemon): Promise<boolean> {
    try {
      await this.#check(daemon);
      return true;
    } catch (error) {
      await sleep(50);
      if (isAlive(daemon)) throw error;
      return false;
    }
  }

  async #check(daemon: Daemon): Promise<void> {
    for (const follower of this.#followers) await follower.attach(daemon);
    for (const follower of this.#followers) await follower.expectInStep(daemon);
    for (const follower of this.#followers) await follower.expectRecall(daemon, this.#random);
    await this.#checkHistory(daemon);
    await this.#checkObjects(daemon);
  }

  /** One commit for each acknowledged write and push, and none that nobody asked for. */
  async #checkHistory(daemon: Daemon): Promise<void> {
    const { journal } = this;
    const git = repositoryOf(daemon.dataDir);
    const head = await git.head();
    const before = this.#checkedHead;
    if (before !== undefined && !(await git.isAncestor(before, head))) {
      journal.violation(`${head} does not come after ${before}, which was there`);
    }
    const requestIds = new Map<string, readonly string[]>();
    for (const commit of await git.commits(before === undefined ? head : `${before}..${head}`)) {
      const { id, key } = commit;
      if (key === undefined) {
        if (before !== undefined)
          journal.violation(`nobody asked for commit ${id} ${commit.subject}`);
        continue;
      }
      if (!journal.keys.has(key)) journal.violation(`commit ${id} has the unknown key ${key}`);
      if (this.#commits.has(key)) journal.violation(`${key} became two commits`);
      this.#commits.set(key, id);
      requestIds.set(key, commit.requestIds);
    }
    this.#checkedHead = head;
    for (const { key, commit, requestId } of journal.acknowledged.splice(0)) {
      const found = this.#commits.get(key);
      if (found === undefined) journal.violation(`${key} was acknowledged and is in no commit`);
      else if (commit !== undefined && commit !== found) {
        journal.violation(`${key} is commit ${found}, and the answer said ${commit}`);
      }
      const ids = requestIds.get(key) ?? [];
      if (requestId !== undefined && (ids.length !== 1 || ids[0] !== requestId)) {
        journal.violation(
          `${key} has the trailers ${ids.join()}, and the answer said ${requestId}`,
        );
      }
    }
    const damage = await git.damage();
    this.fscks += 1;
    if (damage !== undefined) journal.violation(damage);
    const leftovers = await git.leftovers();
    if (leftovers.length > 0) journal.violation(`left behind: ${leftovers.join(', ')}`);
  }

  /** Everything acknowledged is there; what was under way is there as a whole or not at all. */
  async #checkObjects(daemon: Daemon): Promise<void> {
    const { journal } = this;
    const served = new Map<string, { view: View; version: string }>();
    for (const plural of ['teams', 'sharedsecrets']) {
      for (const object of (await daemon.call('GET', `${API}/${plural}`)).json().items) {
        const { name, resourceVersion } = object.metadata;
        served.set(name, { view: viewOf(object), version: resourceVersion });
      }
    }
    const files = await repositoryOf(daemon.dataDir).files();
    for (const life of this.#lives) {
      const found = served.get(life.name);
      const view = found?.view ?? null;
      const expected = this.#expected(life, view);
      if (!fits(view, expected)) {
        const texts = [view, expected].map((one) => JSON.stringify(one));
        journal.violation(`${life.name} is ${texts[0]}, expected ${texts[1]}`);
      }
      const inGit = view !== null && !view.terminating;
      if (files.has(life.file) !== inGit) {
        journal.violation(
          `${life.file} is ${inGit ? 'not ' : ''}in git, the object is ${JSON.stringify(view)}`,
        );
      }
      life.known = view;
      life.resourceVersion = found?.version ?? '';
      life.pending = undefined;
    }
  }

  #expected({ known, pending }: Life, found: View | null): View | null {
    if (pending === undefined) return known;
    if (!pending.commits) return fits(found, pending.expected) ? pending.expected : known;
    const done = this.#commits.has(pending.key);
    this.landed[done ? 'done' : 'not'] += 1;
    return done ? pending.expected : known;
  }
}

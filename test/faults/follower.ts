/**
 * A client of list and watch that goes on over restarts, and lists only once. It folds events into what
 * it believes is there, and knows every event that there was: a restart must not make it list again,
 * and a watch that goes on from a number of the last minute must get what it got.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type WatchEvent, type Watching, watching } from '../e2e/watching.ts';
import type { Daemon } from '../support/daemon.ts';
import type { Random } from '../support/random.ts';
import type { Journal } from './journal.ts';

const MINUTE_MS = 60_000;

export class Follower {
  readonly #path: string;
  readonly #kind: string;
  readonly #journal: Journal;
  /** Object versions by name. */
  #objects = new Map<string, string>();
  #last = '';
  #watch: Watching | undefined;
  #taken = 0;
  readonly #history: { readonly version: string; readonly text: string; readonly at: number }[] =
    [];
  readonly #seen = new Set<string>();
  /** How often the past was read again, from a number of the last minute. */
  recalled = 0;
  /** How often it was told to list again. */
  expired = 0;
  /** How often it could go on where it was, after a restart. */
  resumed = 0;
  events = 0;

  constructor(path: string, kind: string, journal: Journal) {
    this.#path = path;
    this.#kind = kind;
    this.#journal = journal;
  }

  /** Lists at first, then watches on from where it was. */
  async attach(daemon: Daemon): Promise<void> {
    if (this.#last === '') await this.#list(daemon);
    else this.resumed += 1;
    const query = `watch=true&resourceVersion=${this.#last}`;
    this.#watch = await watching(daemon, `${this.#path}?${query}`);
    this.#taken = 0;
  }

  /** Takes in what has come since, and ends the stream. */
  detach(): void {
    this.#take();
    this.#watch?.close();
    this.#watch = undefined;
  }

  /** Compares what it believes with a list, which it must come to agree with. */
  async expectInStep(daemon: Daemon): Promise<void> {
    const giveUp = performance.now() + 30_000;
    for (;;) {
      if (this.#take()) {
        this.resumed -= 1;
        this.#watch?.close();
        this.#last = '';
        await this.attach(daemon);
      }
      const wanted = versionsOf(await this.#get(daemon));
      this.#take();
      const difference = differenceOf(this.#objects, wanted) ?? this.#missed();
      if (difference === undefined) return;
      if (performance.now() > giveUp) {
        this.#journal.violation(`watch of ${this.#path}: ${difference}`);
        this.#last = '';
        return;
      }
      await sleep(20);
    }
  }

  /** Reads on from a number of the last minute, and expects what it was sent in the first place. */
  async expectRecall(daemon: Daemon, random: Random): Promise<void> {
    const since = performance.now() - MINUTE_MS;
    const recent = this.#history.findIndex(({ at }) => at > since);
    if (recent < 0) return;
    const from = recent + random.below(this.#history.length - recent);
    const wanted = this.#history.slice(from + 1).map(({ text }) => text);
    const query = `watch=true&resourceVersion=${this.#history[from]?.version}`;
    const watch = await watching(daemon, `${this.#path}?${query}`);
    try {
      const giveUp = performance.now() + 10_000;
      const events = (): WatchEvent[] => watch.events.filter(({ type }) => type !== 'BOOKMARK');
      const last = (): string | undefined => events().at(-1)?.type;
      while (events().length < wanted.length && last() !== 'ERROR' && performance.now() < giveUp) {
        await sleep(5);
      }
      const found = events().map((event) => JSON.stringify(event));
      this.recalled += 1;
      const at = wanted.findIndex((text, index) => found[index] !== text);
      if (at < 0 && found.length === wanted.length) return;
      this.#journal.violation(
        `watch of ${this.#path} from ${query}: event ${at} of ${wanted.length} is ${found[at]}, and was ${wanted[at]}`,
      );
    } finally {
      watch.close();
    }
  }

  /** A write that was answered, of which there was no event. */
  #missed(): string | undefined {
    for (const answer of this.#journal.answers) {
      if (!answer.startsWith(`${this.#kind}/`)) continue;
      if (!this.#seen.has(answer)) return `no event of ${answer}`;
      this.#journal.answers.delete(answer);
    }
    return undefined;
  }

  async #list(daemon: Daemon): Promise<void> {
    const list = await this.#get(daemon);
    this.#objects = versionsOf(list);
    this.#last = list.metadata.resourceVersion;
  }

  // biome-ignore lint/suspicious/noExplicitAny: lists of every shape
  async #get(daemon: Daemon): Promise<any> {
    const answer = await daemon.call('GET', this.#path);
    const list = answer.json();
    const version = Number(list.metadata.resourceVersion);
    if (version < this.#journal.highestVersion) {
      this.#journal.violation(
        `list of ${this.#path} is at ${version}, and ${this.#journal.highestVersion} was served`,
      );
    }
    return list;
  }

  /** True when the server said that the position is gone. */
  #take(): boolean {
    const events = this.#watch?.events ?? [];
    while (this.#taken < events.length) {
      const event = events[this.#taken++] as WatchEvent;
      if (event.type === 'ERROR') return this.#failed(event);
      this.#apply(event);
    }
    return false;
  }

  #failed({ object }: WatchEvent): boolean {
    if (object.code === 410) this.expired += 1;
    this.#journal.violation(
      `watch of ${this.#path} from ${this.#last} failed: ${JSON.stringify(object)}`,
    );
    return true;
  }

  #apply(event: WatchEvent): void {
    const { type, object } = event;
    const { name, resourceVersion } = object.metadata;
    const complain = (text: string): void =>
      this.#journal.violation(`watch of ${this.#path}: ${type} of ${name} ${text}`);
    if (Number(resourceVersion) <= Number(this.#last)) {
      complain(`at ${resourceVersion} comes after ${this.#last}`);
    }
    if (type === 'BOOKMARK') return;
    if ((type === 'ADDED') === this.#objects.has(name)) {
      complain(type === 'ADDED' ? 'that is there already' : 'that is not there');
    }
    this.events += 1;
    this.#last = resourceVersion;
    const text = JSON.stringify(event);
    this.#history.push({ version: resourceVersion, text, at: performance.now() });
    this.#seen.add(`${this.#kind}/${name}@${resourceVersion}`);
    this.#journal.sawVersion(resourceVersion);
    if (type === 'DELETED') this.#objects.delete(name);
    else this.#objects.set(name, resourceVersion);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: lists of every shape
function versionsOf(list: any): Map<string, string> {
  return new Map(
    // biome-ignore lint/suspicious/noExplicitAny: objects of every shape
    list.items.map(({ metadata }: any) => [metadata.name, metadata.resourceVersion]),
  );
}

function differenceOf(
  believed: ReadonlyMap<string, string>,
  listed: ReadonlyMap<string, string>,
): string | undefined {
  for (const name of new Set([...believed.keys(), ...listed.keys()])) {
    const [mine, theirs] = [believed.get(name), listed.get(name)];
    if (mine !== theirs) return `${name} is ${mine} by events and ${theirs} in the list`;
  }
  return undefined;
}

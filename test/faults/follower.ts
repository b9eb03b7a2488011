/**
 * A client of list and watch that goes on over restarts. It folds events into what it believes is
 * there, and knows within which versions it cannot have missed anything.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type WatchEvent, type Watching, watching } from '../e2e/watching.ts';
import type { Daemon } from '../support/daemon.ts';
import type { Journal } from './journal.ts';

export class Follower {
  readonly #path: string;
  readonly #journal: Journal;
  /** Object versions by name. */
  #objects = new Map<string, string>();
  #last = '';
  #watch: Watching | undefined;
  #taken = 0;
  /** How often it could go on where it was, after a restart. */
  resumed = 0;
  events = 0;

  constructor(path: string, journal: Journal) {
    this.#path = path;
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
      const difference = differenceOf(this.#objects, wanted);
      if (difference === undefined) return;
      if (performance.now() > giveUp) {
        this.#journal.violation(`watch of ${this.#path}: ${difference}`);
        this.#last = '';
        return;
      }
      await sleep(20);
    }
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
    if (object.code !== 410) {
      this.#journal.violation(`watch of ${this.#path} failed: ${JSON.stringify(object)}`);
    }
    return true;
  }

  #apply({ type, object }: WatchEvent): void {
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

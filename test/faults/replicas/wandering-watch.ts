/**
 * A watch that goes on at another replica with the version it had, again and again: nothing may be
 * missing or come twice.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../../support/replica.ts';
import { Asker, authorityOf } from './ask.ts';
import { type Scene, TEAMS } from './scene.ts';

export interface Seen {
  readonly version: number;
  readonly type: string;
  readonly name: string;
  readonly value: string | undefined;
}

const LONGEST_STAY_MS = 3_000;

export class WanderingWatch {
  /** Since the last list. */
  seen: Seen[] = [];
  /** Of the last list. */
  from = 0;
  moves = 0;
  /** How often it was told that its version is too old. */
  lost = 0;
  readonly #scene: Scene;
  readonly #asker = new Asker();
  readonly #there = new Set<string>();
  #last = '';
  #open: ClientRequest | undefined;
  #isOver = false;
  #running: Promise<void> | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Resolves when it has its list. */
  async begin(first: Replica): Promise<void> {
    await this.#list(first);
    this.#running = this.#wander(first);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#open?.destroy();
    await this.#running;
    this.#asker.close();
  }

  async #wander(first: Replica): Promise<void> {
    let replica = first;
    while (!this.#isOver) {
      if (this.#last === '') await this.#list(replica).catch(() => sleep(100));
      else await this.#stay(replica).catch(() => sleep(100));
      replica = this.#scene.somewhere(replica);
      this.moves += 1;
    }
  }

  async #list(replica: Replica): Promise<void> {
    const { token } = this.#scene.set;
    const { code, body, text } = await this.#asker.ask(replica, { path: TEAMS, token });
    if (code !== 200) throw new Error(`${code} ${text}`);
    this.#last = body.metadata.resourceVersion;
    this.from = Number(this.#last);
    this.seen = [];
    this.#there.clear();
    for (const { metadata } of body.items) this.#there.add(metadata.name);
  }

  /** Until it is cut, ended, or has been long enough. */
  async #stay(replica: Replica): Promise<void> {
    const { token } = this.#scene.set;
    const signal = AbortSignal.timeout(200 + this.#scene.random.below(LONGEST_STAY_MS));
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const path = `${TEAMS}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#last}`;
      const headers = { authorization: `Bearer ${token}` };
      const where = { host: replica.place.host, port: replica.port, ca: authorityOf(replica) };
      const sent = request({ ...where, path, headers, agent: false, signal }, resolve);
      sent.on('error', reject);
      sent.end();
      this.#open = sent;
    });
    response.setEncoding('utf8');
    if (response.statusCode === 410) this.#forget();
    let rest = '';
    for await (const chunk of response) {
      if (response.statusCode !== 200) continue;
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line), replica);
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: events of every shape
  #take({ type, object }: any, replica: Replica): void {
    if (type === 'ERROR') {
      if (object.code === 410) this.#forget();
      else this.#complain(replica, `was told ${JSON.stringify(object)}`);
      return;
    }
    const { name, resourceVersion } = object.metadata;
    const version = Number(resourceVersion);
    const before = Number(this.#last);
    if (type === 'BOOKMARK' ? version < before : version <= before) {
      this.#complain(replica, `has ${type} of ${name} at ${version} after ${before}`);
    }
    this.#last = resourceVersion;
    if (type === 'BOOKMARK') return;
    if ((type === 'ADDED') === this.#there.has(name)) {
      this.#complain(
        replica,
        `has ${type} of ${name}, which is${type === 'ADDED' ? '' : ' not'} there`,
      );
    }
    if (type === 'DELETED') this.#there.delete(name);
    else this.#there.add(name);
    this.seen.push({ version, type, name, value: object.spec?.displayName });
  }

  #forget(): void {
    this.lost += 1;
    this.#last = '';
  }

  #complain(replica: Replica, text: string): void {
    this.#scene.violation(`a watch at ${replica.name} ${text}`);
  }
}

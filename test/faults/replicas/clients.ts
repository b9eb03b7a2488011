/**
 * Clients of the API, each at one replica until that fails it. A write without a good answer is
 * sent again with the same idempotency key, elsewhere: it must be done once at most.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../../support/replica.ts';
import type { Input, Output } from '../object-model.ts';
import { type Asked, Asker, type Question } from './ask.ts';
import { MERGE_PATCH, type Scene, TEAMS } from './scene.ts';

const TRIES = 4;
const REASONS = ['NotFound', 'AlreadyExists', 'Conflict'];

export async function useApi(scene: Scene): Promise<void> {
  const client = new Client(scene);
  while (!scene.over) {
    await client.next();
    await sleep(scene.random.below(25));
  }
  client.close();
}

class Client {
  readonly #scene: Scene;
  readonly #asker = new Asker();
  /** As this client saw them last. */
  readonly #versions = new Map<string, string>();
  #replica: Replica;
  /** The newest version that it knows of, from whichever replica: it must never see an older one. */
  #newest = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#replica = scene.somewhere();
  }

  close(): void {
    this.#asker.close();
  }

  async next(): Promise<void> {
    const { random, names } = this.#scene;
    if (random.chance(0.1)) this.#move();
    if (random.chance(0.1)) await this.#list();
    else {
      const name = random.pick(names);
      const input = this.#choose(this.#versions.get(name));
      await (input.op === 'read' ? this.#read(name) : this.#write(name, input));
    }
  }

  #choose(version: string | undefined): Input {
    const { random, pushesLost } = this.#scene;
    // Reads go on while pushes, which take longer, get a turn.
    const roll = pushesLost > 1 ? 0 : random.next();
    const value = this.#scene.mark();
    if (roll < 0.3) return { op: 'read' };
    if (roll < 0.5) return { op: 'create', value };
    if (roll < 0.7) return { op: 'patch', value };
    if (roll < 0.9 && version !== undefined) return { op: 'update', value, version };
    return { op: 'delete' };
  }

  async #read(name: string): Promise<void> {
    const called = performance.now();
    const answer = await this.#ask({ path: `${TEAMS}/${name}` });
    const output =
      answer === undefined ? undefined : outputOf({ op: 'read' }, answer, this.#complain);
    if (output === undefined) return;
    this.#learn(name, output);
    this.#record(name, { op: 'read' }, { output, called, key: undefined, answer });
  }

  /** A list is a read of every object, at one moment. */
  async #list(): Promise<void> {
    const called = performance.now();
    const answer = await this.#ask({ path: TEAMS });
    if (answer?.code !== 200) return;
    const { items, metadata } = answer.body;
    this.#see(Number(metadata.resourceVersion), 'a list');
    for (const name of this.#scene.names) {
      // biome-ignore lint/suspicious/noExplicitAny: objects of every shape
      const found = items.find((item: any) => item.metadata.name === name);
      const output: Output =
        found === undefined
          ? { ok: false, reason: 'NotFound' }
          : { ok: true, value: found.spec.displayName, version: found.metadata.resourceVersion };
      this.#record(name, { op: 'read' }, { output, called, key: undefined, answer });
    }
  }

  async #write(name: string, input: Input): Promise<void> {
    const key = this.#scene.key();
    const question = { ...questionOf(name, input), headers: { 'idempotency-key': key } };
    const called = performance.now();
    let answer: Asked | undefined;
    let output: Output | undefined;
    for (let tries = 0; tries < TRIES && output === undefined; tries++) {
      if (tries > 0) await sleep(100 + this.#scene.random.below(400));
      answer = await this.#ask(question);
      output = answer === undefined ? undefined : outputOf(input, answer, this.#complain);
    }
    if (output !== undefined) this.#learn(name, output);
    this.#record(name, input, { output, called, key, answer });
  }

  #record(
    name: string,
    input: Input,
    of: {
      output: Output | undefined;
      called: number;
      key: string | undefined;
      answer?: Asked | undefined;
    },
  ): void {
    const { output, called, key, answer } = of;
    const returned = output === undefined ? Number.POSITIVE_INFINITY : performance.now();
    const commit = answer?.headers['gitplane-commit'] as string | undefined;
    const end = answer === undefined ? 'no answer' : `${answer.code} ${answer.body?.reason ?? ''}`;
    this.#scene.operations.push({ name, input, output, called, returned, key, commit, end });
  }

  #learn(name: string, output: Output): void {
    if (!output.ok || output.version === undefined) return;
    this.#versions.set(name, output.version);
    this.#newest = Math.max(this.#newest, Number(output.version));
  }

  #see(version: number, what: string): void {
    if (version < this.#newest) {
      this.#scene.violation(
        `${what} from ${this.#replica.name} is at ${version}: its client knows ${this.#newest}`,
        'stale',
      );
    }
    this.#newest = Math.max(this.#newest, version);
  }

  /** Undefined: no answer, or one that says nothing; the client goes elsewhere then. */
  async #ask(question: Omit<Question, 'token'>): Promise<Asked | undefined> {
    const { token } = this.#scene.set;
    try {
      const answer = await this.#asker.ask(this.#replica, { ...question, token });
      const { code, text } = answer;
      if (code < 500 && code !== 429 && !isBehind(code, text)) return answer;
      this.#move();
      return answer;
    } catch {
      this.#move();
      return undefined;
    }
  }

  readonly #complain = (text: string): undefined => {
    this.#scene.violation(text);
  };

  #move(): void {
    this.#replica = this.#scene.somewhere(this.#replica);
  }
}

function questionOf(name: string, input: Input): Omit<Question, 'token'> {
  const path = `${TEAMS}/${name}`;
  switch (input.op) {
    case 'create': {
      const body = { metadata: { name }, spec: { displayName: input.value } };
      return { method: 'POST', path: TEAMS, body };
    }
    case 'patch':
      return {
        method: 'PATCH',
        path,
        body: { spec: { displayName: input.value } },
        type: MERGE_PATCH,
      };
    case 'update': {
      const metadata = { name, resourceVersion: input.version };
      return { method: 'PUT', path, body: { metadata, spec: { displayName: input.value } } };
    }
    case 'delete':
      return { method: 'DELETE', path };
    default:
      return { path };
  }
}

/** A replica whose clock went back does not take keys that were made since. */
function isBehind(code: number, text: string): boolean {
  return code === 401 && text.includes('made in the future');
}

/** Undefined: it may have been done, or not. */
function outputOf(
  input: Input,
  { code, body, text }: Asked,
  complain: (text: string) => undefined,
): Output | undefined {
  if (code >= 500 || code === 429 || isBehind(code, text)) return undefined;
  if (code < 300) {
    if (input.op === 'delete') return { ok: true };
    // Sent again after a change of leader, and the object is gone since: it was done, says the answer.
    if (body.spec === undefined && input.op !== 'read') return { ok: true };
    return { ok: true, value: body.spec.displayName, version: body.metadata.resourceVersion };
  }
  if (REASONS.includes(body?.reason)) return { ok: false, reason: body.reason };
  return complain(`${input.op} was answered ${code} ${text}`);
}

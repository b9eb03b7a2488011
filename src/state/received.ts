/** The home of one version that came as a record. */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import { HeldObject, type Home } from './held-object.ts';
import { type Labels, labelsOf } from './labels.ts';
import { decodeHeads, type Head } from './record.ts';
import type { Remark } from './store.ts';

class Received implements Home {
  readonly #json: Buffer;
  readonly #resourceVersion: number;
  readonly #terminating: boolean;
  readonly #hidden: string | undefined;
  /** Null: it has none. */
  #labels: Labels | null | undefined;

  constructor(head: Head, record: Buffer, start: number) {
    const [, , , , version, terminating, object, hidden] = head;
    // A copy: the bytes around it need not stay in memory.
    this.#json = Buffer.from(record.subarray(start, start + object));
    const beside = record.toString('utf8', start + object, start + object + hidden);
    this.#hidden = hidden === 0 ? undefined : beside;
    this.#resourceVersion = version;
    this.#terminating = terminating === 1;
  }

  resourceVersion(): number {
    return this.#resourceVersion;
  }

  terminating(): boolean {
    return this.#terminating;
  }

  json(): Buffer {
    return this.#json;
  }

  object(): KubeObject {
    return JSON.parse(this.#json.toString()) as KubeObject;
  }

  labels(): Labels | undefined {
    if (this.#labels === undefined) this.#labels = labelsOf(this.#json.toString()) ?? null;
    return this.#labels ?? undefined;
  }

  hidden(): JsonObject | undefined {
    return this.#hidden === undefined ? undefined : (JSON.parse(this.#hidden) as JsonObject);
  }

  /** Only who writes needs it. */
  remark(): Remark | undefined {
    return undefined;
  }
}

/** The object of a record that holds one. Throws for any other. `known`: its key, if it is at hand. */
export function receivedObject(record: Buffer, known?: ObjectKey): HeldObject {
  const { heads, start } = decodeHeads(record);
  const [head] = heads;
  if (head === undefined || heads.length !== 1) throw new Error('not one object');
  const [group, kind, namespace, name] = head;
  const key = known ?? Object.freeze({ group, kind, namespace, name });
  return new HeldObject(key, new Received(head, record, start), 0);
}

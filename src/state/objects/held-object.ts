/**
 * One version of an object as memory has it: a key, and a place where the rest is. The rest is
 * bytes wherever possible. An object that is parsed takes four times the memory, and most are
 * asked for rarely, and then as bytes.
 */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import type { Provenance, StoredObject } from '../store.ts';
import type { Labels } from './labels.ts';

/** Where versions of objects are, by position. */
export interface Home {
  resourceVersion(at: number): number;
  terminating(at: number): boolean;
  json(at: number): Buffer;
  /** Made anew at every call. */
  object(at: number): KubeObject;
  labels(at: number): Labels | undefined;
  hidden(at: number): JsonObject | undefined;
  remark(at: number): Provenance | undefined;
}

/** Parsed objects that are kept, those that were asked for last. */
const MOST_PARSED = 1024;

const parsed = new Map<HeldObject, KubeObject>();

export class HeldObject implements StoredObject {
  readonly key: ObjectKey;
  #home: Home;
  #at: number;

  constructor(key: ObjectKey, home: Home, at: number) {
    this.key = key;
    this.#home = home;
    this.#at = at;
  }

  get home(): Home {
    return this.#home;
  }

  get at(): number {
    return this.#at;
  }

  get resourceVersion(): number {
    return this.#home.resourceVersion(this.#at);
  }

  get terminating(): boolean {
    return this.#home.terminating(this.#at);
  }

  get object(): KubeObject {
    const known = parsed.get(this);
    if (known !== undefined) return known;
    const object = this.#home.object(this.#at);
    this.expect(object);
    return object;
  }

  get labels(): Labels | undefined {
    return this.#home.labels(this.#at);
  }

  get hidden(): JsonObject | undefined {
    return this.#home.hidden(this.#at);
  }

  json(): Buffer {
    return this.#home.json(this.#at);
  }

  remark(): Provenance | undefined {
    return this.#home.remark(this.#at);
  }

  /** The object is at hand and will soon be asked for. It is frozen and must be this version. */
  expect(object: KubeObject): void {
    Object.freeze(object);
    Object.freeze(object.metadata);
    parsed.set(this, object);
    if (parsed.size <= MOST_PARSED) return;
    const [oldest] = parsed.keys();
    if (oldest !== undefined) parsed.delete(oldest);
  }

  /** The same version is somewhere else now. */
  move(home: Home, at: number): void {
    this.#home = home;
    this.#at = at;
  }
}

/** A copy down to the metadata; what lies deeper is shared with the input. */
export function withResourceVersion(object: KubeObject, resourceVersion: number): KubeObject {
  const metadata = { ...object.metadata, resourceVersion: String(resourceVersion) };
  return { ...object, metadata };
}

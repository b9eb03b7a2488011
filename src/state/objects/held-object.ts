/**
 * A handle to one version of an object: its key, and a position in a container. Containers keep
 * bytes where possible: a parsed object takes four times the memory, and most are read rarely, and
 * then as bytes.
 */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import type { Provenance, StoredObject } from '../store.ts';
import type { Labels } from './labels.ts';

/** Storage of object versions, by position. */
export interface Home {
  resourceVersion(at: number): number;
  terminating(at: number): boolean;
  json(at: number): Buffer;
  /** A new copy per call. */
  object(at: number): KubeObject;
  labels(at: number): Labels | undefined;
  hidden(at: number): JsonObject | undefined;
  remark(at: number): Provenance | undefined;
}

/** Limit of the cache of parsed objects; the oldest are evicted. */
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

  /** Caches the parsed form of this version, and freezes it. */
  expect(object: KubeObject): void {
    Object.freeze(object);
    Object.freeze(object.metadata);
    parsed.set(this, object);
    if (parsed.size <= MOST_PARSED) return;
    const [oldest] = parsed.keys();
    if (oldest !== undefined) parsed.delete(oldest);
  }

  /** Points the handle to the same version in another container. */
  move(home: Home, at: number): void {
    this.#home = home;
    this.#at = at;
  }
}

/** Copies the object down to its metadata; deeper values are shared with the input. */
export function withResourceVersion(object: KubeObject, resourceVersion: number): KubeObject {
  const metadata = { ...object.metadata, resourceVersion: String(resourceVersion) };
  return { ...object, metadata };
}

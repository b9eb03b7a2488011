/**
 * A handle to one version of an object: its key, and a position in a container. Containers keep
 * bytes where possible: a parsed object takes four times the memory, and most are read rarely, and
 * then as bytes.
 */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import type { Provenance, StoredObject } from '../store.ts';
import type { Labels } from './labels.ts';

/** Storage of object versions, by position. */
export interface VersionContainer {
  resourceVersion(at: number): number;
  terminating(at: number): boolean;
  json(at: number): Buffer;
  /** A new copy per call. */
  object(at: number): KubeObject;
  labels(at: number): Labels | undefined;
  hidden(at: number): JsonObject | undefined;
  provenance(at: number): Provenance | undefined;
}

/** Limit of the cache of parsed objects; the oldest are evicted. */
const MAX_PARSED = 1024;

const parsed = new Map<ObjectHandle, KubeObject>();

export class ObjectHandle implements StoredObject {
  readonly key: ObjectKey;
  #container: VersionContainer;
  #at: number;

  constructor(key: ObjectKey, container: VersionContainer, at: number) {
    this.key = key;
    this.#container = container;
    this.#at = at;
  }

  get container(): VersionContainer {
    return this.#container;
  }

  get at(): number {
    return this.#at;
  }

  get resourceVersion(): number {
    return this.#container.resourceVersion(this.#at);
  }

  get terminating(): boolean {
    return this.#container.terminating(this.#at);
  }

  get object(): KubeObject {
    const known = parsed.get(this);
    if (known !== undefined) return known;
    const object = this.#container.object(this.#at);
    this.cacheParsed(object);
    return object;
  }

  get labels(): Labels | undefined {
    return this.#container.labels(this.#at);
  }

  get hidden(): JsonObject | undefined {
    return this.#container.hidden(this.#at);
  }

  json(): Buffer {
    return this.#container.json(this.#at);
  }

  provenance(): Provenance | undefined {
    return this.#container.provenance(this.#at);
  }

  /** Caches the parsed form of this version, and freezes it. */
  cacheParsed(object: KubeObject): void {
    Object.freeze(object);
    Object.freeze(object.metadata);
    parsed.set(this, object);
    if (parsed.size <= MAX_PARSED) return;
    const [oldest] = parsed.keys();
    if (oldest !== undefined) parsed.delete(oldest);
  }

  /** Points the handle to the same version in another container. */
  move(container: VersionContainer, at: number): void {
    this.#container = container;
    this.#at = at;
  }
}

/** Copies the object down to its metadata; deeper values are shared with the input. */
export function withResourceVersion(object: KubeObject, resourceVersion: number): KubeObject {
  const metadata = { ...object.metadata, resourceVersion: String(resourceVersion) };
  return { ...object, metadata };
}

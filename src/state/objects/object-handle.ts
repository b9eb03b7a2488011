/**
 * A handle to one version of an object: its key, and a position in a container. Containers keep
 * bytes where possible: a parsed object takes four times the memory, and most are read rarely, and
 * then as bytes.
 */
import { LRUCache } from 'lru-cache';
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

/** Parsed objects that are used a lot: so many, with so many bytes of JSON. Parsed they take four times as much. */
const parsed = new LRUCache<ObjectHandle, KubeObject>({
  max: 1024,
  maxSize: 32 * 1024 * 1024,
  sizeCalculation: (_object, stored) => stored.json().length,
});

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

/** One version of an object: what readers share, and its JSON, encoded at most once. */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import type { StoredObject } from './store.ts';

export class ObjectVersion implements StoredObject {
  readonly key: ObjectKey;
  readonly resourceVersion: number;
  readonly object: KubeObject;
  readonly hidden: JsonObject | undefined;
  #json: Buffer | undefined;

  /** `object` carries its `metadata.resourceVersion` and belongs to the store from here on. */
  constructor(key: ObjectKey, object: KubeObject, hidden: JsonObject | undefined) {
    this.key = key;
    this.resourceVersion = Number(object.metadata.resourceVersion);
    this.object = object;
    this.hidden = hidden;
    Object.freeze(object);
    Object.freeze(object.metadata);
  }

  json(): Buffer {
    this.#json ??= Buffer.from(JSON.stringify(this.object));
    return this.#json;
  }
}

/** A copy down to the metadata; what lies deeper is shared with the input. */
export function withResourceVersion(object: KubeObject, resourceVersion: number): KubeObject {
  const metadata = { ...object.metadata, resourceVersion: String(resourceVersion) };
  return { ...object, metadata };
}

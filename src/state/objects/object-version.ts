/** A version of an object that is built for a reader and not stored. */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import type { StoredObject } from '../store.ts';
import type { Labels } from './labels.ts';

export class ObjectVersion implements StoredObject {
  readonly key: ObjectKey;
  readonly object: KubeObject;
  readonly hidden: JsonObject | undefined;
  #json: Buffer | undefined;

  /** `object` includes `metadata.resourceVersion`. */
  constructor(key: ObjectKey, object: KubeObject, hidden: JsonObject | undefined) {
    this.key = key;
    this.object = object;
    this.hidden = hidden;
    Object.freeze(object);
    Object.freeze(object.metadata);
  }

  get resourceVersion(): number {
    return Number(this.object.metadata.resourceVersion);
  }

  get labels(): Labels | undefined {
    return this.object.metadata.labels;
  }

  get terminating(): boolean {
    return this.object.metadata.deletionTimestamp !== undefined;
  }

  json(): Buffer {
    this.#json ??= Buffer.from(JSON.stringify(this.object));
    return this.#json;
  }

  provenance(): undefined {
    return undefined;
  }
}

/**
 * A past object as readers see it: the fields from history with present defaults, without those
 * stored beside git. It has no resourceVersion: that is a position in the journal, and no client
 * can watch or update from a past object.
 */
import type { JsonObject, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import { type CatalogObject, provenanceFacts } from '../catalog/index.ts';
import { type Kind, valuesAt } from '../kinds/index.ts';
import { serveObject } from '../registry/index.ts';
import type { Provenance, StoredObject } from '../state/index.ts';

export class PastObject implements StoredObject {
  readonly resourceVersion = 0;
  readonly terminating = false;
  readonly isPast = true;
  readonly source: CatalogObject;
  readonly #kind: Kind;
  readonly #time: number;
  #served: ReturnType<typeof serveObject> | undefined;

  /** `time`: of the commit, in milliseconds. The object is built on demand. */
  constructor(kind: Kind, source: CatalogObject, time: number) {
    this.source = source;
    this.#kind = kind;
    this.#time = time;
  }

  get key(): ObjectKey {
    return this.source.key;
  }

  get object(): KubeObject {
    return this.#build().object;
  }

  get labels(): StoredObject['labels'] {
    return this.object.metadata.labels;
  }

  /** True if the manifest has values that readers without `get` never see. */
  get hasSecrets(): boolean {
    const { manifest, source } = this.source;
    if (source.encrypted !== undefined) return true;
    return valuesAt([manifest], this.#kind.secretPaths).length > 0;
  }

  get hidden(): JsonObject | undefined {
    return this.#build().hidden;
  }

  json(): Buffer {
    return Buffer.from(JSON.stringify(this.object));
  }

  /** The object was in git; records of other managers belong to the present. */
  provenance(): Provenance {
    return { facts: provenanceFacts(this.source) };
  }

  #build(): ReturnType<typeof serveObject> {
    this.#served ??= serveObject(this.#kind, this.source, {
      previous: undefined,
      time: this.#time,
    });
    return this.#served;
  }
}

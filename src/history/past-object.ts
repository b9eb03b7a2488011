/**
 * An object of the past as readers see it: what history tells, with the defaults of today and
 * without what is kept beside git. It has no resourceVersion: that is a place in the journal, where
 * nothing of the past is, and nobody can watch or update from there.
 */
import type { JsonObject, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject } from '../catalog/index.ts';
import type { Kind } from '../kinds/index.ts';
import { serveObject } from '../registry/index.ts';
import type { Provenance, StoredObject } from '../state/index.ts';

export class PastObject implements StoredObject {
  readonly resourceVersion = 0;
  readonly terminating = false;
  readonly source: CatalogObject;
  readonly #kind: Kind;
  readonly #time: number;
  #served: ReturnType<typeof serveObject> | undefined;

  /** `time`: of the commit, in milliseconds. Nothing is built before it is asked for. */
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

  get hidden(): JsonObject | undefined {
    return this.#build().hidden;
  }

  json(): Buffer {
    return Buffer.from(JSON.stringify(this.object));
  }

  /** Git has it, whatever it was: the record of other managers is of the present. */
  provenance(): Provenance {
    return { facts: null };
  }

  #build(): ReturnType<typeof serveObject> {
    this.#served ??= serveObject(this.#kind, this.source, {
      previous: undefined,
      time: this.#time,
    });
    return this.#served;
  }
}

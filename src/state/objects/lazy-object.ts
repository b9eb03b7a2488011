/** A container of versions that are built on first access. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import type { MadeObject, ObjectFactory, Provenance, Source, StoredObject } from '../store.ts';
import type { Labels } from './labels.ts';
import { type VersionContainer, withResourceVersion } from './object-handle.ts';

export class LazyObject<S extends Source> implements VersionContainer {
  readonly #first: number;
  readonly #filling: ObjectFactory<S>;
  readonly #sources: readonly S[];
  /** The last built object: callers usually read several of its fields in a row. */
  #last: { at: number; made: MadeObject } | undefined;

  /** `first`: resourceVersion of the first source. */
  constructor(filling: ObjectFactory<S>, sources: readonly S[], first: number) {
    this.#filling = filling;
    this.#sources = sources;
    this.#first = first;
  }

  resourceVersion(at: number): number {
    return this.#first + at;
  }

  terminating(): boolean {
    return false;
  }

  json(at: number): Buffer {
    return Buffer.from(JSON.stringify(this.object(at)));
  }

  object(at: number): KubeObject {
    return withResourceVersion(this.#make(at).object, this.resourceVersion(at));
  }

  labels(at: number): Labels | undefined {
    return this.#make(at).object.metadata.labels;
  }

  hidden(at: number): JsonObject | undefined {
    return this.#make(at).hidden;
  }

  provenance(at: number): Provenance | undefined {
    return this.#make(at).provenance;
  }

  /** Called when the version has moved to another container. */
  settled(at: number, stored: StoredObject): void {
    const source = this.#sources[at];
    if (source !== undefined) this.#filling.settled(source, stored);
    this.#last = undefined;
  }

  #make(at: number): MadeObject {
    if (this.#last?.at !== at) {
      const source = this.#sources[at];
      if (source === undefined) throw new RangeError(`There is no source ${at}`);
      this.#last = { at, made: this.#filling.make(source) };
    }
    return this.#last.made;
  }
}

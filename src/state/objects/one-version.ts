/** A container of one version: its bytes, and the fields that are read most. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import type { Provenance } from '../store.ts';
import type { Labels } from './labels.ts';
import type { VersionContainer } from './object-handle.ts';

export abstract class OneVersion implements VersionContainer {
  readonly #json: Buffer;
  readonly #resourceVersion: number;
  readonly #terminating: boolean;

  constructor(json: Buffer, resourceVersion: number, terminating: boolean) {
    this.#json = json;
    this.#resourceVersion = resourceVersion;
    this.#terminating = terminating;
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
    return JSON.parse(this.#json.toString());
  }

  abstract labels(): Labels | undefined;
  abstract hidden(): JsonObject | undefined;
  abstract provenance(): Provenance | undefined;
}

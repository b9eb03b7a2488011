/** The home of one version: what changed since objects were packed last. */
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import type { Home } from './held-object.ts';
import { type Labels, sharedLabels } from './labels.ts';
import type { Remark } from './store.ts';

interface Beside {
  readonly hidden?: JsonObject | undefined;
  readonly remark?: Remark | undefined;
}

export class Single implements Home {
  readonly #json: Buffer;
  readonly #resourceVersion: number;
  readonly #terminating: boolean;
  readonly #labels: Labels | undefined;
  readonly #beside: Beside;

  /** `object` carries its `metadata.resourceVersion`. Throws for what is no JSON. */
  constructor(object: KubeObject, beside: Beside) {
    this.#json = Buffer.from(JSON.stringify(object));
    this.#resourceVersion = Number(object.metadata.resourceVersion);
    this.#terminating = object.metadata.deletionTimestamp !== undefined;
    this.#labels = sharedLabels(object.metadata.labels);
    this.#beside = beside;
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
    return JSON.parse(this.#json.toString()) as KubeObject;
  }

  labels(): Labels | undefined {
    return this.#labels;
  }

  hidden(): JsonObject | undefined {
    return this.#beside.hidden;
  }

  remark(): Remark | undefined {
    return this.#beside.remark;
  }
}

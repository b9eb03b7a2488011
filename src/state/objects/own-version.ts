/** One version that was written since objects were last packed. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import type { Provenance } from '../store.ts';
import { type Labels, sharedLabels } from './labels.ts';
import { OneVersion } from './one-version.ts';

interface Beside {
  readonly hidden?: JsonObject | undefined;
  readonly remark?: Provenance | undefined;
}

export class OwnVersion extends OneVersion {
  readonly #labels: Labels | undefined;
  readonly #beside: Beside;

  /** `object` includes `metadata.resourceVersion`. Throws if it is not serializable as JSON. */
  constructor(object: KubeObject, beside: Beside) {
    const { resourceVersion, deletionTimestamp, labels } = object.metadata;
    const json = Buffer.from(JSON.stringify(object));
    super(json, Number(resourceVersion), deletionTimestamp !== undefined);
    this.#labels = sharedLabels(labels);
    this.#beside = beside;
  }

  labels(): Labels | undefined {
    return this.#labels;
  }

  hidden(): JsonObject | undefined {
    return this.#beside.hidden;
  }

  remark(): Provenance | undefined {
    return this.#beside.remark;
  }
}

/** One version that was written since objects were last packed. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import type { Provenance } from '../store.ts';
import { type Labels, sharedLabels } from './labels.ts';
import { OneVersion } from './one-version.ts';

interface SideData {
  readonly hidden?: JsonObject | undefined;
  readonly provenance?: Provenance | undefined;
}

export class OwnVersion extends OneVersion {
  readonly #labels: Labels | undefined;
  readonly #side: SideData;

  /** `object` includes `metadata.resourceVersion`. Throws if it is not serializable as JSON. */
  constructor(object: KubeObject, beside: SideData) {
    const { resourceVersion, deletionTimestamp, labels } = object.metadata;
    const json = Buffer.from(JSON.stringify(object));
    super(json, Number(resourceVersion), deletionTimestamp !== undefined);
    this.#labels = sharedLabels(labels);
    this.#side = beside;
  }

  labels(): Labels | undefined {
    return this.#labels;
  }

  hidden(): JsonObject | undefined {
    return this.#side.hidden;
  }

  provenance(): Provenance | undefined {
    return this.#side.provenance;
  }
}

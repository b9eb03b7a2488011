/** Rules of `.sops.yaml` for the files that API writes encrypt. */
import type { Sealing } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { decodeUtf8, relativeTo } from '../../manifests/index.ts';
import {
  creationRuleFor,
  parseSopsConfig,
  SealingError,
  type SopsConfig,
} from '../../sealing/index.ts';

type Blobs = Pick<Repository, 'readBlobs'>;

/** Location of a file, and the encryption rules for it. */
export interface SealedPlace {
  readonly path: string;
  readonly sealing: Sealing | undefined;
  readonly repository: Blobs;
}

/** Caches the last parsed `.sops.yaml`. */
export class CreationRules {
  readonly #configs = new Map<string, SopsConfig>();

  /** Undefined: no `.sops.yaml` is above the path. Throws SealingError. */
  async ruleFor({
    path,
    sealing,
    repository,
  }: SealedPlace): Promise<ReturnType<typeof creationRuleFor>> {
    for (const [config, blob] of Object.entries(sealing?.configs ?? {})) {
      const folder = config.split('/').slice(0, -1).join('/');
      const inner = relativeTo(folder, path);
      if (inner === undefined) continue;
      return creationRuleFor(await this.#config(config, blob, repository), inner);
    }
    return undefined;
  }

  async #config(path: string, blob: string, repository: Blobs): Promise<SopsConfig> {
    const known = this.#configs.get(blob);
    if (known !== undefined) return known;
    const [content = Buffer.alloc(0)] = await repository.readBlobs([blob]);
    try {
      const decoded = decodeUtf8(content);
      if ('problem' in decoded) throw new SealingError(decoded.problem.message);
      const config = parseSopsConfig(decoded.text);
      this.#configs.clear();
      this.#configs.set(blob, config);
      return config;
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      throw new SealingError(`${path} cannot be used: ${error.message}`, { cause: error });
    }
  }
}

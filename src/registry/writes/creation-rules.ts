/** Rules of `.sops.yaml` for the files that API writes encrypt. */
import type { Sealing } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { decodeUtf8, relativeTo } from '../../manifests/index.ts';
import {
  type CreationRule,
  creationRuleFor,
  type ReadSopsConfig,
  readSopsConfig,
  SealingError,
  usable,
} from '../../sealing/index.ts';

type Blobs = Pick<Repository, 'readBlobs'>;

/** A rule of `.sops.yaml`. Undefined: no rule matches. `unread`: the file was not read yet. */
type Known = CreationRule | undefined | 'unread';

/** Location of a file, and the encryption rules for it. */
export interface SealedPlace {
  readonly path: string;
  readonly sealing: Sealing | undefined;
  readonly repository: Blobs;
}

/** One of the folder of the manifests, one of the root, and those of a push that changes them. */
const MOST_CONFIGS = 8;

/** Caches the parsed `.sops.yaml` files. */
export class CreationRules {
  readonly #configs = new Map<string, ReadSopsConfig>();

  /** Undefined: no `.sops.yaml` is above the path. Throws SealingError. */
  async ruleFor({ path, sealing, repository }: SealedPlace): Promise<CreationRule | undefined> {
    const above = nearestConfig(path, sealing);
    if (above === undefined) return undefined;
    const read = await this.#config(above.config, above.blob, repository);
    return explained(above.config, () => creationRuleFor(read, above.inner));
  }

  /** The rule, of files that were read already. Throws SealingError. */
  knownRuleFor({ path, sealing }: Omit<SealedPlace, 'repository'>): Known {
    const above = nearestConfig(path, sealing);
    if (above === undefined) return undefined;
    const read = this.#configs.get(above.blob);
    if (read === undefined) return 'unread';
    return explained(above.config, () => creationRuleFor(read, above.inner));
  }

  /** All rules of files that were read already. Throws SealingError. */
  knownRules({ sealing }: Pick<SealedPlace, 'sealing'>): readonly CreationRule[] | 'unread' {
    const read = Object.values(sealing?.configs ?? {}).map((blob) => this.#configs.get(blob));
    if (read.some((config) => config === undefined)) return 'unread';
    return read.flatMap((config) => config?.rules.map(usable) ?? []);
  }

  async #config(path: string, blob: string, repository: Blobs): Promise<ReadSopsConfig> {
    const known = this.#configs.get(blob);
    if (known !== undefined) return known;
    const [content = Buffer.alloc(0)] = await repository.readBlobs([blob]);
    return explained(path, () => {
      const decoded = decodeUtf8(content);
      if ('problem' in decoded) throw new SealingError(decoded.problem.message);
      const config = readSopsConfig(decoded.text);
      if (this.#configs.size >= MOST_CONFIGS) this.#configs.clear();
      this.#configs.set(blob, config);
      return config;
    });
  }
}

/** The `.sops.yaml` that decides about a path, and the path below its folder. */
function nearestConfig(path: string, sealing: Sealing | undefined) {
  for (const [config, blob] of Object.entries(sealing?.configs ?? {})) {
    const inner = relativeTo(config.split('/').slice(0, -1).join('/'), path);
    if (inner !== undefined) return { config, blob, inner };
  }
  return undefined;
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    throw new SealingError(`${path} cannot be used: ${error.message}`, { cause: error });
  }
}

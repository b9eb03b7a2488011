/** Kubeconfigs of tenants: keys of SharedSecrets, or files of one folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { valueAt } from '../../apimachinery/index.ts';
import type { KindTable, KubeconfigSource } from '../../kinds/index.ts';
import { accessFromKubeconfig, type ClusterAccess } from '../../kubernetes-client/index.ts';
import type { Store } from '../../state/index.ts';

export interface KubeconfigsOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'observe'>;
  /** Folder of kubeconfig files. */
  readonly folder: string;
}

export class Kubeconfigs {
  readonly #options: KubeconfigsOptions;

  constructor(options: KubeconfigsOptions) {
    this.#options = options;
  }

  /** Throws an error without any content of the kubeconfig. */
  async access(source: KubeconfigSource): Promise<ClusterAccess> {
    return accessFromKubeconfig(await this.#text(source));
  }

  /** Calls the listener for each SharedSecret that changes. Returns a function that unsubscribes it. */
  follow(listener: (of: { namespace: string; name: string }) => void): () => void {
    return this.#options.store.observe(this.#kind, ({ current }) => listener(current.key));
  }

  get #kind(): { group: string; kind: string } {
    const { kinds } = this.#options;
    const [group = ''] = kinds.groups;
    return { group, kind: kinds.byPlural(group, 'sharedsecrets')?.kind ?? '' };
  }

  async #text({ file, sharedSecret }: KubeconfigSource): Promise<string> {
    const { store, folder } = this.#options;
    if (file !== undefined) {
      return await readFile(join(folder, file), 'utf8').catch((error: { code?: string }) => {
        throw new Error(`cannot read ${join(folder, file)}: ${error.code}`);
      });
    }
    const { namespace = '', name = '', key = '' } = sharedSecret ?? {};
    const found = store.get({ ...this.#kind, namespace, name });
    const value = valueAt(found?.object, ['spec', 'data', key]);
    if (typeof value === 'string') return Buffer.from(value, 'base64').toString('utf8');
    throw new Error(
      `there is no key ${JSON.stringify(key)} in SharedSecret ${JSON.stringify(`${namespace}/${name}`)}`,
    );
  }
}

/** True if the kubeconfig is in the SharedSecret. */
export function isInSecret(
  source: KubeconfigSource | undefined,
  { namespace, name }: { namespace: string; name: string },
): boolean {
  const { sharedSecret } = source ?? {};
  return sharedSecret?.namespace === namespace && sharedSecret.name === name;
}

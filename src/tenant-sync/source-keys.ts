/** Which object of the tenant an object of the target is about, by their keys: `namespace/name`. */
import type { KubeObject } from '../apimachinery/index.ts';
import type { TenantCluster } from '../endpoint-patches/index.ts';
import { isWhereItWasPut, type SourceName, sourceOf } from './managed-annotations.ts';
import { targetOf } from './translate.ts';

/** Before the key of an object of the target that stands where nothing of ours belongs any more. */
const STRAY = '@';

export class SourceKeys {
  /** By key of the target. */
  readonly #keys = new Map<string, string>();

  set(target: string, source: string): void {
    this.#keys.set(target, source);
  }

  forget(target: string): void {
    this.#keys.delete(target);
  }

  /** A key of the tenant, or that of a stray; undefined: it is about nothing of ours. */
  of(target: string, object: KubeObject | undefined, tenant: TenantCluster): string | undefined {
    // A foreign object may stand where one of ours should: whoever waits for it is in this map.
    const waiting = this.#keys.get(target);
    const from = object && sourceOf(object, tenant.name);
    if (object === undefined || from === undefined) return waiting;
    if (idOf(targetOf(from, tenant)) !== target) {
      // Namespaces are mapped in another way than when it was written. A copy is not ours, whatever
      // its marks say.
      return isWhereItWasPut(object) ? `${STRAY}${target}` : waiting;
    }
    const source = idOf(from);
    this.#keys.set(target, source);
    return source;
  }
}

/** The key of the target that a key means; undefined: it is one of the tenant. */
export function strayIn(key: string): string | undefined {
  return key.startsWith(STRAY) ? key.slice(STRAY.length) : undefined;
}

export function idOf({ namespace, name }: SourceName): string {
  return `${namespace}/${name}`;
}

export function nameFrom(key: string): SourceName {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

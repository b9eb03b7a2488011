/** Maps keys of target objects to keys of tenant objects: `namespace/name`. */
import type { KubeObject } from '../apimachinery/index.ts';
import type { TenantCluster } from '../endpoint-patches/index.ts';
import { isAtOwnName, type SourceName, sourceOf } from './managed-annotations.ts';
import { targetOf } from './translate.ts';

/** Prefix of the key of a target object whose place is no longer used. */
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

  /**
   * The key of a tenant object, or a stray key; undefined: the target does not belong to the sync.
   */
  of(target: string, object: KubeObject | undefined, tenant: TenantCluster): string | undefined {
    // A foreign object may block a target name: the waiting source is in this map.
    const waiting = this.#keys.get(target);
    const from = object && sourceOf(object, tenant.name);
    if (object === undefined || from === undefined) return waiting;
    if (idOf(targetOf(from, tenant)) !== target) {
      // The namespace mapping has changed since it was written. A copy does not belong to the sync,
      // whatever its annotations say.
      return isAtOwnName(object) ? `${STRAY}${target}` : waiting;
    }
    const source = idOf(from);
    this.#keys.set(target, source);
    return source;
  }
}

/** The target key of a stray key; undefined: it is a tenant key. */
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

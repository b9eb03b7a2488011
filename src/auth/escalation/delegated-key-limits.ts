/**
 * Limits of a key with a scope when it creates or changes keys: no key may have more rights or a longer
 * life than itself (invariant 10). The same holds for changes of its own object.
 */
import {
  type Clock,
  isRecord,
  type JsonObject,
  type KubeObject,
  rfc3339,
} from '../../apimachinery/index.ts';
import { readLifetime } from '../access-keys/access-key.ts';
import { type KeyLifetimeLimits, latestEnd } from '../access-keys/key-lifetime.ts';
import type { Scope } from '../scope/scope.ts';

/** The key that makes the request. */
export interface DelegatingKey {
  readonly scope: Scope;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Reason why the key must not be written, as the end of a sentence; undefined: it may be. */
export function beyondDelegatingKey(
  maker: DelegatingKey,
  key: KubeObject,
  of: { readonly limits: KeyLifetimeLimits; readonly clock: Clock },
): string | undefined {
  const { spec = {} } = key;
  if (!maker.scope.coversJson(scopeIn(spec))) {
    return 'its spec.scope must be set, and be within that scope in a way that can be seen without doubt';
  }
  const now = of.clock.now();
  const born = { ...readLifetime(key, spec) };
  const lifetime = key.metadata.creationTimestamp === undefined ? { ...born, creation: now } : born;
  if (latestEnd(lifetime, of.limits) <= maker.expiresAt) return undefined;
  return `it must end when that key does, at ${rfc3339(maker.expiresAt)}, or before`;
}

/** A scope of the wrong shape is an empty one, as for authentication. */
function scopeIn(spec: JsonObject): JsonObject | undefined {
  const { scope } = spec;
  if (scope === undefined) return undefined;
  return isRecord(scope) ? scope : {};
}

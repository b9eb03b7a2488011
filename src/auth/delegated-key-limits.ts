/**
 * What a key with a scope may make or change other keys to: nothing that reaches further or lives
 * longer than itself (invariant 10). The same holds for a change of its own object.
 */
import {
  type Clock,
  isRecord,
  type JsonObject,
  type KubeObject,
  rfc3339,
} from '../apimachinery/index.ts';
import { readLifetime } from './access-key.ts';
import { type KeyLifetimeLimits, latestEnd } from './key-lifetime.ts';
import type { Scope } from './scope.ts';

/** The key that writes. */
export interface Maker {
  readonly scope: Scope;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Why the key must not be written, as the end of a sentence; undefined when it may. */
export function beyondDelegator(
  maker: Maker,
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

/** A scope of the wrong shape is an empty one, as authentication reads it. */
function scopeIn(spec: JsonObject): JsonObject | undefined {
  const { scope } = spec;
  if (scope === undefined) return undefined;
  return isRecord(scope) ? (scope as JsonObject) : {};
}

/**
 * `sync.toHost.endpoints` of a vcluster.yaml (spec section 2.9) as this folder reads it. A value
 * is checked first (validate.ts); reading takes it at its word.
 */
import { type JsonObject, valueAt } from '../apimachinery/object.ts';

/** Where the setting stands in the file. */
export const ENDPOINTS_SETTING = ['sync', 'toHost', 'endpoints'] as const;

/** Treats a value as a reference to another object. The paths are relative to the value. */
export interface ReferenceRule {
  readonly apiVersion: string;
  readonly apiVersionPath?: string;
  readonly kind: string;
  readonly kindPath?: string;
  readonly namePath?: string;
  readonly namespacePath?: string;
}

/** Has expressions (one or both), a reference, or labels: exactly one of the three. */
export interface Patch {
  readonly path: string;
  readonly expression?: string;
  readonly reverseExpression?: string;
  readonly reference?: ReferenceRule;
  /** Has no fields of its own: that it is there is what counts. */
  readonly labels?: JsonObject;
}

export interface EndpointsSetting {
  /** Default true. */
  readonly enabled: boolean;
  readonly patches: readonly Patch[];
}

/** The setting of a vcluster.yaml that `checkEndpointsSetting` found nothing wrong with. */
export function readEndpointsSetting(config: unknown): EndpointsSetting {
  const setting = (valueAt(config, ENDPOINTS_SETTING) ?? {}) as Partial<EndpointsSetting>;
  const patches = (setting.patches ?? []).map(withoutNulls);
  return { enabled: setting.enabled ?? true, patches };
}

/** `expression: null`, as templates write it, says nothing. */
function withoutNulls(patch: Patch): Patch {
  const said = Object.entries(patch).filter(([, value]) => value !== null && value !== undefined);
  return { path: '', ...(Object.fromEntries(said) as Partial<Patch>) };
}

/**
 * `sync.toHost.endpoints` and `sync.toHost.services` of a vcluster.yaml (spec section 2.9) as this
 * folder reads them. A value is checked first (validate.ts); reading takes it at its word.
 */
import { type JsonObject, valueAt } from '../apimachinery/index.ts';

/** The place of the setting of each kind in the file. Endpoints come first: Services need them. */
export const SYNC_SETTINGS = {
  Endpoints: ['sync', 'toHost', 'endpoints'],
  Service: ['sync', 'toHost', 'services'],
} as const;

export type SyncedKindName = keyof typeof SYNC_SETTINGS;

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
  /** Has no fields of its own: its presence is the setting. */
  readonly labels?: JsonObject;
}

/** The same for Endpoints and for Services. */
export interface EndpointsSetting {
  /** Default true. */
  readonly enabled: boolean;
  readonly patches: readonly Patch[];
}

/** The setting of a vcluster.yaml that `checkEndpointsSetting` found nothing wrong with. */
export function readEndpointsSetting(config: unknown): EndpointsSetting {
  return readSetting(config, 'Endpoints');
}

/** Services are synced beside Endpoints, and not without them. */
export function readServicesSetting(config: unknown): EndpointsSetting {
  const { enabled, patches } = readSetting(config, 'Service');
  return { enabled: enabled && readEndpointsSetting(config).enabled, patches };
}

function readSetting(config: unknown, kind: SyncedKindName): EndpointsSetting {
  const setting = (valueAt(config, SYNC_SETTINGS[kind]) ?? {}) as Partial<EndpointsSetting>;
  const patches = (setting.patches ?? []).map(withoutNulls);
  return { enabled: setting.enabled ?? true, patches };
}

/** `expression: null`, which templates write, counts as absent. */
function withoutNulls(patch: Patch): Patch {
  const said = Object.entries(patch).filter(([, value]) => value !== null && value !== undefined);
  return { path: '', ...(Object.fromEntries(said) as Partial<Patch>) };
}

/** Facts of the platform configuration that other parts depend on, always from the newest Config. */
import { type JsonObject, valueAt } from '../apimachinery/object.ts';
import type { KindTable } from '../kinds/table.ts';
import type { PlatformSettings } from '../server/dependencies.ts';
import type { Store } from '../state/store.ts';

export interface Settings extends PlatformSettings {
  keyLimits(): { accessKeyMaxTTLSeconds: number; loginAccessKeyTTLSeconds: number | undefined };
  /** What the namespaces of projects begin with. */
  projectPrefix(): string;
  close(): void;
}

const DEFAULT_PROJECT_PREFIX = 'p-';

/**
 * The configuration is the first Config by name; platforms have one. Its derived status has every
 * default filled in. Recomputed when a Config changes, so that asking costs nothing.
 */
export function followSettings(store: Store, kinds: KindTable): Settings {
  const [group = ''] = kinds.groups;
  const collection = { group, kind: kinds.byPlural(group, 'config')?.kind ?? '' };
  let status: JsonObject = {};
  let keyLimits = keyLimitsIn(status);
  const read = (): void => {
    status = store.list(collection).items[0]?.object.status ?? {};
    keyLimits = keyLimitsIn(status);
  };
  read();
  const stop = store.observe(collection, read);
  return {
    isOn: (name) => status[name] === true,
    keyLimits: () => keyLimits,
    projectPrefix: () => {
      const prefix = status['projectNamespacePrefix'];
      return typeof prefix === 'string' ? prefix : DEFAULT_PROJECT_PREFIX;
    },
    close: stop,
  };
}

function keyLimitsIn(status: JsonObject): ReturnType<Settings['keyLimits']> {
  const seconds = (field: string): number | undefined => {
    const value = valueAt(status, ['auth', field]);
    return typeof value === 'number' ? value : undefined;
  };
  return {
    accessKeyMaxTTLSeconds: seconds('accessKeyMaxTTLSeconds') ?? 0,
    loginAccessKeyTTLSeconds: seconds('loginAccessKeyTTLSeconds'),
  };
}

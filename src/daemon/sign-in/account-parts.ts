/** What accounts are kept with, and how one is found. */
import type { Clock } from '../../apimachinery/index.ts';
import type { PlatformConfigSource } from '../../config/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import type { ObjectRegistry, Registry } from '../../registry/index.ts';
import type { Store, StoredObject } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccessControl } from '../access/access-control.ts';

export interface AccountParts {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  /** Where desired state is written, for review where that is asked for. */
  readonly registry: Pick<ObjectRegistry, 'create' | 'update'>;
  /** Where keys are written: no review holds them up. */
  readonly served: Pick<Registry, 'create' | 'update' | 'delete'>;
  readonly access: Pick<AccessControl, 'directory' | 'rules' | 'logins' | 'isActedAs'>;
  readonly config: PlatformConfigSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function kindOf({ kinds }: Pick<AccountParts, 'kinds'>, plural: string): Kind {
  const [group = ''] = kinds.groups;
  const kind = kinds.byPlural(group, plural);
  if (kind === undefined) throw new Error(`The table of kinds has no ${plural}`);
  return kind;
}

export function findObject(
  { store }: Pick<AccountParts, 'store'>,
  { group, kind }: Kind,
  name: string,
): StoredObject | undefined {
  return store.get({ group, kind, namespace: '', name });
}

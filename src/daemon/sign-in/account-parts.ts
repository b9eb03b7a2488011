/** Dependencies of accounts, and look-up of their objects. */
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
  /** Writes of desired state, for review if a review branch is configured. */
  readonly registry: Pick<ObjectRegistry, 'create' | 'update'>;
  /** Writes of keys, without review. */
  readonly served: Pick<Registry, 'create' | 'update' | 'delete'>;
  readonly access: Pick<AccessControl, 'directory' | 'rules' | 'logins' | 'isActedAs' | 'keyWorks'>;
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

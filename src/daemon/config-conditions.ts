/** Tells in the status of each Config whether it is in force; only where it is not. */

import type { Clock } from '../apimachinery/clock.ts';
import { rfc3339 } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { Condition, JsonObject } from '../apimachinery/object.ts';
import type { Branch } from '../registry/branch.ts';
import { conditionsOf } from '../registry/served.ts';
import type { Change, Store, StoredObject } from '../state/store.ts';

const IN_FORCE = 'InForce';

export interface OutOfForce {
  readonly reason: 'AnotherConfig' | 'ReadFromFile' | 'VariableMissing';
  readonly message: string;
}

export interface ConditionParts {
  readonly store: Pick<Store, 'get'>;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

/** Resolves when readers see it. Level-triggered: what is so already is not written again. */
export async function tellInForce(
  parts: ConditionParts,
  stored: StoredObject,
  wanted: OutOfForce | undefined,
): Promise<void> {
  if (changeOf(stored, wanted, '') === undefined) return;
  const { key } = stored;
  try {
    await parts.branch.submit({
      key,
      prepare: () => {
        const change = changeNow(parts, key, wanted);
        return change === undefined ? { do: 'nothing' } : { do: 'state', changes: [change] };
      },
    });
  } catch (error) {
    parts.onError(error);
  }
}

function changeNow(
  { store, clock }: ConditionParts,
  key: ObjectKey,
  wanted: OutOfForce | undefined,
): Change | undefined {
  const stored = store.get(key);
  return stored && changeOf(stored, wanted, rfc3339(clock.now()));
}

/** Undefined: it says so already. */
function changeOf(
  { key, object, hidden }: StoredObject,
  wanted: OutOfForce | undefined,
  time: string,
): Change | undefined {
  const conditions = conditionsOf(object.status);
  const found = conditions.find(({ type }) => type === IN_FORCE);
  if (found?.reason === wanted?.reason && found?.message === wanted?.message) return undefined;
  const others = conditions.filter(({ type }) => type !== IN_FORCE);
  const own: Condition[] =
    wanted === undefined
      ? []
      : [
          {
            type: IN_FORCE,
            status: 'False',
            severity: 'Warning',
            ...wanted,
            lastTransitionTime: found?.lastTransitionTime ?? time,
          },
        ];
  const { conditions: _replaced, ...rest } = object.status ?? {};
  const all = [...others, ...own] as unknown as JsonObject[];
  const status = all.length === 0 ? rest : { ...rest, conditions: all };
  return { type: 'put', key, object: { ...object, status }, hidden };
}

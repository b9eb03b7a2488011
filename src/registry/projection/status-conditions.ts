/** Status conditions that report problems of an object. A condition without a problem is absent. */
import { type Clock, type Condition, type ObjectKey, rfc3339 } from '../../apimachinery/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';
import type { Branch } from '../branch.ts';
import { conditionsOf } from './served-object.ts';

export interface ConditionProblem {
  readonly reason: string;
  readonly message: string;
}

/** Problem by condition type; undefined: the condition is removed. Other types stay. */
export type ConditionProblems = Readonly<Record<string, ConditionProblem | undefined>>;

export interface ConditionParts {
  readonly store: Pick<Store, 'get'>;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

/**
 * Resolves when readers see the conditions. Level-triggered: present conditions are not written
 * again.
 */
export async function reportProblems(
  parts: ConditionParts,
  stored: StoredObject,
  wanted: ConditionProblems,
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
  wanted: ConditionProblems,
): Change | undefined {
  const stored = store.get(key);
  return stored && changeOf(stored, wanted, rfc3339(clock.now()));
}

/** Undefined: nothing changes. */
function changeOf(
  { key, object, hidden }: StoredObject,
  wanted: ConditionProblems,
  time: string,
): Change | undefined {
  const conditions = conditionsOf(object.status);
  const found = (name: string): Condition | undefined =>
    conditions.find(({ type }) => type === name);
  const isTold = Object.entries(wanted).every(([type, problem]) => {
    const present = found(type);
    return present?.reason === problem?.reason && present?.message === problem?.message;
  });
  if (isTold) return undefined;
  const others = conditions.filter(({ type }) => !(type in wanted));
  const own = Object.entries(wanted).flatMap(([type, problem]): Condition[] => {
    if (problem === undefined) return [];
    const lastTransitionTime = found(type)?.lastTransitionTime ?? time;
    return [{ type, status: 'False', severity: 'Warning', ...problem, lastTransitionTime }];
  });
  const { conditions: _replaced, ...rest } = object.status ?? {};
  const all = [...others, ...own];
  const status = all.length === 0 ? rest : { ...rest, conditions: all };
  return { type: 'put', key, object: { ...object, status }, hidden };
}

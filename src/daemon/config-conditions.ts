/** Tells in the status of each Config what is wrong with it as the configuration in force; only that. */

import type { Clock } from '../apimachinery/clock.ts';
import { rfc3339 } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { Condition, JsonObject } from '../apimachinery/object.ts';
import type { Branch } from '../registry/branch.ts';
import { conditionsOf } from '../registry/served.ts';
import type { Change, Store, StoredObject } from '../state/store.ts';

/** Those that are written here; a condition of a type that is fine is not there. */
const TYPES = ['InForce', 'SignInVerified', 'AuditWritten'] as const;

export interface ConfigProblem {
  readonly reason:
    | 'AnotherConfig'
    | 'ReadFromFile'
    | 'VariableMissing'
    | 'ChecksTurnedOff'
    | 'AuditLogFails';
  readonly message: string;
}

export type ConfigProblems = Readonly<Record<(typeof TYPES)[number], ConfigProblem | undefined>>;

export interface ConditionParts {
  readonly store: Pick<Store, 'get'>;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

/** Resolves when readers see it. Level-triggered: what is so already is not written again. */
export async function tellProblems(
  parts: ConditionParts,
  stored: StoredObject,
  wanted: ConfigProblems,
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
  wanted: ConfigProblems,
): Change | undefined {
  const stored = store.get(key);
  return stored && changeOf(stored, wanted, rfc3339(clock.now()));
}

/** Undefined: it says so already. */
function changeOf(
  { key, object, hidden }: StoredObject,
  wanted: ConfigProblems,
  time: string,
): Change | undefined {
  const conditions = conditionsOf(object.status);
  const found = (name: string): Condition | undefined =>
    conditions.find(({ type }) => type === name);
  const isTold = TYPES.every((type) => {
    const [told, problem] = [found(type), wanted[type]];
    return told?.reason === problem?.reason && told?.message === problem?.message;
  });
  if (isTold) return undefined;
  const others = conditions.filter(({ type }) => !TYPES.some((own) => own === type));
  const own = TYPES.flatMap((type): Condition[] => {
    const problem = wanted[type];
    if (problem === undefined) return [];
    const lastTransitionTime = found(type)?.lastTransitionTime ?? time;
    return [{ type, status: 'False', severity: 'Warning', ...problem, lastTransitionTime }];
  });
  const { conditions: _replaced, ...rest } = object.status ?? {};
  const all = [...others, ...own] as unknown as JsonObject[];
  const status = all.length === 0 ? rest : { ...rest, conditions: all };
  return { type: 'put', key, object: { ...object, status }, hidden };
}

/** Conditions that report a problem, of all objects: secrets out of sync, tenants that cannot be reached. */
import type { Condition } from '../../apimachinery/index.ts';
import { conditionsOf, DEGRADED } from '../../registry/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { ObjectIndex } from './object-index.ts';

/** Most objects have no conditions and are not parsed. */
const MARK = Buffer.from('"conditions":[');

export function badConditionIndex({
  kinds,
  store,
}: Pick<ServerDependencies, 'kinds' | 'store'>): ObjectIndex<readonly Condition[]> {
  return new ObjectIndex({
    kinds: kinds.kinds.filter(({ verbs }) => verbs.includes('list')),
    store,
    factsOf: (_kind, stored) => badConditions(stored),
  });
}

/** A degraded manifest is reported with its place instead. */
function badConditions(stored: StoredObject): readonly Condition[] | undefined {
  if (!stored.json().includes(MARK)) return undefined;
  const bad = conditionsOf(stored.object.status).filter(
    ({ type, severity }) => type !== DEGRADED && (severity === 'Error' || severity === 'Warning'),
  );
  return bad.length === 0 ? undefined : bad;
}

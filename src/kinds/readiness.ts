/** Condition `Ready` of an object in git, derived from its other conditions, and the word of the column `Health`. */
import { type Condition, type KubeObject, listAt } from '../apimachinery/index.ts';

const READY = 'Ready';

/** Problems of these types leave the object in use. */
const ASIDE: readonly string[] = ['Sealed', 'Stale'];

/**
 * True unless another condition reports a problem that keeps the newest manifest from being in force.
 * The time is that of the problem; the end of a problem is not recorded.
 */
export function readinessOf(object: KubeObject): Condition {
  const problem = conditionsOf(object).find(isProblem);
  if (problem === undefined) return READY_NOW;
  const { type, severity = 'Error', reason = type, message = '', lastTransitionTime } = problem;
  return {
    type: READY,
    status: 'False',
    severity,
    reason,
    message,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
}

export const READY_NOW: Condition = {
  type: READY,
  status: 'True',
  reason: 'InForce',
  message: 'the newest manifest is in force',
};

/** As in `Ready`, `Degraded`, `OutOfSync`. */
export function healthOf(object: KubeObject): string {
  const problem = conditionsOf(object).find(isProblem);
  if (problem === undefined) return 'Ready';
  if (problem.type === 'Degraded') return 'Degraded';
  return problem.type === 'Synced' ? 'OutOfSync' : 'NotReady';
}

function isProblem({ type, status, severity }: Condition): boolean {
  if (type === 'Degraded') return status === 'True';
  if (ASIDE.includes(type) || type === READY) return false;
  return status === 'False' && (severity === 'Error' || severity === 'Warning');
}

function conditionsOf({ status }: KubeObject): readonly Condition[] {
  return listAt<Condition>(status, ['conditions']);
}

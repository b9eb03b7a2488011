/** An apply as a write: an update of an existing object, or a create. */
import { type Clock, conflict, StatusError, valueAt } from '../../apimachinery/index.ts';
import type { Managers } from '../../field-management/index.ts';
import { type ApplyRequest, applyTo } from './apply.ts';
import type { CreateRequest } from './create.ts';
import type { UpdateRequest } from './update.ts';
import { type DecisionParts, keyOf, type WriteResult } from './write-context.ts';

/** Attempts, if the object is created or deleted meanwhile. */
const APPLY_TRIES = 4;

interface ApplyThrough {
  create(request: CreateRequest): Promise<WriteResult>;
  update(request: UpdateRequest): Promise<WriteResult>;
}

type Parts = Pick<DecisionParts, 'store' | 'clock'>;

/** `created`: the object did not exist. */
export async function applyThrough(
  through: ApplyThrough,
  { store, clock }: Parts,
  request: ApplyRequest,
): Promise<WriteResult & { created: boolean }> {
  for (let tries = 0; ; tries++) {
    const isThere = store.get(keyOf(request)) !== undefined;
    try {
      const result = await (isThere ? change : create)(through, clock, request);
      return { ...result, created: !isThere };
    } catch (error) {
      // The object was created or deleted meanwhile.
      const reason = error instanceof StatusError ? error.reason : '';
      if (tries >= APPLY_TRIES || reason !== (isThere ? 'NotFound' : 'AlreadyExists')) throw error;
    }
  }
}

async function change(
  through: ApplyThrough,
  clock: Clock,
  request: ApplyRequest,
): Promise<WriteResult> {
  let managers: Managers = new Map();
  return await through.update({
    ...request,
    verb: 'patch',
    change: (live) => {
      const applied = applyTo(request, live, clock.now());
      ({ managers } = applied);
      return applied.object;
    },
    managers: () => managers,
  });
}

async function create(
  through: ApplyThrough,
  clock: Clock,
  request: ApplyRequest,
): Promise<WriteResult> {
  const { kind, name, body } = request;
  const uid = valueAt(body, ['metadata', 'uid']);
  if (uid !== undefined && uid !== null && uid !== '') {
    const text = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`;
    throw conflict(kind, name, text);
  }
  request.beforeCreate();
  const { object, managers } = applyTo(request, undefined, clock.now());
  return await through.create({ ...request, body: object, managers });
}

/** An apply as a write: an update of an existing object, or a create. */
import { conflict, StatusError, valueAt } from '../../apimachinery/index.ts';
import type { Managers } from '../../field-management/index.ts';
import { type ApplyRequest, applyTo } from './apply.ts';
import type { CreateRequest } from './create.ts';
import type { UpdateRequest } from './update.ts';
import type { WriteResult } from './write-context.ts';

/** Attempts, if the object is created or deleted meanwhile. */
const APPLY_TRIES = 4;

interface ApplyThrough {
  create(request: CreateRequest): Promise<WriteResult>;
  update(request: UpdateRequest): Promise<WriteResult>;
  isThere(): boolean;
  now(): number;
}

/** `created`: the object did not exist. */
export async function applyThrough(
  through: ApplyThrough,
  request: ApplyRequest,
): Promise<WriteResult & { created: boolean }> {
  for (let tries = 0; ; tries++) {
    const isThere = through.isThere();
    try {
      const result = await (isThere ? change(through, request) : create(through, request));
      return { ...result, created: !isThere };
    } catch (error) {
      // The object was created or deleted meanwhile.
      const reason = error instanceof StatusError ? error.reason : '';
      if (tries >= APPLY_TRIES || reason !== (isThere ? 'NotFound' : 'AlreadyExists')) throw error;
    }
  }
}

async function change(through: ApplyThrough, request: ApplyRequest): Promise<WriteResult> {
  let managers: Managers = new Map();
  return await through.update({
    ...request,
    verb: 'patch',
    change: (live) => {
      const applied = applyTo(request, live, through.now());
      ({ managers } = applied);
      return applied.object;
    },
    managers: () => managers,
  });
}

async function create(through: ApplyThrough, request: ApplyRequest): Promise<WriteResult> {
  const { kind, name, body } = request;
  const uid = valueAt(body, ['metadata', 'uid']);
  if (uid !== undefined && uid !== null && uid !== '') {
    const text = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`;
    throw conflict(kind, name, text);
  }
  request.beforeCreate();
  const { object, managers } = applyTo(request, undefined, through.now());
  return await through.create({ ...request, body: object, managers });
}

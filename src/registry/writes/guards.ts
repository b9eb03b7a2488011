/** Runs the guards: rules for a change beyond validation. */
import { conflict } from '../../apimachinery/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { Guard, PlannedChange, Target } from './write-context.ts';

/** Throws the objection of the first guard that has one. */
export function applyGuards(guards: readonly Guard[], change: PlannedChange): void {
  for (const guard of guards) {
    const objection = guard(change);
    if (objection !== undefined) throw objection;
  }
}

/** Throws 409 if the object is not the one that was authorized. */
export function refuseAnother(target: Target, present: StoredObject): void {
  const { kind, name, rightOn } = target;
  if (rightOn !== undefined && rightOn !== present.object.metadata.uid) {
    throw conflict(kind, name, 'the object was deleted, and another one has its name; try again');
  }
  target.check?.(present);
}

/** Refusals of a write because of the contents of the repository, or of its text. */
import { describeKey, type ObjectKey, StatusError } from '../../apimachinery/index.ts';

export function conflictWithRepository(key: ObjectKey, why: string): StatusError {
  return new StatusError(409, 'Conflict', `Cannot write ${describeKey(key)}: ${why}`, about(key));
}

/** 422: no manifest can have what is to be written. */
export function invalidManifest(key: ObjectKey, why: string): StatusError {
  return new StatusError(422, 'Invalid', `Cannot write ${describeKey(key)}: ${why}`, about(key));
}

function about({ name, group, kind }: ObjectKey): NonNullable<StatusError['details']> {
  return { name, group, kind };
}

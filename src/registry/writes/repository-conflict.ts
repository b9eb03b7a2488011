/** Refusal of a write because of the contents of the repository. */
import { describeKey, type ObjectKey, StatusError } from '../../apimachinery/index.ts';

export function conflictWithRepository(key: ObjectKey, why: string): StatusError {
  return new StatusError(409, 'Conflict', `Cannot write ${describeKey(key)}: ${why}`, {
    name: key.name,
    group: key.group,
    kind: key.kind,
  });
}

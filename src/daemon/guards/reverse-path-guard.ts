/** Refuses a tenant with a reverse expression that would never run. Files of before stay in force. */
import { invalidObject } from '../../apimachinery/status-error.ts';
import { deadReverseExpressions } from '../../endpoint-patches/reverse-paths.ts';
import type { Guard } from '../../registry/writes/write-context.ts';

export const reversePathGuard: Guard = ({ kind, object }) => {
  if (object === undefined || kind.storedIn !== 'file') return undefined;
  const errors = deadReverseExpressions(object.spec);
  return errors.length === 0 ? undefined : invalidObject(kind, object.metadata.name ?? '', errors);
};

/** Refuses a tenant with a reverse expression that would never run. Existing files stay valid. */
import { invalidObject } from '../../apimachinery/index.ts';
import { deadReverseExpressions } from '../../endpoint-patches/index.ts';
import type { Guard } from '../../registry/index.ts';

export const reversePathGuard: Guard = ({ kind, object }) => {
  if (object === undefined || kind.storedIn !== 'file') return undefined;
  const errors = deadReverseExpressions(object.spec);
  return errors.length === 0 ? undefined : invalidObject(kind, object.metadata.name ?? '', errors);
};

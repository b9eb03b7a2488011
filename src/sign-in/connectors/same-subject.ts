/** Checks that a refresh returns the account that the key was made for. */
import type { ProvidedIdentity } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';

/** Throws SignInError, final. */
export function assertSameSubject(
  known: ProvidedIdentity,
  now: ProvidedIdentity,
): ProvidedIdentity {
  if (known.userId === now.userId) return now;
  throw new SignInError('the provider names another account than before', {
    reason: 'another-account',
    code: 403,
  });
}

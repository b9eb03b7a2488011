/** Encrypted values of served objects, for the layers above, which do not know the catalog. */
import { encryptedIn } from '../../catalog/index.ts';
import type { SecretPaths } from '../../kinds/index.ts';

/**
 * Paths of the values that the file of a stored object encrypts beside the secret fields of its kind;
 * undefined: none.
 */
export function encryptedFields(
  stored: { provenance?(): unknown } | undefined,
): SecretPaths | undefined {
  return encryptedIn(stored);
}

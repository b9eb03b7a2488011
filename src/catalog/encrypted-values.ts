/**
 * Values of an object that its file encrypts beside the secret fields of its kind. Readers of a plan,
 * a message or a warning about the object may not be readers of these values.
 */
import { type SecretPaths, valuesAt } from '../kinds/index.ts';
import type { CatalogObject } from './catalog-object.ts';

interface Versions {
  readonly before: CatalogObject | undefined;
  readonly after: CatalogObject | undefined;
}

/** Paths that a version encrypts; the other version may have the same value in plaintext. */
export function encryptedPathsOf({ before, after }: Versions): SecretPaths {
  return [before, after].flatMap((version) => version?.source.encrypted ?? []);
}

/** The values at these paths in both versions, for `withoutValues`. */
export function encryptedValuesOf(versions: Versions): string[] {
  const paths = encryptedPathsOf(versions);
  if (paths.length === 0) return [];
  const { before, after } = versions;
  return valuesAt([before?.manifest, after?.manifest], paths);
}

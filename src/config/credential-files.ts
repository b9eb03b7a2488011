/**
 * Files that the configuration names and that are sent elsewhere, such as passwords. The author of the
 * configuration administers the platform and not its machine, so these files must be in a folder that
 * the operator has named.
 */
import { resolve, sep } from 'node:path';

const CREDENTIAL_FOLDERS = ['/run/secrets', '/var/run/secrets'];

/** Reason why the file may not be read; undefined: it may. `further`: folders of `--credentials-dir`. */
export function credentialFileProblem(
  path: string,
  further: readonly string[],
): string | undefined {
  const folders = [...CREDENTIAL_FOLDERS, ...further];
  const file = resolve(path);
  if (folders.some((folder) => file.startsWith(resolve(folder) + sep))) return undefined;
  return `${path} is in none of the folders for credentials (${folders.join(', ')}); move it there, or start gitplane with --credentials-dir`;
}

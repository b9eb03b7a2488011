/**
 * The file of the first access key, `admin.token`. A reader of the file is an administrator: its mode is
 * 0600, and its text never appears in a log or an error. Only its path may be shown.
 */
import { accessKeyPrefix, hasValidChecksum, mintAccessKey } from '../../kinds/index.ts';
import { createFile, readIfThere } from '../secret-file.ts';

export interface AdminToken {
  readonly token: string;
  /** True if this call made the key, so that its object must be created too. */
  readonly created: boolean;
}

/** Type of the key, as in `spec.type` of OwnedAccessKey. */
export const ADMIN_KEY_TYPE = 'Other';

/** Reads the key, or makes one. Throws with a remedy when the file holds anything else. */
export async function ensureAdminToken(path: string): Promise<AdminToken> {
  const existing = await readAdminToken(path);
  if (existing !== undefined) return { token: existing, created: false };
  const token = mintAccessKey(accessKeyPrefix(ADMIN_KEY_TYPE));
  if (await createFile(path, `${token}\n`)) return { token, created: true };
  return ensureAdminToken(path);
}

/** Undefined: there is no such file. */
export async function readAdminToken(path: string): Promise<string | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const token = text.trim();
  if (hasValidChecksum(token)) return token;
  throw new Error(
    `${path} holds no access key of this platform; restore it, or remove it and the next start makes a new one`,
  );
}

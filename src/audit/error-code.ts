import { isRecord } from '../apimachinery/index.ts';

/** Error code of the system or the database, such as `ENOSPC`; `other` for an error without one. */
export function codeOf(error: unknown): string {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' && /^[\w-]{1,32}$/.test(code) ? code : 'other';
}

/** Times of the store, which uses several formats, as text that sorts. */

const RFC3339 =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)? ?(Z|[+-]\d{2}:?\d{2})(?: \S+)*$/;

/**
 * A time as `2026-01-02T03:04:05.123456789Z`, in UTC, with nine digits. Accepts RFC 3339 with any
 * offset, and the format in which Go prints a time. Empty for empty text, undefined for an invalid
 * time.
 */
export function canonicalTime(text: string): string | undefined {
  if (text === '') return '';
  const [, date, time, fraction = '', zone = 'Z'] = RFC3339.exec(text) ?? [];
  if (date === undefined || time === undefined) return undefined;
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  const at = Date.parse(`${date}T${time}${offset}`);
  if (Number.isNaN(at)) return undefined;
  return `${new Date(at).toISOString().slice(0, 19)}.${fraction.padEnd(9, '0')}Z`;
}

/** Durations: the Go format, and that of tables. */

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const GO_DURATION = /^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$/;

/** Milliseconds of a Go duration (`1m30s`, `500ms`, `0`), or undefined for other texts. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!GO_DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '0', unit = 's'] of text.matchAll(
    /(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g,
  )) {
    total += Number(amount) * (UNIT_MS[unit] ?? 0);
  }
  return text.startsWith('-') ? -total : total;
}

const SECOND = 1;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/**
 * The AGE column: apimachinery `duration.HumanDuration`. A date in the future prints as
 * `<invalid>`.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  const parts = (big: number, small: number, names: string): string => {
    const rest = Math.floor((seconds % big) / small);
    return `${Math.floor(seconds / big)}${names[0]}${rest === 0 ? '' : `${rest}${names[1]}`}`;
  };
  if (seconds < 10 * MINUTE) return parts(MINUTE, SECOND, 'ms');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return parts(HOUR, MINUTE, 'hm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return parts(DAY, HOUR, 'dh');
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return parts(YEAR, DAY, 'yd');
  return `${Math.floor(seconds / YEAR)}y`;
}

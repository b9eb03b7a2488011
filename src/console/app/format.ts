/** Texts for values that people read. */
import { signal } from '@preact/signals';

/** Now, each half a minute: relative times follow it. */
export const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 30_000);

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** `3 minutes ago`. */
export function ago(time: string | number): string {
  const seconds = (new Date(time).getTime() - now.value) / 1000;
  const step = STEPS.find(([, length]) => Math.abs(seconds) >= length);
  if (step === undefined) return 'just now';
  const [unit, length] = step;
  return relative.format(Math.trunc(seconds / length), unit);
}

const exact = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

export function dateTime(time: string | number): string {
  return exact.format(new Date(time));
}

export function shortRevision(revision: string): string {
  return revision.slice(0, 8);
}

/** A message with the short form of each commit id. */
export function withShortRevisions(text: string): string {
  return text.replace(/\b[0-9a-f]{40}\b/g, shortRevision);
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}

const amounts = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const smallAmounts = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

/** `1,234.5`, and `0.0042` for what would round to zero. */
export function amount(value: number): string {
  return (value < 0.1 ? smallAmounts : amounts).format(value);
}

const AGES: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];

/** `5m`, as kubectl shows ages; `fallback` where the object has no time. */
export function ageOf(time: string | undefined, fallback: unknown): string {
  if (time === undefined) return String(fallback ?? '');
  const seconds = Math.max(0, Math.floor((now.value - Date.parse(time)) / 1000));
  const step = AGES.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.floor(seconds / step[1])}${step[0]}`;
}

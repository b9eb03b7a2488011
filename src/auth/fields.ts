/** Reading fields of objects without trusting their shape: what is not as it should be is absent. */

/** The texts of a list. */
export function texts(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is string => typeof item === 'string');
}

/** A text that says something: an empty one is the same as an absent one. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A timestamp, in milliseconds since the epoch. */
export function time(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const milliseconds = Date.parse(value);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

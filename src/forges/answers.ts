/** Reads the fields of answers. A forge may be replaced, so nothing of an answer is taken for granted. */
import { valueAt } from '../apimachinery/index.ts';
import { DeliveryError } from '../outbox/index.ts';

export function textAt(answer: unknown, ...path: readonly string[]): string {
  const value = valueAt(answer, path);
  return typeof value === 'string' ? value : '';
}

const LONGEST_URL = 2048;

/** Address of a page, for people and for headers of answers; empty: it is not one. */
export function pageAt(answer: unknown, ...path: readonly string[]): string {
  const text = textAt(answer, ...path);
  if (text.length > LONGEST_URL || !URL.canParse(text)) return '';
  const { href, protocol } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : '';
}

export function numberAt(answer: unknown, ...path: readonly string[]): number | undefined {
  const value = valueAt(answer, path);
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** Throws DeliveryError for an answer without it. */
export function requiredNumber(answer: unknown, ...path: readonly string[]): number {
  const value = numberAt(answer, ...path);
  if (value !== undefined) return value;
  throw new DeliveryError(`The answer of the forge has no ${path.join('.')}`, {
    problem: 'unavailable',
  });
}

/** A line of text within the limit of a forge. */
export function cut(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

export function countOf({ length }: readonly unknown[]): string {
  return `${length} problem${length === 1 ? '' : 's'}`;
}

/** New text for a scalar on one line, in its present style. */
import type { Scalar } from 'yaml';
import type { JsonValue } from '../../apimachinery/index.ts';
import { isLiteralSafe } from '../render.ts';
import {
  doubleQuoted,
  isSingleQuotable,
  singleQuoted,
  stringText,
  wordText,
} from '../scalar-text.ts';

export type ScalarValue = Exclude<JsonValue, object>;

/**
 * `json`: undefined in block collections; in flow collections, true if they are written as JSON.
 * Returns undefined if a block scalar suits the text better.
 */
export function inStyleOf(
  { type }: Scalar.Parsed,
  value: ScalarValue,
  json: boolean | undefined,
): string | undefined {
  if (typeof value !== 'string') return wordText(value);
  if (json === true || type === 'QUOTE_DOUBLE') return doubleQuoted(value);
  if (type === 'QUOTE_SINGLE') {
    return isSingleQuotable(value) ? singleQuoted(value) : doubleQuoted(value);
  }
  if (json === undefined && isLiteralSafe(value)) return undefined;
  return stringText(value, { flow: json !== undefined });
}

const TAG_PREFIX = 'tag:yaml.org,2002:';

/** True if the tag may stay before the new value. */
export function tagFits(tag: string | undefined, value: ScalarValue): boolean {
  switch (tag) {
    case undefined:
      return true;
    case '!':
    case `${TAG_PREFIX}str`:
      return typeof value === 'string';
    case `${TAG_PREFIX}int`:
      return Number.isInteger(value);
    case `${TAG_PREFIX}float`:
      return typeof value === 'number';
    case `${TAG_PREFIX}bool`:
      return typeof value === 'boolean';
    default:
      return tag === `${TAG_PREFIX}null` && value === null;
  }
}

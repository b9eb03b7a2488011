/**
 * Regular expressions of the configuration, in RE2 syntax (that of Go): they match in linear time. The
 * library is loaded when the first one is compiled.
 */
import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** True if the text has a match anywhere. */
export type LinearRegExp = (text: string) => boolean;

let library: typeof RE2JS | undefined;

/** Throws an Error that explains the syntax error. */
export function linearRegExp(source: string): LinearRegExp {
  library ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS;
  const compiled = library.compile(source);
  return (text) => compiled.matcher(text).find();
}

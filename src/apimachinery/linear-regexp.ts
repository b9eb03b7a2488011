/**
 * Regular expressions of the configuration, in the syntax of RE2 (as Go has it): no input makes them
 * slow. The library is loaded when the first one is compiled.
 */
import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

/** Whether a text has a match anywhere. */
export type LinearRegExp = (text: string) => boolean;

let library: typeof RE2JS | undefined;

/** Throws an Error that says what is wrong with the expression. */
export function linearRegExp(source: string): LinearRegExp {
  library ??= (createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }).RE2JS;
  const compiled = library.compile(source);
  return (text) => compiled.matcher(text).find();
}

/**
 * Which values of a file are sealed. A rule looks at each single key on the way to a value; the
 * first that it hits decides, and everything below goes with it.
 */
import { SealingError } from './sealing-error.ts';

/** The names of the rules in a file; a file has at most one of them. */
export const RULES = [
  'encrypted_regex',
  'unencrypted_regex',
  'encrypted_suffix',
  'unencrypted_suffix',
  'encrypted_comment_regex',
  'unencrypted_comment_regex',
] as const;

export interface Rule {
  readonly name: (typeof RULES)[number];
  readonly text: string;
}

/** What SOPS does with a file that states no rule. */
export const DEFAULT_RULE: Rule = { name: 'unencrypted_suffix', text: '_unencrypted' };

/** Whether the value at these keys is sealed. */
export type Selection = (path: readonly string[]) => boolean;

/** Longer keys are taken for secret: a pattern is not tried on them. */
const LONGEST_KEY = 1024;

/** Throws SealingError for rules that are not supported. */
export function selectionOf({ name, text }: Rule): Selection {
  switch (name) {
    case 'encrypted_suffix':
      return (path) => path.some((key) => key.endsWith(text));
    case 'unencrypted_suffix':
      return (path) => !path.some((key) => key.endsWith(text));
    case 'encrypted_regex': {
      const pattern = safePattern(text);
      return (path) => path.some((key) => key.length > LONGEST_KEY || pattern.test(key));
    }
    case 'unencrypted_regex': {
      const pattern = safePattern(text);
      return (path) => !path.some((key) => key.length <= LONGEST_KEY && pattern.test(key));
    }
    default:
      throw new SealingError(`the rule ${name} is not supported; use encrypted_regex`);
  }
}

/** Repeats without end that a pattern may have: each multiplies what a long key costs. */
const MOST_REPEATS = 2;

/**
 * A pattern as Go writes it that cannot take long either: whoever pushes a file writes it. Throws
 * SealingError for what is not understood alike in both languages.
 */
export function safePattern(text: string): RegExp {
  const refuse = (why: string): never => {
    throw new SealingError(`the pattern ${JSON.stringify(text.slice(0, 200))} ${why}`);
  };
  const bare = text.replace(/\\./g, '_').replace(/\[(?:[^\]]*)\]/g, '_');
  if (text.length > LONGEST_KEY) refuse('is too long');
  if (/\(\?/.test(bare)) refuse('has a group with options; write a plain (…)');
  if (/\)[*+{?]/.test(bare)) refuse('repeats a group; name the keys one by one: ^(a|b)$');
  if ((bare.match(/[*+{]/g) ?? []).length > MOST_REPEATS) refuse('repeats too much');
  if (/\\[1-9pPkQEzAC]/.test(text)) refuse('uses an escape that is not supported');
  try {
    return new RegExp(text);
  } catch {
    return refuse('is not a regular expression');
  }
}

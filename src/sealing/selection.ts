/**
 * Selection of the values to encrypt. A rule is matched against each key of the path of a value. The
 * first match decides for the whole subtree.
 */
import { SealingError } from './sealing-error.ts';

/** Names of rules. A file has at most one. */
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

/** The rule of SOPS for a file without one. */
export const DEFAULT_RULE: Rule = { name: 'unencrypted_suffix', text: '_unencrypted' };

/** True if the value at these keys is to be encrypted. */
export type Selection = (path: readonly string[]) => boolean;

/** Longer keys count as secret, without matching a pattern. */
const LONGEST_KEY = 1024;

/** Patterns are compiled once: a JSON patch has up to 10,000 parts that a rule selects values of. */
const selections = new WeakMap<Rule, Selection>();

/** Throws SealingError for rules that are not supported. */
export function selectionOf(rule: Rule): Selection {
  const selection = selections.get(rule) ?? compiled(rule);
  selections.set(rule, selection);
  return selection;
}

function compiled({ name, text }: Rule): Selection {
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

/** Limit of unbounded repeats in a pattern: each multiplies the cost of a long key. */
const MOST_REPEATS = 2;

/**
 * Compiles a Go pattern. Any client that pushes can write one, so slow patterns are refused. Throws
 * SealingError for syntax that differs between Go and JavaScript.
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

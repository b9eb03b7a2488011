/**
 * Selection of the values to encrypt. A rule is matched against each key of the path of a value. The
 * first match decides for the whole subtree.
 */
import { type LinearRegExp, linearRegExp } from '../apimachinery/index.ts';
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
      const matches = matcherOfKeys(text);
      return (path) => path.some((key) => key.length > LONGEST_KEY || matches(key));
    }
    case 'unencrypted_regex': {
      const matches = matcherOfKeys(text);
      return (path) => !path.some((key) => key.length <= LONGEST_KEY && matches(key));
    }
    default:
      throw new SealingError(`the rule ${name} is not supported; use encrypted_regex`);
  }
}

const MOST_MATCHED = 1_000;

/** Thousands of values may be below one key, which is matched once. */
function matcherOfKeys(text: string): LinearRegExp {
  const matches = safePattern(text);
  const known = new Map<string, boolean>();
  return (key) => {
    const found = known.get(key) ?? matches(key);
    if (known.size >= MOST_MATCHED) known.clear();
    known.set(key, found);
    return found;
  };
}

/** Limit of repeats in a pattern, and of the digits of a count: both multiply its size. */
const MOST_REPEATS = 2;
const MANY = /\{\d*,?\d{3}/;

/**
 * Compiles a Go pattern. Any client that pushes can write one, so it matches in linear time, and patterns that
 * become large are refused. Throws SealingError.
 */
export function safePattern(text: string): LinearRegExp {
  const refuse = (why: string): never => {
    throw new SealingError(`the pattern ${JSON.stringify(text.slice(0, 200))} ${why}`);
  };
  // Before each search: brackets without an end take time that grows with the square.
  if (text.length > LONGEST_KEY) refuse('is too long');
  const bare = text.replace(/\\./g, '_').replace(/\[(?:[^\]]*)\]/g, '_');
  if (/\(\?/.test(bare)) refuse('has a group with options; write a plain (…)');
  if (/\)[*+{?]/.test(bare)) refuse('repeats a group; name the keys one by one: ^(a|b)$');
  const repeats = bare.match(/[*+{]/g) ?? [];
  if (repeats.length > MOST_REPEATS || MANY.test(bare)) refuse('repeats too much');
  if (/\\[1-9pPkQEzAC]/.test(text)) refuse('uses an escape that is not supported');
  try {
    return linearRegExp(text);
  } catch {
    return refuse('is not a regular expression');
  }
}

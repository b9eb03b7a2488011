/**
 * Patterns of an ignore file, with the syntax and semantics of gitignore(5). Pushers write them, so
 * the time of matching is bounded by the product of pattern and path length: regular expressions
 * made of `**` could block the daemon for hours.
 */

interface Rule {
  readonly negates: boolean;
  /** Ends in a slash: matches folders only. */
  readonly foldersOnly: boolean;
  /** Parts between slashes, in lower case; `**` matches any number of names. */
  readonly segments: readonly Segment[];
}

type Segment = '**' | readonly Unit[];

/** One character, or `*`: any number of them. */
type Unit = '*' | ((character: string) => boolean);

export interface IgnorePatterns {
  /** True if a file is ignored, by itself or by one of its folders. */
  ignores(path: string): boolean;
}

/** Ignores case, like `core.ignoreCase`. */
export function ignorePatterns(text: string): IgnorePatterns {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => parseRule(line) ?? []);
  return { ignores: (path) => isIgnored(rules, path.toLowerCase().split('/')) };
}

/** The last matching rule decides, for the file and for each of its folders. */
function isIgnored(rules: readonly Rule[], names: readonly string[]): boolean {
  /** Indexed by the number of names in the folder or file path. */
  const decided: (Rule | undefined)[] = [];
  for (const rule of rules) {
    for (const length of matchedLengths(rule, names)) {
      if (length < names.length || !rule.foldersOnly) decided[length] = rule;
    }
  }
  return decided.some((rule) => rule?.negates === false);
}

function parseRule(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined;
  const negates = line.startsWith('!');
  // A trailing blank counts only after a backslash.
  let pattern = (negates ? line.slice(1) : line).replace(/((?:[^\\]|^)(?:\\\\)*) +$/, '$1');
  if (pattern.trim() === '') return undefined;
  const foldersOnly = pattern.endsWith('/');
  if (foldersOnly) pattern = pattern.slice(0, -1);
  const isAnchored = pattern.includes('/');
  const parts = pattern.replace(/^\//, '').toLowerCase().split('/');
  if (parts.length === 1 && parts[0] === '') return undefined;
  const segments = parts.map((part): Segment => (part === '**' ? '**' : parseSegment(part)));
  return { negates, foldersOnly, segments: isAnchored ? segments : ['**', ...segments] };
}

function parseSegment(text: string): Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '*') {
      if (units.at(-1) !== '*') units.push('*');
    } else if (character === '?') units.push(() => true);
    else if (character === '[') {
      const found = parseClass(text, at);
      // A class without its end matches nothing, as in git.
      if (found === undefined) return [() => false];
      units.push(found.matches);
      at = found.end;
    } else {
      if (character === '\\') at++;
      const literal = text.charAt(at);
      units.push((one) => one === literal && literal !== '');
    }
  }
  return units;
}

const NAMED: Readonly<Record<string, RegExp>> = {
  alnum: /[a-z0-9]/,
  alpha: /[a-z]/,
  blank: /[ \t]/,
  digit: /[0-9]/,
  lower: /[a-z]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[a-z]/,
  xdigit: /[0-9a-f]/,
};

/** `[a-z]`, `[!a]`, `[^a]`, `[[:digit:]]`; `end` is the offset of the closing bracket. */
function parseClass(
  text: string,
  start: number,
): { readonly matches: (character: string) => boolean; readonly end: number } | undefined {
  const parts: ((character: string) => boolean)[] = [];
  let at = start + 1;
  const negates = text[at] === '!' || text[at] === '^';
  if (negates) at++;
  for (let first = true; first || text[at] !== ']'; first = false) {
    if (at >= text.length) return undefined;
    const named = /^\[:([a-z]+):\]/.exec(text.slice(at, at + 12));
    if (named !== null) {
      const set = NAMED[named[1] ?? ''];
      parts.push((one) => set?.test(one) === true);
      at += named[0].length;
      continue;
    }
    if (text[at] === '\\') at++;
    const low = text.charAt(at++);
    let high = low;
    if (text[at] === '-' && at + 1 < text.length && text[at + 1] !== ']') {
      at++;
      if (text[at] === '\\') at++;
      high = text.charAt(at++);
    }
    parts.push((one) => low <= one && one <= high);
  }
  return { matches: (one) => parts.some((part) => part(one)) !== negates, end: at };
}

/** Lengths, in names, of the path prefixes that a rule matches, in order. */
function matchedLengths({ segments }: Rule, names: readonly string[]): readonly number[] {
  let reached: readonly number[] = FROM_THE_TOP;
  for (const [i, segment] of segments.entries()) {
    if (segment === '**') {
      const isLast = i === segments.length - 1;
      reached = anyBehind(reached, { isLast, length: names.length });
    } else {
      const next: number[] = [];
      for (const at of reached) if (matchesNext(segment, names[at])) next.push(at + 1);
      reached = next;
    }
    if (reached.length === 0) break;
  }
  return reached;
}

const FROM_THE_TOP: readonly number[] = [0];

/** A final `**` matches the contents of a folder, not the folder. */
function anyBehind(
  reached: readonly number[],
  { isLast, length }: { isLast: boolean; length: number },
): number[] {
  const from = (reached[0] ?? length) + (isLast ? 1 : 0);
  const behind: number[] = [];
  for (let at = from; at <= length; at++) behind.push(at);
  return behind;
}

function matchesNext(segment: readonly Unit[], name: string | undefined): boolean {
  return name !== undefined && matchesName(segment, name);
}

/** Backtracks only to the last `*`: earlier ones need not change. */
function matchesName(units: readonly Unit[], name: string): boolean {
  let unit = 0;
  let at = 0;
  let star = -1;
  let taken = 0;
  while (at < name.length) {
    const wanted = units[unit];
    if (wanted === '*') {
      star = unit++;
      taken = at;
    } else if (wanted?.(name.charAt(at)) === true) {
      unit++;
      at++;
    } else if (star >= 0) {
      unit = star + 1;
      at = ++taken;
    } else return false;
  }
  while (units[unit] === '*') unit++;
  return unit === units.length;
}

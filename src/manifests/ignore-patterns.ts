/**
 * Patterns of an ignore file, with the syntax and semantics of gitignore(5). Pushers write them, so an
 * automaton matches all of them at once: a path takes time in proportion to its length, times the size of
 * the file where characters lead to a state that was not met before.
 */

interface Rule {
  /** From zero. */
  readonly line: number;
  readonly negates: boolean;
  /** Ends in a slash: matches folders only. */
  readonly foldersOnly: boolean;
  /** Parts between slashes, in lower case; `**` matches any number of names. */
  readonly segments: readonly Segment[];
}

type Segment = '**' | readonly Unit[];

/** One character, or `*`: any number of them. */
type Unit = '*' | CharacterSet;

interface CharacterSet {
  /** Text in the pattern: equal texts are equal sets. */
  readonly text: string;
  readonly ranges: readonly Range[];
  readonly negates: boolean;
}

/** First and last code unit. */
type Range = readonly [low: number, high: number];

export interface IgnorePatterns {
  /** True if a file is ignored, by itself or by one of its folders. */
  ignores(path: string): boolean;
  /** The last line, from zero, that ignores a file or one of its folders; -1: none. */
  lineOf(path: string): number;
}

/** Ignores case, like `core.ignoreCase`. */
export function ignorePatterns(text: string): IgnorePatterns {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((pattern, line) => parseRule(pattern, line) ?? []);
  return new Automaton(rules);
}

function parseRule(text: string, line: number): Rule | undefined {
  if (text.startsWith('#')) return undefined;
  const negates = text.startsWith('!');
  let pattern = withoutBlanks(negates ? text.slice(1) : text);
  if (pattern.trim() === '') return undefined;
  const foldersOnly = pattern.endsWith('/');
  if (foldersOnly) pattern = pattern.slice(0, -1);
  const isAnchored = pattern.includes('/');
  const parts = pattern.replace(/^\//, '').toLowerCase().split('/');
  if (parts.length === 1 && parts[0] === '') return undefined;
  if (!isAnchored) parts.unshift('**');
  const segments: Segment[] = [];
  for (const part of parts) {
    if (part !== '**') segments.push(parseSegment(part));
    else if (segments.at(-1) !== '**') segments.push(part);
  }
  return { line, negates, foldersOnly, segments };
}

/** A trailing blank counts only after a backslash. */
function withoutBlanks(pattern: string): string {
  let end = pattern.length;
  while (pattern[end - 1] === ' ') end--;
  let text = end;
  while (pattern[text - 1] === '\\') text--;
  return pattern.slice(0, end + ((end - text) % 2));
}

const NOTHING: CharacterSet = { text: '', ranges: [], negates: false };
const ANYTHING: CharacterSet = { text: '?', ranges: [], negates: true };

function parseSegment(text: string): Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '*') {
      if (units.at(-1) !== '*') units.push('*');
    } else if (character === '?') units.push(ANYTHING);
    else if (character === '[') {
      const found = parseClass(text, at);
      // A class without its end matches nothing, as in git.
      if (found === undefined) return [NOTHING];
      units.push(found);
      at += found.text.length - 1;
    } else {
      if (character === '\\') at++;
      units.push(literal(text.charAt(at)));
    }
  }
  return units;
}

function literal(character: string): CharacterSet {
  if (character === '') return NOTHING;
  return { text: `\\${character}`, ranges: [range(character, character)], negates: false };
}

function range(low: string, high: string): Range {
  return [low.charCodeAt(0), high.charCodeAt(0)];
}

/** ASCII only, as in git. */
const NAMED: Readonly<Record<string, readonly Range[]>> = {
  alnum: [range('a', 'z'), range('0', '9')],
  alpha: [range('a', 'z')],
  blank: [range('\t', '\t'), range(' ', ' ')],
  digit: [range('0', '9')],
  lower: [range('a', 'z')],
  punct: [range('!', '/'), range(':', '@'), range('[', '`'), range('{', '~')],
  space: [range('\t', '\r'), range(' ', ' ')],
  upper: [range('a', 'z')],
  xdigit: [range('0', '9'), range('a', 'f')],
};

/** `[a-z]`, `[!a]`, `[^a]`, `[[:digit:]]`; undefined: the closing bracket is missing. */
function parseClass(text: string, start: number): CharacterSet | undefined {
  const ranges: Range[] = [];
  const negates = text[start + 1] === '!' || text[start + 1] === '^';
  const first = start + (negates ? 2 : 1);
  let at = first;
  while (at === first || text[at] !== ']') {
    if (at >= text.length) return undefined;
    const named = /^\[:([a-z]+):\]/.exec(text.slice(at, at + 12));
    if (named === null) {
      const { low, high, end } = parseRange(text, at);
      if (low !== '' && high !== '') ranges.push(range(low, high));
      at = end;
    } else {
      ranges.push(...(NAMED[named[1] ?? ''] ?? []));
      at += named[0].length;
    }
  }
  return { text: text.slice(start, at + 1), ranges, negates };
}

/** `a`, `a-z`, `\]`; `end` is the offset behind it. */
function parseRange(text: string, start: number): { low: string; high: string; end: number } {
  let at = text[start] === '\\' ? start + 1 : start;
  const low = text.charAt(at++);
  if (text[at] !== '-' || at + 1 >= text.length || text[at + 1] === ']') {
    return { low, high: low, end: at };
  }
  at++;
  if (text[at] === '\\') at++;
  return { low, high: text.charAt(at), end: at + 1 };
}

/** One bit per position. */
type Bits = Uint32Array;

/**
 * Positions of the automaton. One follows each character and each slash of a pattern; `*` and `**` are
 * loops at one. The positions of a rule are in its order, and those of all rules in the order of the file.
 */
class Positions {
  count = 0;
  readonly starts: number[] = [];
  readonly slashes: number[] = [];
  readonly stars: number[] = [];
  readonly deepStars: number[] = [];
  /** One more behind each `**` that is not the end: the first of a name. */
  readonly behindDeepStars: number[] = [];
  /** Sets of one code unit, by that. There may be thousands. */
  readonly literals = new Map<number, number[]>();
  /** Other sets, by their texts. */
  readonly sets = new Map<string, { readonly set: CharacterSet; readonly positions: number[] }>();
  readonly rules: readonly Rule[];
  /** Of each rule. */
  readonly ends: number[] = [];

  constructor(rules: readonly Rule[]) {
    this.rules = rules;
    for (const rule of rules) this.#add(rule);
  }

  #add(rule: Rule): void {
    const { segments } = rule;
    this.starts.push(this.count++);
    for (const [i, segment] of segments.entries()) {
      if (i > 0 && segments[i - 1] !== '**') this.slashes.push(this.count++);
      if (segment !== '**') for (const unit of segment) this.#addUnit(unit);
      else {
        this.deepStars.push(this.count - 1);
        if (i < segments.length - 1) this.behindDeepStars.push(this.count++);
      }
    }
    this.ends.push(this.count - 1);
  }

  #addUnit(unit: Unit): void {
    if (unit === '*') this.stars.push(this.count - 1);
    else this.#addPosition(unit, this.count++);
  }

  #addPosition(set: CharacterSet, position: number): void {
    const code = singleOf(set);
    const known = code === undefined ? this.sets.get(set.text)?.positions : this.literals.get(code);
    if (known !== undefined) known.push(position);
    else if (code !== undefined) this.literals.set(code, [position]);
    else this.sets.set(set.text, { set, positions: [position] });
  }

  bits(positions: Iterable<number>): Bits {
    const bits = new Uint32Array(Math.ceil(this.count / 32));
    for (const at of positions) bits[at >>> 5] = (bits[at >>> 5] ?? 0) | (1 << (at & 31));
    return bits;
  }

  /** Positions behind a character. */
  behind(code: number): Bits {
    if (code === SLASH) return this.bits(this.slashes);
    const sets = [...this.sets.values()].filter(({ set }) => contains(set, code));
    const literal = this.literals.get(code) ?? [];
    return this.bits([literal, ...sets.map(({ positions }) => positions)].flat());
  }
}

/** The code unit of a set of one. */
function singleOf({ ranges: [first, ...others], negates }: CharacterSet): number | undefined {
  if (first === undefined || others.length > 0 || negates) return undefined;
  return first[0] === first[1] ? first[0] : undefined;
}

function contains({ ranges, negates }: CharacterSet, code: number): boolean {
  return ranges.some(([low, high]) => low <= code && code <= high) !== negates;
}

const SLASH = '/'.charCodeAt(0);
const CODE_UNITS = 65_536;

/** Numbers of the code units: those of one number are in the same sets of characters. */
function symbolsOf({ literals, sets }: Positions): Uint16Array {
  const begins = new Uint8Array(CODE_UNITS + 1);
  for (const code of [SLASH, ...literals.keys()]) begins[code] = begins[code + 1] = 1;
  for (const { set } of sets.values()) {
    for (const [low, high] of set.ranges) begins[low] = begins[high + 1] = 1;
  }
  const symbols = new Uint16Array(CODE_UNITS);
  let symbol = 0;
  for (let code = 1; code < CODE_UNITS; code++) symbols[code] = symbol += begins[code] ?? 0;
  return symbols;
}

/** Positions that a text leads to. */
class State {
  readonly bits: Bits;
  readonly #positions: Positions;
  /** By symbol, as they are met. */
  readonly next = new Map<number, State>();
  #line: number | undefined;
  #folderLine: number | undefined;

  constructor(bits: Bits, positions: Positions) {
    this.bits = bits;
    this.#positions = positions;
  }

  /** The line of the last rule that matches a file of this path, unless it negates; -1: none. */
  get line(): number {
    this.#line ??= this.#lastLine(({ foldersOnly }) => !foldersOnly);
    return this.#line;
  }

  /** The same of a folder. */
  get folderLine(): number {
    this.#folderLine ??= this.#lastLine(() => true);
    return this.#folderLine;
  }

  #lastLine(matches: (rule: Rule) => boolean): number {
    const { ends, rules } = this.#positions;
    const { bits } = this;
    const last = rules.findLastIndex((rule, i) => {
      const at = ends[i] ?? 0;
      return ((bits[at >>> 5] ?? 0) & (1 << (at & 31))) !== 0 && matches(rule);
    });
    const rule = rules[last];
    return rule === undefined || rule.negates ? -1 : rule.line;
  }
}

/** A folder, with a slash at its end unless it is the root. */
interface Folder {
  readonly name: string;
  readonly state: State;
  /** The last line that ignores it or a folder above; -1: none. */
  readonly line: number;
}

/** Memory for states and their successors. */
const MAX_STATE_BYTES = 8 * 1024 * 1024;
const SUCCESSOR_BYTES = 64;
const STATE_BYTES = 512;

/**
 * Moves through all positions at once (Shift-And of Baeza-Yates and Gonnet, with loops for gaps), and
 * memoizes the moves: a deterministic automaton that is made as it is needed.
 */
class Automaton implements IgnorePatterns {
  readonly #positions: Positions;
  readonly #symbols: Uint16Array;
  /** Positions behind the characters of each symbol, as they are met. */
  readonly #behind = new Map<number, Bits>();
  readonly #stars: Bits;
  readonly #deepStars: Bits;
  readonly #behindDeepStars: Bits;
  /** States by hash. */
  readonly #states = new Map<number, State[]>();
  #freeBytes = MAX_STATE_BYTES;
  #root: Folder;
  /** Most paths come folder by folder. */
  #last: Folder;

  constructor(rules: readonly Rule[]) {
    const positions = new Positions(rules);
    this.#positions = positions;
    this.#symbols = symbolsOf(positions);
    this.#stars = positions.bits([...positions.stars, ...positions.deepStars]);
    this.#deepStars = positions.bits(positions.deepStars);
    this.#behindDeepStars = positions.bits(positions.behindDeepStars);
    this.#root = this.#start();
    this.#last = this.#root;
  }

  ignores(path: string): boolean {
    return this.lineOf(path) >= 0;
  }

  lineOf(path: string): number {
    const text = path.toLowerCase();
    const cut = text.lastIndexOf('/') + 1;
    this.#last = this.#folder(text.slice(0, cut));
    let { state } = this.#last;
    for (let at = cut; at < text.length; at++) state = this.#next(state, text.charCodeAt(at));
    return Math.max(this.#last.line, state.line);
  }

  #start(): Folder {
    const bits = this.#positions.bits(this.#positions.starts);
    this.#beginName(bits);
    return { name: '', state: new State(bits, this.#positions), line: -1 };
  }

  #folder(name: string): Folder {
    const known = name.startsWith(this.#last.name) ? this.#last : this.#root;
    if (known.name === name) return known;
    let { state, line } = known;
    for (let at = known.name.length; at < name.length; at++) {
      const code = name.charCodeAt(at);
      if (code === SLASH) line = Math.max(line, state.folderLine);
      state = this.#next(state, code);
    }
    return { name, state, line };
  }

  #next(state: State, code: number): State {
    const symbol = this.#symbols[code] ?? 0;
    const known = state.next.get(symbol);
    if (known !== undefined) return known;
    const behind = this.#behind.get(symbol) ?? this.#positions.behind(code);
    this.#behind.set(symbol, behind);
    const next = this.#interned(this.#moved(state.bits, behind, code));
    this.#freeBytes -= SUCCESSOR_BYTES;
    if (this.#freeBytes < 0) this.#forget();
    state.next.set(symbol, next);
    return next;
  }

  #forget(): void {
    this.#states.clear();
    this.#freeBytes = MAX_STATE_BYTES;
    this.#root = this.#start();
  }

  #moved(from: Bits, behind: Bits, code: number): Bits {
    const loops = code === SLASH ? this.#deepStars : this.#stars;
    const to = new Uint32Array(from.length);
    let carry = 0;
    for (let i = 0; i < from.length; i++) {
      const bits = from[i] ?? 0;
      to[i] = (((bits << 1) | carry) & (behind[i] ?? 0)) | (bits & (loops[i] ?? 0));
      carry = bits >>> 31;
    }
    if (code === SLASH) this.#beginName(to);
    return to;
  }

  /** A name that begins may be the first behind `**`. */
  #beginName(state: Bits): void {
    let carry = 0;
    for (let i = 0; i < state.length; i++) {
      const bits = state[i] ?? 0;
      state[i] = bits | (((bits << 1) | carry) & (this.#behindDeepStars[i] ?? 0));
      carry = bits >>> 31;
    }
  }

  #interned(bits: Bits): State {
    let hash = 0;
    for (const word of bits) hash = Math.imul(hash ^ word, 0x01_00_01_93);
    const alike = this.#states.get(hash) ?? [];
    const known = alike.find((state) => state.bits.every((word, i) => word === bits[i]));
    if (known !== undefined) return known;
    const state = new State(bits, this.#positions);
    this.#states.set(hash, [...alike, state]);
    this.#freeBytes -= bits.byteLength + STATE_BYTES;
    return state;
  }
}

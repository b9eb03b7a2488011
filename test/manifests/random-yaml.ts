/**
 * Random YAML documents in mixed styles, each with the value it stands for: block and flow
 * collections, every scalar style, comments, blank lines, anchors, aliases, merge keys, tags,
 * explicit keys, flush-left lists, scalars over several lines, tabs, CRLF, and mixtures of line ends.
 */
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';

export interface RandomDocument {
  readonly text: string;
  readonly value: JsonObject;
  /** Every comment with the path of the entry that it is attached to. */
  readonly comments: readonly RandomComment[];
  /** One flow map in the style of JSON. */
  readonly isJson: boolean;
  /** Text before and after the document: byte order mark, directive, `...`. */
  readonly frame: { readonly head: string; readonly tail: string };
}

export interface RandomComment {
  readonly text: string;
  readonly path: readonly (string | number)[];
}

export interface RandomOptions {
  readonly seed: number;
  /** About how many values. */
  readonly size: number;
  readonly aliases: boolean;
  /** Puts a byte order mark, a directive or an end marker around the document, now and then. */
  readonly frame?: boolean;
}

/** mulberry32: small, and the same everywhere. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * limit);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const KEYS = [
  'name',
  'kind',
  'labels',
  'a',
  'b-c',
  'a.b/c',
  'with space',
  'yes',
  '1',
  'été',
  '#x',
  'q: r',
  "it's",
  'x"y',
  '',
  '*s',
];

const STRINGS = [
  'plain',
  'two words',
  'a: b',
  'x #y',
  '# no',
  'yes',
  'null',
  '~',
  '1_000',
  '0x1F',
  '1e3',
  '2001-01-01',
  '12:30:45',
  ' leading',
  'trailing ',
  '',
  'été 日本 😀',
  "it's",
  'say "hi"',
  'back\\slash',
  'tab\there',
  '- dash',
  '? q',
  '[x]',
  '{y}',
  'a, b',
  '*star',
  '&amp',
  '!bang',
  '%pct',
  '@at',
  '`tick',
  'http://example.org/a?b=c#d',
  'end:',
  '---',
  '...',
  '--flag',
  '=',
  '<<',
  'a long sentence that is folded over more than one line when its style allows it to be folded',
  'line one\nline two\n',
  'line one\nline two',
  'para one\n\npara two\n',
  'keep\n\n\n',
  '  indented\nfirst\n',
  'inner\n  more\nless\n',
  '\nleading break\n',
  'blank  \nspace\n',
  'bell\u0007',
  'nel\u0085x',
  'ls\u2028x',
  'nbsp\u00a0x',
];

/** Controls and line separators: only escapes can hold them. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

export const randomString = (random: Random): string => random.pick(STRINGS);
export const randomKey = (random: Random): string => random.pick(KEYS);

export function randomScalar(random: Random): JsonValue {
  switch (random.below(8)) {
    case 0:
      return random.pick([0, 1, -5, 42, 1.5, 1e21, 2 ** 53 - 1, 1e-7]);
    case 1:
      return random.pick([true, false]);
    case 2:
      return null;
    default:
      return randomString(random);
  }
}

export function randomDocument(options: RandomOptions): RandomDocument {
  return new Writer(options).document();
}

/** The text of a value: what stands on the line of its key or dash, and the lines below. */
interface Written {
  readonly head: string;
  readonly tail: readonly string[];
  readonly value: JsonValue;
}

interface Place {
  /** Column of the key or of the dash. */
  readonly column: number;
  readonly path: readonly (string | number)[];
  readonly kind: 'pair' | 'item';
}

interface Anchored {
  readonly name: string;
  readonly value: JsonValue;
}

class Writer {
  readonly #random: Random;
  readonly #aliases: boolean;
  readonly #comments: RandomComment[] = [];
  readonly #anchors: Anchored[] = [];
  readonly #flush: boolean;
  readonly #step: number;
  readonly #framed: boolean;
  #left: number;
  #names = 0;
  /** Style of the last scalar: blank lines after a block may belong to it. */
  #last: 'inline' | 'block' | 'kept' = 'inline';

  constructor({ seed, size, aliases, frame = false }: RandomOptions) {
    this.#random = new Random(seed);
    this.#aliases = aliases;
    this.#framed = frame;
    this.#left = size;
    this.#flush = this.#random.chance(40);
    this.#step = this.#random.pick([2, 2, 2, 4, 1, 3]);
  }

  document(): RandomDocument {
    const random = this.#random;
    const lines: string[] = [];
    if (random.chance(8)) lines.push('');
    if (random.chance(20)) lines.push('# file header', '');
    const json = random.chance(5);
    const marker = random.chance(30);
    if (marker) lines.push(random.pick(['---', '--- # start', '---   ']));
    let value: JsonObject;
    if (json) {
      value = { a: 1, labels: { x: 'y' } };
      lines.push('{"a": 1, "labels": {"x": "y"}}');
    } else {
      const written = this.#map(0, []);
      value = written.value as JsonObject;
      lines.push(...written.lines);
    }
    if (random.chance(15)) lines.push(...(this.#last === 'kept' ? [] : ['']), '# the end');
    const eol = random.chance(20) ? '\r\n' : '\n';
    const mixed = random.chance(3);
    const ended = this.#last === 'kept' || random.chance(85);
    const body = lines.map((line, index) => {
      if (index === lines.length - 1 && !ended) return line;
      return line + (mixed ? random.pick(['\n', '\r\n']) : eol);
    });
    const frame = this.#frame(eol, { marker, ended });
    const text = frame.head + body.join('') + frame.tail;
    return { text, value, comments: this.#comments, isJson: json, frame };
  }

  #frame(
    eol: string,
    { marker, ended }: { marker: boolean; ended: boolean },
  ): RandomDocument['frame'] {
    const random = this.#random;
    if (!this.#framed) return { head: '', tail: '' };
    const bom = random.chance(15) ? '\uFEFF' : '';
    const directive = marker && random.chance(20) ? `%YAML 1.2${eol}` : '';
    const behind = random.pick(['', '', ' # end', `${eol}# behind`, `${eol}${eol}`]);
    const tail = ended && random.chance(15) ? `...${behind}${random.chance(80) ? eol : ''}` : '';
    return { head: bom + directive, tail };
  }

  /** A blank line, unless it would become part of the scalar above. */
  #blank(): string[] {
    if (this.#last === 'kept') return [];
    return [this.#last === 'inline' ? this.#random.pick(['', '', '', '  ']) : ''];
  }

  #map(column: number, path: readonly (string | number)[]): { lines: string[]; value: JsonObject } {
    const random = this.#random;
    const lines: string[] = [];
    const value: JsonObject = {};
    const count = 1 + random.below(4);
    const keys = [...new Set(Array.from({ length: count }, () => randomKey(random)))];
    const pad = ' '.repeat(column);
    const merge = this.#mergeLine();
    const atHead = random.chance(50);
    if (merge !== undefined && atHead) lines.push(`${pad}<<: ${merge.text}`);
    for (const key of keys) {
      const inner = [...path, key];
      if (lines.length > 0 && random.chance(15)) lines.push(...this.#blank());
      if (random.chance(15)) lines.push(pad + this.#comment(inner));
      const written = this.#value({ column, path: inner, kind: 'pair' });
      value[key] = written.value;
      const gaps = written.tail.length === 0 ? [' ', ' ', '  ', '\t'] : [' ', ' ', '  '];
      const behind = written.head === '' ? '' : `${random.pick(gaps)}${written.head}`;
      const name = this.#keyText(key);
      if (random.chance(4)) {
        lines.push(`${pad}? ${name}`, `${pad}:${behind}`, ...written.tail);
      } else lines.push(`${pad}${name}:${behind}`, ...written.tail);
    }
    if (merge !== undefined && !atHead) {
      lines.push(`${pad}<<: ${merge.text}`);
      this.#last = 'inline';
    }
    return { lines, value: { ...merge?.value, ...value } };
  }

  #mergeLine(): { text: string; value: JsonObject } | undefined {
    if (!this.#aliases || !this.#random.chance(25)) return undefined;
    if (this.#random.chance(20)) {
      const value = { inline: 1, a: randomScalar(this.#random) };
      return { text: this.#flowText(value), value };
    }
    const maps = this.#anchors.filter(({ value }) => isMap(value));
    if (maps.length === 0) return undefined;
    const first = this.#random.pick(maps);
    if (this.#random.chance(70))
      return { text: `*${first.name}`, value: first.value as JsonObject };
    const second = this.#random.pick(maps);
    const value = { ...(second.value as JsonObject), ...(first.value as JsonObject) };
    return { text: `[*${first.name}, *${second.name}]`, value };
  }

  #value(place: Place): Written {
    const random = this.#random;
    this.#left--;
    this.#last = 'inline';
    if (this.#aliases && this.#anchors.length > 0 && random.chance(20)) {
      const anchor = random.pick(this.#anchors);
      return { head: `*${anchor.name}${this.#trailing(place)}`, tail: [], value: anchor.value };
    }
    const deep = this.#left > 0 && place.path.length < 5;
    const written = deep && random.chance(55) ? this.#collection(place) : this.#scalar(place);
    return written;
  }

  #collection(place: Place): Written {
    const random = this.#random;
    if (random.chance(25)) return this.#flow(place);
    const list = random.chance(45);
    const props = this.#props(list ? '!!seq' : '!!map');
    const written = list ? this.#blockList(place, props.text) : this.#blockMap(place, props.text);
    if (props.anchor !== undefined) {
      this.#anchors.push({ name: props.anchor, value: written.value });
    }
    return written;
  }

  #blockMap(place: Place, props: string): Written {
    const compact = place.kind === 'item' && props === '' && this.#random.chance(80);
    const column = place.column + (compact || place.kind === 'item' ? 2 : this.#step);
    const { lines, value } = this.#map(column, place.path);
    return this.#below(place, { lines, value, props, compact });
  }

  #below(
    place: Place,
    block: { lines: string[]; value: JsonValue; props: string; compact: boolean },
  ): Written {
    const { lines, value, props, compact } = block;
    const column = place.column + 2;
    const [first = '', ...rest] = lines;
    if (compact && first.trim() !== '') return { head: first.slice(column), tail: rest, value };
    return { head: (props + this.#trailing(place)).trim(), tail: lines, value };
  }

  #blockList(place: Place, props: string): Written {
    const random = this.#random;
    const compact = place.kind === 'item' && props === '' && random.chance(60);
    const inset = place.kind === 'item' ? 2 : this.#flush ? 0 : this.#step;
    const column = place.column + inset;
    const lines: string[] = [];
    const value: JsonValue[] = [];
    const count = 1 + random.below(4);
    for (let i = 0; i < count; i++) {
      const path = [...place.path, i];
      const pad = ' '.repeat(column);
      if (i > 0 && random.chance(10)) lines.push(...this.#blank());
      if (random.chance(10)) lines.push(pad + this.#comment(path));
      const written = this.#value({ column, path, kind: 'item' });
      value.push(written.value);
      lines.push(`${pad}-${written.head === '' ? '' : ` ${written.head}`}`, ...written.tail);
    }
    return this.#below(place, { lines, value, props, compact });
  }

  #flow(place: Place): Written {
    const random = this.#random;
    const props = this.#props('');
    const value = this.#flowValue(2);
    if (props.anchor !== undefined) this.#anchors.push({ name: props.anchor, value });
    const head = `${props.text}${this.#flowText(value)}`;
    const items = Array.isArray(value)
      ? value.map((item) => this.#flowText(item))
      : Object.entries(value as JsonObject).map(([key, item]) => this.#flowPair(key, item));
    if (items.length === 0 || random.chance(60)) {
      return { head: head + this.#trailing(place), tail: [], value };
    }
    const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
    const pad = ' '.repeat(place.column + 4);
    const comma = random.chance(50) ? ',' : '';
    const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value as JsonObject);
    const lines = items.map((item, index) => {
      const mark = index < items.length - 1 ? ',' : comma;
      const step = steps[index] as string | number;
      return `${pad}${item}${mark}${this.#trailing({ ...place, path: [...place.path, step] })}`;
    });
    return { head: props.text + open, tail: [...lines, `${pad.slice(2)}${close}`], value };
  }

  #flowValue(depth: number): JsonValue {
    const random = this.#random;
    const length = random.below(4);
    const item = (): JsonValue =>
      depth > 0 && random.chance(25) ? this.#flowValue(depth - 1) : randomScalar(random);
    if (random.chance(50)) return Array.from({ length }, item);
    return Object.fromEntries(Array.from({ length }, () => [randomKey(random), item()]));
  }

  #flowText(value: JsonValue): string {
    const gap = this.#random.pick(['', ' ']);
    if (Array.isArray(value)) {
      return `[${gap}${value.map((item) => this.#flowText(item)).join(', ')}${gap}]`;
    }
    if (!isMap(value)) return this.#inlineScalar(value, true);
    const pairs = Object.entries(value).map(([key, item]) => this.#flowPair(key, item));
    return `{${gap}${pairs.join(`,${this.#random.pick([' ', '  '])}`)}${gap}}`;
  }

  #flowPair(key: string, value: JsonValue): string {
    return `${JSON.stringify(key)}: ${this.#flowText(value)}`;
  }

  #scalar(place: Place): Written {
    const random = this.#random;
    const value = randomScalar(random);
    const tag = typeof value === 'string' ? '!!str' : '';
    const props = this.#props(tag);
    if (props.anchor !== undefined) this.#anchors.push({ name: props.anchor, value });
    if (value === null && props.text === '' && random.chance(40)) {
      return { head: this.#trailing(place).trim(), tail: [], value };
    }
    const block = typeof value === 'string' ? this.#blockScalar(value, place) : undefined;
    if (block !== undefined && random.chance(70)) {
      return { head: props.text + block.head, tail: block.tail, value };
    }
    const broken = typeof value === 'string' ? this.#brokenScalar(value, place) : undefined;
    if (broken !== undefined) return { ...broken, head: props.text + broken.head, value };
    const inline = this.#inlineScalar(value, false);
    const alone = place.kind === 'pair' && props.text === '' && random.chance(4);
    if (alone) {
      return { head: '', tail: [' '.repeat(place.column + 1) + inline], value };
    }
    return { head: props.text + inline + this.#trailing(place), tail: [], value };
  }

  /** A plain or quoted scalar over two lines, or over three where it holds a line break. */
  #brokenScalar(value: string, place: Place): { head: string; tail: string[] } | undefined {
    const random = this.#random;
    if (!/^[a-z]+(?:[ \n][a-z]+)+$/.test(value) || !random.chance(30)) return undefined;
    const words = value.split(/(?<=[ \n])/);
    const cut = 1 + random.below(words.length - 1);
    const [first, second] = [words.slice(0, cut).join(''), words.slice(cut).join('')];
    if (first.slice(0, -1).includes('\n') || second.includes('\n')) return undefined;
    const quote = random.pick(['', "'", '"']);
    const pad = ' '.repeat(place.column + 1 + random.below(3));
    // Blanks around a fold do not count; an escaped line end joins without any.
    const escaped = quote === '"' && first.endsWith(' ') && random.chance(40);
    const head = quote + (escaped ? `${first}\\` : first.trimEnd() + random.pick(['', ' ']));
    const gap = first.endsWith('\n') ? [random.pick(['', pad])] : [];
    return { head, tail: [...gap, `${pad}${second}${quote}${this.#trailing(place)}`] };
  }

  #inlineScalar(value: JsonValue, flow: boolean): string {
    if (typeof value !== 'string') return JSON.stringify(value);
    const plain = flow ? /^[a-z]{3,}( [a-z]+)*$/ : /^[a-z\u00e0-\u00ff][^:#\n\t"'\\]*[^\s:]$/;
    const isWord = /^(?:yes|null|[^a-zA-Z]*)$/.test(value) || UNPRINTABLE.test(value);
    const style = this.#random.below(3);
    if (style === 0 && plain.test(value) && !isWord) return value;
    if (style === 1 && !UNPRINTABLE.test(value)) {
      return `'${value.replaceAll("'", "''")}'`;
    }
    return JSON.stringify(value).replace(
      /[\u0085\u2028]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }

  #blockScalar(value: string, place: Place): { head: string; tail: string[] } | undefined {
    const random = this.#random;
    if (UNPRINTABLE.test(value.replaceAll('\n', '')) || /^\s*$|[ \t]+\n/.test(value))
      return undefined;
    const core = value.replace(/\n+$/, '');
    const ends = value.length - core.length;
    const inset = 1 + random.below(3);
    const pad = ' '.repeat(place.column + inset);
    const digit = /^\n*[ \t]/.test(core) || random.chance(10) ? String(inset) : '';
    const chomp = ends === 0 ? '-' : ends === 1 ? random.pick(['', '', '+']) : '+';
    const blanks = Array.from({ length: Math.max(0, ends - 1) }, () => '');
    const folds = !/\n|^ | $/.test(core) && core.includes(' ') && random.chance(60);
    const lines = folds ? core.split(/(?<=\S{4}) (?=\S)/) : core.split('\n');
    const comment = random.chance(10) ? ` ${this.#comment(place.path)}` : '';
    const head = `${folds ? '>' : '|'}${digit}${chomp}${comment}`;
    this.#last = chomp === '+' ? 'kept' : 'block';
    return { head, tail: [...lines.map((line) => (line === '' ? '' : pad + line)), ...blanks] };
  }

  #props(tag: string): { text: string; anchor: string | undefined } {
    const random = this.#random;
    const tagText = tag !== '' && random.chance(4) ? `${tag} ` : '';
    if (!this.#aliases || !random.chance(15)) return { text: tagText, anchor: undefined };
    const anchor = `n${this.#names++}`;
    const text = random.chance(50) ? `&${anchor} ${tagText}` : `${tagText}&${anchor} `;
    return { text, anchor };
  }

  #keyText(key: string): string {
    const random = this.#random;
    if (/^[a-z][a-z.\-/ ]*$/.test(key) && key !== 'yes' && random.chance(80)) return key;
    if (random.chance(30)) return `'${key.replaceAll("'", "''")}'`;
    return JSON.stringify(key);
  }

  #comment(path: readonly (string | number)[]): string {
    const text = `# note ${this.#comments.length}.`;
    this.#comments.push({ text, path });
    return text;
  }

  #trailing({ path }: Place): string {
    return this.#random.chance(12)
      ? `${this.#random.pick([' ', '   ', '\t'])}${this.#comment(path)}`
      : '';
  }
}

export function isMap(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Evaluates a syntax tree to plain JSON: resolves scalar types, follows aliases and merge keys
 * within limits, and reports values that JSON cannot represent as flaws with a place.
 */
import { type Alias, isAlias, isMap, isScalar, isSeq, type ParsedNode, type Scalar } from 'yaml';
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import type { Flaw } from './compose.ts';
import { resolvePlain } from './scalar-meaning.ts';

/** Nested collections, including those behind aliases. */
const MAX_DEPTH = 100;
/** Values that aliases may add to one document; more is an alias bomb. */
const MAX_ALIASED_VALUES = 20_000;
const FLAWS_KEPT = 10;
const TAG_PREFIX = 'tag:yaml.org,2002:';

export interface Evaluation {
  /** Undefined if there is a flaw. */
  readonly value: JsonValue | undefined;
  readonly flaws: readonly Flaw[];
  /** The node that each alias refers to. */
  readonly targets: ReadonlyMap<ParsedNode, ParsedNode>;
  /** Value of every node, without keys. Empty unless requested. */
  readonly values: ReadonlyMap<ParsedNode, JsonValue>;
}

export function evaluate(
  contents: ParsedNode | null,
  options: { keepValues: boolean } = { keepValues: false },
): Evaluation {
  const evaluator = new Evaluator(options.keepValues);
  const value = contents === null ? null : evaluator.node(contents, 0);
  const { flaws, targets, values } = evaluator;
  return { value: flaws.length === 0 ? value : undefined, flaws, targets, values };
}

/** True for an unquoted `<<`, or a tagged merge key. */
export function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.source !== '<<') return false;
  return key.tag === undefined ? key.type === 'PLAIN' : key.tag === `${TAG_PREFIX}merge`;
}

/** Sets a key that may be `__proto__`. */
export function setOwn(map: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(map, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  } else map[key] = value;
}

interface Anchor {
  readonly node: ParsedNode;
  /** Undefined while its node is being evaluated: an alias inside its own anchor would not end. */
  value: JsonValue | undefined;
}

class Evaluator {
  readonly flaws: Flaw[] = [];
  readonly targets = new Map<ParsedNode, ParsedNode>();
  readonly values = new Map<ParsedNode, JsonValue>();
  readonly #keepValues: boolean;
  readonly #anchors = new Map<string, Anchor>();
  #aliased = 0;

  constructor(keepValues: boolean) {
    this.#keepValues = keepValues;
  }

  node(node: ParsedNode, depth: number): JsonValue {
    const value = this.#value(node, depth);
    if (this.#keepValues) this.values.set(node, value);
    return value;
  }

  #value(node: ParsedNode, depth: number): JsonValue {
    if (isAlias(node)) return this.#alias(node, depth);
    if (node.anchor === undefined) return this.#untied(node, depth);
    const anchor: Anchor = { node, value: undefined };
    this.#anchors.set(node.anchor, anchor);
    anchor.value = this.#untied(node, depth);
    return anchor.value;
  }

  #untied(node: Exclude<ParsedNode, Alias>, depth: number): JsonValue {
    if (isScalar(node)) return this.#scalar(node);
    if (depth >= MAX_DEPTH) return this.#flaw(node, 'nested too deeply');
    const expected = isMap(node) ? 'map' : 'seq';
    if (node.tag !== undefined && node.tag !== TAG_PREFIX + expected) {
      return this.#flaw(node, unsupportedTag(node.tag));
    }
    if (isSeq(node)) {
      return node.items.map((item) => this.node(item, depth + 1));
    }
    return this.#map(node, depth);
  }

  #map(node: MapNode, depth: number): JsonObject {
    const map: JsonObject = {};
    const merges: JsonObject[] = [];
    for (const { key, value } of node.items) {
      if (isMergeKey(key)) {
        for (const source of this.#mergeSources(key, value, depth)) merges.push(source);
        continue;
      }
      const name = this.#key(key);
      const item = value === null ? null : this.node(value, depth + 1);
      if (name === undefined) continue;
      if (Object.hasOwn(map, name)) {
        this.#flaw(key, `key ${shortened(name)} is already set in this map`);
      } else setOwn(map, name, item);
    }
    for (const source of merges) fillFrom(map, source);
    return map;
  }

  /** Maps of a `<<`; the first with a key wins, and keys of the map itself win over all. */
  #mergeSources(key: ParsedNode, value: ParsedNode | null, depth: number): JsonObject[] {
    const merged = value === null ? null : this.node(value, depth + 1);
    const sources = Array.isArray(merged) ? merged : [merged];
    if (sources.every((source) => isRecord(source))) return sources;
    this.#flaw(value ?? key, 'a merge key (<<) takes a map, an alias of a map, or a list of those');
    return [];
  }

  #key(key: ParsedNode): string | undefined {
    const flaws = this.flaws.length;
    const name = this.#value(key, 0);
    if (typeof name === 'string') return name;
    if (this.flaws.length === flaws) this.#flaw(key, keyMessage(key, name));
    return undefined;
  }

  #alias(alias: Alias.Parsed, depth: number): JsonValue {
    const anchor = this.#anchors.get(alias.source);
    if (anchor === undefined) {
      const message =
        'the anchor of this alias is not set before it; quote the value if text is meant';
      return this.#flaw(alias, message);
    }
    if (anchor.value === undefined) {
      return this.#flaw(alias, 'this alias stands inside its own anchor');
    }
    this.targets.set(alias, anchor.node);
    return this.#copy(anchor.value, alias, depth);
  }

  /** Every alias gets its own copy, so that changing one place does not change another. */
  #copy(value: JsonValue, alias: ParsedNode, depth: number): JsonValue {
    this.#aliased++;
    if (this.#aliased === MAX_ALIASED_VALUES) {
      this.#flaw(alias, `aliases add more than ${MAX_ALIASED_VALUES} values to this document`);
    }
    if (this.#aliased >= MAX_ALIASED_VALUES) return null;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH) return this.#flaw(alias, 'nested too deeply');
    if (Array.isArray(value)) return value.map((item) => this.#copy(item, alias, depth + 1));
    const copy: JsonObject = {};
    for (const [key, item] of Object.entries(value)) {
      setOwn(copy, key, this.#copy(item, alias, depth + 1));
    }
    return copy;
  }

  #scalar(node: Scalar.Parsed): JsonValue {
    const source = node.source;
    // An escape can produce text that UTF-8 cannot encode, and other YAML readers refuse it.
    if (!source.isWellFormed()) {
      const remedy = 'write the whole character';
      return this.#flaw(node, `the text holds one half of a surrogate pair; ${remedy}`);
    }
    if (node.tag !== undefined) return this.#tagged(node, node.tag);
    if (node.type !== 'PLAIN') return source;
    const value = resolvePlain(source);
    return value === undefined ? this.#flaw(node, numberMessage(source)) : value;
  }

  #tagged(node: Scalar.Parsed, tag: string): JsonValue {
    const { source } = node;
    if (tag === '!' || tag === `${TAG_PREFIX}str`) return source;
    const accepts = SCALAR_TAGS.get(tag);
    if (accepts === undefined) return this.#flaw(node, unsupportedTag(tag));
    const value = resolvePlain(source);
    if (value === undefined) return this.#flaw(node, numberMessage(source));
    if (accepts(value)) return value;
    return this.#flaw(node, `this value does not fit its tag${tagName(tag)}`);
  }

  #flaw(node: ParsedNode, message: string): null {
    if (this.flaws.length < FLAWS_KEPT) this.flaws.push({ offset: node.range[0], message });
    return null;
  }
}

interface MapNode {
  readonly items: readonly { readonly key: ParsedNode; readonly value: ParsedNode | null }[];
}

const SCALAR_TAGS: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  [`${TAG_PREFIX}int`, Number.isInteger],
  [`${TAG_PREFIX}float`, (value: JsonValue) => typeof value === 'number'],
  [`${TAG_PREFIX}bool`, (value: JsonValue) => typeof value === 'boolean'],
  [`${TAG_PREFIX}null`, (value: JsonValue) => value === null],
]);

/** Adds the keys that the map does not have. */
function fillFrom(map: JsonObject, source: JsonObject): void {
  for (const [key, value] of Object.entries(source)) {
    if (!Object.hasOwn(map, key)) setOwn(map, key, value);
  }
}

/** Tags of YAML itself. Others are not repeated: an unquoted password may begin with `!`. */
const NAMED_TAG = /^(?:binary|bool|float|int|map|null|omap|pairs|seq|set|str|timestamp)$/;

function tagName(tag: string): string {
  const name = tag.startsWith(TAG_PREFIX) ? tag.slice(TAG_PREFIX.length) : '';
  return NAMED_TAG.test(name) ? ` !!${name}` : '';
}

function unsupportedTag(tag: string): string {
  const name = tagName(tag);
  const remedy = name === '' ? 'remove it, or quote the value if text is meant' : 'remove it';
  return `the tag${name} stands for nothing that JSON can hold; ${remedy}`;
}

function numberMessage(source: string): string {
  return /[a-z]{3}$/i.test(source) && source.includes('.')
    ? 'infinity and NaN are not JSON numbers; quote the value if text is meant'
    : 'this integer is too large to be kept exactly; quote it to keep it as text';
}

function keyMessage(key: ParsedNode, value: JsonValue): string {
  if (value === null && isScalar(key) && key.source === '') return 'a map key is missing';
  if (typeof value === 'object' && value !== null) return 'a map key must be a string';
  return `the map key ${shortened(String(value), '')} is not a string here; quote it`;
}

const SHOWN_NAME = 80;

function shortened(name: string, quote = '"'): string {
  const text = name.length > SHOWN_NAME ? `${name.slice(0, SHOWN_NAME)}…` : name;
  return quote === '' ? text.replace(/\s+/g, ' ') : JSON.stringify(text);
}

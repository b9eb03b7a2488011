/**
 * Walks a document along the desired value and collects the splices that produce it. The walk
 * follows the order of the text, so that at every alias the new value of its anchor is known.
 */
import {
  type Alias,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  type ParsedNode,
  type Scalar,
} from 'yaml';
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../../apimachinery/index.ts';
import { setOwn } from '../evaluate.ts';
import { flowText } from '../render.ts';
import { stringText } from '../scalar-text.ts';
import { align } from './align.ts';
import { editBlockScalar } from './block-scalar.ts';
import { changeEntries, type NewEntry } from './entries.ts';
import { replaceValue } from './replace.ts';
import { inStyleOf, type ScalarValue, tagFits } from './scalar.ts';
import {
  type Entry,
  entriesOf,
  isMapNode,
  isSeqNode,
  type MapNode,
  type SeqNode,
  type Slot,
  type WrittenSlot,
} from './slots.ts';
import type { Splice } from './splice.ts';
import { children, type EditTree } from './tree.ts';

/**
 * Splices that make the document evaluate to `desired`. Nodes in `rewritten` are replaced as a
 * whole. The document must have a root.
 */
export function plan(
  tree: EditTree,
  desired: JsonValue,
  rewritten: ReadonlySet<ParsedNode>,
): Splice[] {
  const { root } = tree;
  if (root.node === null) throw new TypeError('the document has no value');
  const planner = new Planner(tree, rewritten);
  planner.value(root, desired, { owner: root.node, json: undefined });
  return planner.splices;
}

interface Context {
  /** Collection that contains the value. */
  readonly owner: ParsedNode;
  /** Within a flow collection: true if it is written as JSON. */
  readonly json: boolean | undefined;
}

class Planner {
  readonly splices: Splice[] = [];
  readonly #tree: EditTree;
  readonly #rewritten: ReadonlySet<ParsedNode>;
  /** Value of each anchor at this point of the new text. */
  readonly #anchors = new Map<string, JsonValue>();

  constructor(tree: EditTree, rewritten: ReadonlySet<ParsedNode>) {
    this.#tree = tree;
    this.#rewritten = rewritten;
  }

  value(slot: Slot, desired: JsonValue, context: Context): void {
    const { node } = slot;
    if (isAlias(node)) {
      this.#alias({ ...slot, node }, desired, context);
      return;
    }
    if (slot.anchor !== undefined) this.#anchors.set(slot.anchor.source.slice(1), desired);
    if (node !== null && this.#rewritten.has(node)) this.#replace(slot, desired, context);
    else if (this.#differs(node, desired)) this.#change(slot, desired, context);
  }

  /** With aliases, equal collections may still need a change: an anchor may be gone. */
  #differs(node: ParsedNode | null, desired: JsonValue): boolean {
    if (isCollection(node) && this.#tree.aliases.size > 0) return true;
    const current = node === null ? null : this.#tree.values.get(node);
    return !jsonEqual(current, desired);
  }

  #change(slot: Slot, desired: JsonValue, context: Context): void {
    const { node } = slot;
    const isScalarValue = !isRecord(desired) && !Array.isArray(desired);
    if (isMapNode(node) && isRecord(desired)) this.#map({ ...slot, node }, desired, context);
    else if (isSeqNode(node) && Array.isArray(desired))
      this.#seq({ ...slot, node }, desired, context);
    else if (isScalar(node) && isScalarValue) this.#scalar({ ...slot, node }, desired, context);
    else this.#replace(slot, desired, context);
  }

  #replace(slot: Slot, desired: JsonValue, context: Context, newAnchor?: string): void {
    const { owner } = context;
    const { node } = slot;
    const isCollected = isMapNode(node) || isSeqNode(node);
    const json = (isCollected ? jsonStyle(node, context.json) : context.json) ?? false;
    if (isImplicitPair(node)) {
      const [start, end] = node.range;
      this.splices.push({ start, end, text: flowText(desired, { json }), owner });
      return;
    }
    const replacement = { slot, desired, owner, json, newAnchor };
    for (const splice of replaceValue(this.#tree, replacement)) this.splices.push(splice);
  }

  /** Keeps the alias if its anchor will have the desired value; otherwise writes the value. */
  #alias(slot: WrittenSlot<Alias.Parsed>, desired: JsonValue, context: Context): void {
    const { node } = slot;
    const known = this.#anchors.get(node.source);
    if (!this.#rewritten.has(node) && known !== undefined && jsonEqual(known, desired)) return;
    const offsets = this.#tree.aliases.get(node.source) ?? [];
    // The anchor is gone: its first remaining alias takes it over.
    const inherits = known === undefined && offsets.some((offset) => offset > node.range[0]);
    if (inherits) this.#anchors.set(node.source, desired);
    this.#replace(slot, desired, context, inherits ? node.source : undefined);
  }

  #scalar(slot: WrittenSlot<Scalar.Parsed>, desired: ScalarValue, context: Context): void {
    const { node } = slot;
    const splices = tagFits(node.tag, desired)
      ? this.#scalarInPlace(node, desired, context.json)
      : undefined;
    if (splices === undefined) this.#replace(slot, desired, context);
    else for (const splice of splices) this.splices.push(splice);
  }

  #scalarInPlace(
    node: Scalar.Parsed,
    desired: ScalarValue,
    json: boolean | undefined,
  ): Splice[] | undefined {
    if (node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL') {
      if (typeof desired !== 'string') return undefined;
      const before = String(this.#tree.values.get(node));
      return editBlockScalar(this.#tree, node, { before, after: desired });
    }
    const text = inStyleOf(node, desired, json);
    const [start, end] = node.range;
    return text === undefined ? undefined : [{ start, end, text, owner: node }];
  }

  #map(slot: WrittenSlot<MapNode>, desired: JsonObject, context: Context): void {
    const { node } = slot;
    const entries = isImplicitPair(node) ? [] : entriesOf(this.#tree.source, node);
    const keys = new Map(entries.map((entry) => [entry, this.#keyOf(entry)]));
    const inner = { owner: node, json: jsonStyle(node, context.json) };
    const kept: Entry[] = [];
    const given: JsonObject = {};
    for (const entry of entries) {
      const key = keys.get(entry);
      if (key === undefined) {
        if (this.#keepsMerge(entry, { desired, given })) kept.push(entry);
        continue;
      }
      const value = Object.hasOwn(desired, key) ? desired[key] : undefined;
      if (value === undefined) continue;
      kept.push(entry);
      this.#key(entry, key, node);
      this.value(entry.slot, value, inner);
    }
    if (kept.length === 0) {
      if (!jsonEqual(this.#tree.values.get(node), desired)) this.#replace(slot, desired, context);
      return;
    }
    const own = new Set(kept.map((entry) => keys.get(entry)));
    const added = Object.entries(desired)
      .filter(([key, value]) => !own.has(key) && !isGiven(given, key, value))
      .map(([key, value]): NewEntry => ({ key, value, after: undefined }));
    const names = new Map(kept.map((entry) => [entry, keys.get(entry) ?? '']));
    const change = { slot, entries, kept, names, json: inner.json };
    for (const splice of changeEntries(this.#tree, { ...change, added })) this.splices.push(splice);
  }

  #keyOf(entry: Entry): string | undefined {
    if (entry.isMerge) return undefined;
    const { key } = entry;
    const node = isAlias(key) ? this.#tree.targets.get(key) : key;
    return isScalar(node) ? node.source : undefined;
  }

  #key({ key }: Entry, name: string, owner: ParsedNode): void {
    if (!isAlias(key)) {
      if (key?.anchor !== undefined) this.#anchors.set(key.anchor, name);
    } else if (this.#anchors.get(key.source) !== name) {
      const [start, end] = key.range;
      const text = stringText(name, { flow: true });
      this.splices.push({ start, end, text, owner });
    }
  }

  /** Keeps a merge key if all of its values are desired, and adds them to `given`. */
  #keepsMerge(
    { slot }: Entry,
    { desired, given }: { desired: JsonObject; given: JsonObject },
  ): boolean {
    const sources = mergeSources(this.#tree, slot.node, this.#anchors);
    const wanted = sources?.every((source) =>
      Object.keys(source).every((key) => Object.hasOwn(desired, key)),
    );
    if (sources === undefined || wanted !== true) return false;
    for (const [key, value] of sources.flatMap((source) => Object.entries(source))) {
      if (!Object.hasOwn(given, key)) setOwn(given, key, value);
    }
    if (slot.node !== null) {
      for (const [name, value] of anchorsIn(this.#tree, slot.node)) this.#anchors.set(name, value);
    }
    return true;
  }

  #seq(slot: WrittenSlot<SeqNode>, desired: JsonValue[], context: Context): void {
    const { node } = slot;
    const entries = entriesOf(this.#tree.source, node);
    const before = node.items.map((item) => this.#tree.values.get(item) ?? null);
    const inner = { owner: node, json: jsonStyle(node, context.json) };
    const kept: Entry[] = [];
    const added: NewEntry[] = [];
    const steps = align(before, desired);
    if (!steps.some(({ from, to }) => from !== undefined && to !== undefined)) {
      if (before.length + desired.length > 0) this.#replace(slot, desired, context);
      return;
    }
    for (const { from, to } of steps) {
      if (to === undefined) continue;
      const value = desired[to] ?? null;
      const entry = from === undefined ? undefined : entries[from];
      if (entry === undefined) {
        added.push({ key: undefined, value, after: kept.at(-1) });
        continue;
      }
      kept.push(entry);
      this.value(entry.slot, value, inner);
    }
    const change = { slot, entries, kept, names: undefined, json: inner.json };
    for (const splice of changeEntries(this.#tree, { ...change, added })) this.splices.push(splice);
  }
}

/** Maps of a `<<`, first wins; undefined if the new text does not determine them. */
function mergeSources(
  tree: EditTree,
  node: ParsedNode | null,
  anchors: ReadonlyMap<string, JsonValue>,
): JsonObject[] | undefined {
  const sources = isSeqNode(node) ? node.items : [node];
  const values = sources.flatMap((source) => sourceValue(tree, source, anchors));
  return values.every((value) => isRecord(value)) ? values : undefined;
}

function sourceValue(
  tree: EditTree,
  node: ParsedNode | null,
  anchors: ReadonlyMap<string, JsonValue>,
): JsonValue[] {
  if (isAlias(node)) {
    const value = anchors.get(node.source) ?? null;
    return Array.isArray(value) ? value : [value];
  }
  if (!isMap(node) || holdsAlias(node)) return [null];
  return [tree.values.get(node) ?? null];
}

function holdsAlias(node: ParsedNode): boolean {
  return isAlias(node) || children(node).some(holdsAlias);
}

/**
 * Undefined for block collections. A flow collection is JSON if every key and every string in it is
 * in double quotes; its nested collections inherit that.
 */
function jsonStyle(node: MapNode | SeqNode, around: boolean | undefined): boolean | undefined {
  if (node.flow !== true) return undefined;
  if (around !== undefined) return around;
  const quotes = strings(node);
  return quotes.length > 0 && quotes.every((type) => type === 'QUOTE_DOUBLE');
}

/** Styles of all strings in a value. */
function strings(node: ParsedNode | null): (string | undefined)[] {
  if (isSeqNode(node)) return node.items.flatMap(strings);
  if (isMapNode(node)) {
    return node.items.flatMap(({ key, value }) => [typeOf(key), ...strings(value)]);
  }
  if (!isScalar(node)) return [];
  return node.type === 'PLAIN' && /^[-0-9tfn]/.test(node.source) ? [] : [node.type ?? undefined];
}

function typeOf(key: ParsedNode): string | undefined {
  return isScalar(key) ? (key.type ?? undefined) : undefined;
}

/** `a: 1` inside `[]`: a map without braces, always written as a whole. */
function isImplicitPair(node: ParsedNode | null): node is ParsedNode {
  return isMap(node) && node.srcToken === undefined;
}

function isGiven(given: JsonObject, key: string, value: JsonValue): boolean {
  return Object.hasOwn(given, key) && jsonEqual(given[key], value);
}

/** Anchors within an unchanged value. */
function anchorsIn(tree: EditTree, node: ParsedNode): [string, JsonValue][] {
  const inner = children(node).flatMap((child) => anchorsIn(tree, child));
  if (isAlias(node) || node.anchor === undefined) return inner;
  return [[node.anchor, tree.values.get(node) ?? null], ...inner];
}

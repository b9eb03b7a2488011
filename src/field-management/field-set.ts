/**
 * A set of paths into an object, as a trie (reference: Kubernetes API, section 2.14). Results of set
 * operations may share parts with their operands, so do not mutate an operand afterwards.
 */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';

/**
 * One step of a path into an object, as FieldsV1 writes it: `f:<name>` a field, `k:<json>` the item
 * of a list by its keys, `v:<json>` the item of a set by its value. Kept as this text, which is the
 * same for the same step.
 */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The keys in order of name, as Kubernetes writes them. */
export function keyElement(keys: JsonObject): PathElement {
  return `k:${canonical(keys)}`;
}

export function valueElement(value: JsonValue): PathElement {
  return `v:${canonical(value)}`;
}

/** The name of a field; undefined for an item of a list. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

const ITEM = /^(?:k:\{.*\}|v:.+|i:-?\d+)$/s;

/** True if an external text is a valid step. A key must parse and be a map. */
export function isPathElement(text: string): boolean {
  if (text.startsWith('f:')) return true;
  if (!ITEM.test(text)) return false;
  try {
    const value: unknown = JSON.parse(text.slice(2));
    return !text.startsWith('k:') || isRecord(value);
  } catch {
    return false;
  }
}

/** The step in messages: `.spec`, `[name="x"]`, `[="x"]`. */
export function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const keys = JSON.parse(rest) as JsonObject;
      const parts = Object.keys(keys)
        .sort()
        .map((name) => `${name}=${JSON.stringify(keys[name])}`);
      return `[${parts.join(',')}]`;
    }
    case 'v':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

const ORDER = 'fkvi';

/** Fields, then items by key, by value, by index; by their text among themselves. */
export function compareElements(a: PathElement, b: PathElement): number {
  const kind = ORDER.indexOf(a[0] ?? '') - ORDER.indexOf(b[0] ?? '');
  if (kind !== 0) return kind;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function canonical(value: JsonValue): string {
  if (!isRecord(value)) return JSON.stringify(value);
  const sorted = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`);
  return `{${sorted.join(',')}}`;
}

export class FieldSet {
  /** The steps from here that are paths of the set themselves. */
  readonly members = new Set<PathElement>();
  /** Subsets below each step. They are never empty. */
  readonly children = new Map<PathElement, FieldSet>();

  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  /** `below`: what lies further down, where the set has nothing yet. */
  insert(path: readonly PathElement[], below?: FieldSet): void {
    const last = path.at(-1);
    if (last === undefined) return;
    let at: FieldSet = this;
    for (const element of path.slice(0, -1)) at = at.#descend(element);
    at.members.add(last);
    if (below !== undefined) at.put(last, below);
  }

  has(path: readonly PathElement[]): boolean {
    const last = path.at(-1);
    if (last === undefined) return false;
    let at: FieldSet | undefined = this;
    for (const element of path.slice(0, -1)) at = at?.children.get(element);
    return at?.members.has(last) ?? false;
  }

  /** The subset below a step. */
  below(element: PathElement): FieldSet {
    return this.children.get(element) ?? new FieldSet();
  }

  union(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    if (this.isEmpty) return other;
    const result = new FieldSet();
    for (const set of [this, other]) for (const member of set.members) result.members.add(member);
    for (const element of new Set([...this.children.keys(), ...other.children.keys()])) {
      result.put(element, this.below(element).union(other.below(element)));
    }
    return result;
  }

  /** In pairs, since a union copies the members of both operands. */
  static unionOf(sets: readonly FieldSet[]): FieldSet {
    const middle = Math.ceil(sets.length / 2);
    if (middle < sets.length)
      return FieldSet.unionOf(sets.slice(0, middle)).union(FieldSet.unionOf(sets.slice(middle)));
    return sets[0] ?? new FieldSet();
  }

  intersection(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.members) if (other.members.has(member)) result.members.add(member);
    for (const [element, child] of this.children) {
      result.put(element, child.intersection(other.below(element)));
    }
    return result;
  }

  /** A path that stays keeps its place, even where a path above it goes. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty || this.isEmpty) return this;
    const result = new FieldSet();
    for (const member of this.members) if (!other.members.has(member)) result.members.add(member);
    for (const [element, child] of this.children) {
      result.put(element, child.difference(other.below(element)));
    }
    return result;
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).isEmpty && other.difference(this).isEmpty;
  }

  /** Sets the subset below a step. An empty one removes it. */
  put(element: PathElement, child: FieldSet): void {
    if (child.isEmpty) this.children.delete(element);
    else this.children.set(element, child);
  }

  /** Every path of the set, in order, as messages show them. */
  *paths(): IterableIterator<string> {
    for (const element of this.#elements()) {
      const text = formatElement(element);
      if (this.members.has(element)) yield text;
      for (const path of this.below(element).paths()) yield text + path;
    }
  }

  toFieldsV1(): JsonObject {
    return this.#writeTo({});
  }

  /** No step is called as something that objects inherit: each begins with a letter and a colon. */
  #writeTo(fields: JsonObject): JsonObject {
    for (const element of this.#elements()) {
      const child = this.children.get(element);
      const below: JsonObject = {};
      if (child !== undefined && this.members.has(element)) below['.'] = {};
      fields[element] = child === undefined ? below : child.#writeTo(below);
    }
    return fields;
  }

  /** Undefined: not FieldsV1. */
  static fromFieldsV1(fields: unknown): FieldSet | undefined {
    if (!isRecord(fields)) return undefined;
    const result = new FieldSet();
    for (const [element, below] of Object.entries(fields)) {
      if (element === '.') continue;
      if (!isPathElement(element) || !isRecord(below)) return undefined;
      const isMember = Object.hasOwn(below, '.') || Object.keys(below).length === 0;
      if (isMember) result.members.add(element);
      const child = FieldSet.fromFieldsV1(below);
      if (child === undefined) return undefined;
      result.put(element, child);
    }
    return result;
  }

  #descend(element: PathElement): FieldSet {
    const known = this.children.get(element);
    if (known !== undefined) return known;
    const child = new FieldSet();
    this.children.set(element, child);
    return child;
  }

  #elements(): PathElement[] {
    const elements = [...this.members];
    for (const element of this.children.keys()) {
      if (!this.members.has(element)) elements.push(element);
    }
    return elements.sort(compareElements);
  }
}

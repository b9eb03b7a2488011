/**
 * A set of paths into an object, as a trie (reference: Kubernetes API, section 2.14). Results of set
 * operations may share parts with their operands, so do not mutate an operand afterwards.
 */
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import { compareElements, formatElement, isPathElement, type PathElement } from './path-element.ts';

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

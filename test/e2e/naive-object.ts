/**
 * The result of updates, patches and applies, in the plainest words there are: leaves
 * with values, and for every manager the leaves that it owns. It knows nothing of the daemon's code.
 */
import fastJsonPatch, { type Operation } from 'fast-json-patch';

// biome-ignore lint/suspicious/noExplicitAny: objects of every shape
type Any = any;

/** Fields of a Team that may be written. */
export interface Content {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly displayName?: string;
  readonly description?: string;
  readonly users?: readonly string[];
  readonly clusterRoles?: readonly { name: string }[];
}

/** A set has a leaf an item; what is atomic is one leaf. */
export type Leaves = Map<string, string>;

export function bodyOf(content: Content): Any {
  const { labels, annotations, ...spec } = content;
  return JSON.parse(JSON.stringify({ metadata: { labels, annotations }, spec }));
}

export function leavesOf(body: Any): Leaves {
  const leaves: Leaves = new Map();
  const { labels, annotations } = body.metadata ?? {};
  for (const [name, map] of Object.entries({ labels, annotations })) {
    for (const [key, value] of Object.entries(map ?? {})) {
      leaves.set(`metadata/${name}/${key}`, String(value));
    }
  }
  const { displayName, description, users = [], clusterRoles } = body.spec ?? {};
  if (displayName !== undefined) leaves.set('spec/displayName', displayName);
  if (description !== undefined) leaves.set('spec/description', description);
  for (const user of users ?? []) leaves.set(`spec/users/${user}`, '');
  if (clusterRoles !== undefined) leaves.set('spec/clusterRoles', JSON.stringify(clusterRoles));
  return leaves;
}

/** RFC 7396, section 2, to the letter. */
export function mergePatch(target: Any, patch: Any): Any {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const isObject = target !== null && typeof target === 'object' && !Array.isArray(target);
  const result: Any = isObject ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

export function jsonPatch(target: Any, patch: readonly Operation[]): Any {
  return fastJsonPatch.applyPatch(structuredClone(target), patch).newDocument;
}

export class NaiveObject {
  leaves: Leaves = new Map();
  /** `name Update` or `name Apply` → what it owns. */
  readonly owners = new Map<string, Set<string>>();

  /** Replaces the object by `next`; the writer owns every changed field. */
  update(manager: string, next: Leaves): void {
    const own = this.#ownerOf(`${manager} Update`);
    for (const [leaf, value] of next) {
      if (this.leaves.get(leaf) === value) continue;
      for (const owned of this.owners.values()) owned.delete(leaf);
      own.add(leaf);
    }
    for (const leaf of this.leaves.keys()) {
      if (next.has(leaf)) continue;
      for (const owned of this.owners.values()) owned.delete(leaf);
    }
    this.leaves = new Map(next);
    this.#forgetEmpty();
  }

  /** False: another manager owns what would change, and nothing happens. */
  apply(manager: string, wanted: Leaves, force: boolean): boolean {
    const who = `${manager} Apply`;
    const others = [...this.owners].filter(([name]) => name !== who).map(([, owned]) => owned);
    const changed = [...wanted].filter(([leaf, value]) => this.leaves.get(leaf) !== value);
    const conflicts = changed.some(([leaf]) => others.some((owned) => owned.has(leaf)));
    if (conflicts && !force) return false;
    for (const [leaf, value] of changed) {
      for (const owned of others) owned.delete(leaf);
      this.leaves.set(leaf, value);
    }
    for (const leaf of this.owners.get(who) ?? []) {
      const isKept = wanted.has(leaf) || others.some((owned) => owned.has(leaf));
      if (!isKept) this.leaves.delete(leaf);
    }
    this.owners.set(who, new Set(wanted.keys()));
    this.#forgetEmpty();
    return true;
  }

  #ownerOf(who: string): Set<string> {
    const owned = this.owners.get(who) ?? new Set<string>();
    this.owners.set(who, owned);
    return owned;
  }

  #forgetEmpty(): void {
    for (const [who, owned] of this.owners) if (owned.size === 0) this.owners.delete(who);
  }
}

/** The leaves that a FieldsV1 names; those that only say that a map is there are left out. */
export function leavesOfFields(fields: Any, path: readonly string[] = []): string[] {
  return Object.entries(fields).flatMap(([key, inner]) => {
    if (key === '.') return [];
    const name = key.startsWith('v:') ? JSON.parse(key.slice(2)) : key.slice(2);
    const here = [...path, name];
    if (Object.keys(inner as object).length > 0) return leavesOfFields(inner, here);
    return CONTAINERS.has(here.join('/')) ? [] : [here.join('/')];
  });
}

const CONTAINERS = new Set(['metadata/labels', 'metadata/annotations', 'spec', 'spec/users']);

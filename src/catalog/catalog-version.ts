/**
 * Versions of a catalog at several commits of a history. The catalog is at one of them; each other
 * version is a difference to a neighbour on the way there. A fork costs what its lines change, and the
 * catalog is read without layers, however many lines are open.
 */
import { KeyMap, type ObjectKey, runYielding, Yielding } from '../apimachinery/index.ts';
import { Catalog } from './catalog.ts';
import type { CatalogObject } from './catalog-object.ts';
import type { Difference } from './difference.ts';
import type { CommitPoint } from './identity.ts';
import { catalogDifference } from './object-changes.ts';
import type { Changed } from './overlay-map.ts';
import type { ObjectChange, Step } from './step.ts';

/** The neighbour of a version on the way to the version that the catalog is at. */
interface Way {
  readonly to: CatalogVersion;
  readonly difference: Difference;
}

interface AdvanceOptions {
  /** Of a merge: the objects of its other parents. */
  readonly others?: readonly OtherObjects[];
  readonly wantsChanges: boolean;
}

interface Advanced {
  readonly version: CatalogVersion;
  /** Empty unless they are wanted. */
  readonly changes: readonly ObjectChange[];
}

/** Objects of a version that are others in the catalog. */
export type OtherObjects = KeyMap<Changed<CatalogObject>>;

export class CatalogVersion {
  readonly #catalog: Catalog;
  /** Undefined: the catalog is at this version. */
  #way: Way | undefined;
  #at: CommitPoint | undefined;
  readonly #neighbours = new Set<CatalogVersion>();
  #isNeeded = true;

  private constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The version before the first commit. */
  static first(rootCommit: string): CatalogVersion {
    return new CatalogVersion(new Catalog(rootCommit));
  }

  /** Moves the catalog to this version. It stays there until another version is checked out. */
  async checkOut(): Promise<Catalog> {
    const ways: CatalogVersion[] = [];
    for (let at: CatalogVersion = this; at.#way !== undefined; at = at.#way.to) ways.push(at);
    for (const version of ways.reverse()) await runYielding(version.#turnAround());
    return this.#catalog;
  }

  *#turnAround(): Generator<void> {
    if (this.#way === undefined) return;
    const { to, difference } = this.#way;
    to.#at = this.#catalog.at;
    to.#way = { to: this, difference };
    yield* this.#catalog.exchange(difference, this.#at);
    this.#way = undefined;
  }

  /** Objects of another version that differ. This version must be checked out. */
  async differing(other: CatalogVersion): Promise<OtherObjects> {
    const found: OtherObjects = new KeyMap();
    if (other.#catalog !== this.#catalog) {
      // The lines have no commit in common.
      const catalog = await other.checkOut();
      for (const { key, after } of catalogDifference(this.#catalog, catalog)) {
        found.set(key, { value: after });
      }
      return found;
    }
    const pauses = new Yielding();
    for (let at = other; at.#way !== undefined; at = at.#way.to) {
      for (const [key, changed] of at.#way.difference.objects()) {
        if (pauses.due) await pauses.pause();
        if (!found.has(key)) found.set(key, changed);
      }
    }
    for (const [key, { value }] of found.entries()) {
      if (this.#catalog.object(key) === value) found.delete(key);
    }
    return found;
  }

  /** Moves the catalog to the version after a step. This version must be checked out. */
  async advance(step: Step, { others = [], wantsChanges }: AdvanceOptions): Promise<Advanced> {
    const catalog = this.#catalog;
    const isAlone = !this.#isNeeded && this.#neighbours.size === 0;
    if (isAlone) this.#isNeeded = true;
    if (isAlone && !wantsChanges && others.length === 0) {
      return { version: this, changes: await runYielding(catalog.absorb(step)) };
    }
    const difference = catalog.difference();
    const otherParents = others.map((objects) => ({
      object: (key: ObjectKey) => {
        const changed = objects.get(key) ?? difference.object(key);
        return changed === undefined ? catalog.object(key) : changed.value;
      },
    }));
    const at = catalog.at;
    const merge = others.length > 0 && { otherParents };
    const changes = await runYielding(catalog.absorb({ ...step, ...merge }, difference));
    if (isAlone) return { version: this, changes };
    const version = new CatalogVersion(catalog);
    this.#at = at;
    this.#way = { to: version, difference };
    this.#neighbours.add(version);
    version.#neighbours.add(this);
    this.#prune();
    return { version, changes };
  }

  /** Ends the need for this version, except as a way to others. */
  release(): void {
    // A merge may name a parent twice.
    if (!this.#isNeeded) return;
    this.#isNeeded = false;
    this.#prune();
  }

  #prune(): void {
    const way = this.#way;
    if (this.#isNeeded || way === undefined || this.#neighbours.size > 2) return;
    const { to, difference } = way;
    const [farther] = [...this.#neighbours].filter((other) => other !== to);
    to.#neighbours.delete(this);
    const fartherWay = farther === undefined ? undefined : farther.#way;
    if (farther === undefined || fartherWay === undefined) {
      to.#prune();
      return;
    }
    fartherWay.difference.extendBy(difference);
    farther.#way = { to, difference: fartherWay.difference };
    farther.#neighbours.delete(this);
    farther.#neighbours.add(to);
    to.#neighbours.add(farther);
  }
}

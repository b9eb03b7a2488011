/**
 * States that objects with secrets have within a push, at the tip or before: reads of the past show
 * them later. A state that the same incarnation of the object had before the push does not count,
 * since a merge repeats such states.
 */
import { keyString, Yielding } from '../../apimachinery/index.ts';
import type { Catalog, CatalogObject, FoldedStep, ObjectChange } from '../../catalog/index.ts';
import { isEncryptedKind, type KindTable } from '../../kinds/index.ts';

interface PushedChange {
  readonly change: ObjectChange;
  /** Of a merge: commits of the branch that it merges. */
  readonly merged: readonly string[];
}

export class IntermediateStates {
  readonly #kinds: ReadonlySet<string>;
  readonly #before: Catalog;
  readonly #pushed: ReadonlySet<string>;
  readonly #known = new Set<string>();
  /** By the states before and after: commits of a push may repeat one any number of times. */
  readonly #changes = new Map<string, PushedChange>();
  /** Catalogs at commits of the branch. */
  readonly #views = new Map<string, Catalog | undefined>();

  /** `pushed`: ids of the commits of the push. */
  constructor(kinds: KindTable, before: Catalog, pushed: ReadonlySet<string>) {
    const secret = kinds.kinds.filter(isEncryptedKind);
    this.#kinds = new Set(secret.map(({ kind }) => kind));
    this.#before = before;
    this.#pushed = pushed;
  }

  record({ commit, changes }: FoldedStep): void {
    const isPushed = this.#pushed.has(commit.id);
    const merged = commit.parents.slice(1).filter((id) => !this.#pushed.has(id));
    for (const change of changes) {
      if (change.after === undefined) continue;
      const { encrypted } = change.after.source;
      if (encrypted === undefined && !this.#kinds.has(change.key.kind)) continue;
      const state = stateOf(change.after);
      const former = change.before === undefined ? '' : stateOf(change.before);
      if (!isPushed) this.#known.add(state);
      else this.#changes.set([former, state, ...merged].join(' '), { change, merged });
    }
  }

  /** Yields to the event loop. */
  async found(): Promise<ObjectChange[]> {
    const found: ObjectChange[] = [];
    const pauses = new Yielding();
    for (const { change, merged } of this.#changes.values()) {
      await pauses.take();
      const { after } = change;
      if (after === undefined || this.#known.has(stateOf(after))) continue;
      if (!(await this.#isFormer(after, merged))) found.push(change);
    }
    return found;
  }

  async #isFormer(after: CatalogObject, merged: readonly string[]): Promise<boolean> {
    const state = stateOf(after);
    const has = (catalog: Catalog | undefined): boolean => {
      const object = catalog?.object(after.key);
      return object !== undefined && stateOf(object) === state;
    };
    if (has(this.#before)) return true;
    for (const id of merged) if (has(await this.#viewOf(id))) return true;
    return false;
  }

  async #viewOf(id: string): Promise<Catalog | undefined> {
    if (!this.#views.has(id)) this.#views.set(id, await this.#before.viewOf(id));
    return this.#views.get(id);
  }
}

function stateOf({ key, identity, source }: CatalogObject): string {
  return `${keyString(key)} ${identity.introducedBy} ${source.blob}`;
}

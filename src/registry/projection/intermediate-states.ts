/**
 * States that objects with secrets have within a push, at the tip or before: reads of the past show
 * them later. A state that the same incarnation of the object had before the push does not count,
 * since a merge repeats such states.
 */
import { flatMapYielding, keyString } from '../../apimachinery/index.ts';
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
  readonly #changes: PushedChange[] = [];
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
      if (isPushed) this.#changes.push({ change, merged });
      else this.#known.add(stateOf(change.after));
    }
  }

  /** Yields to the event loop. */
  async found(): Promise<ObjectChange[]> {
    return await flatMapYielding(this.#changes, ({ change, merged }) => {
      const { key, after } = change;
      if (after === undefined || this.#known.has(stateOf(after))) return [];
      const former = [this.#before, ...merged.map((id) => this.#viewOf(id))];
      const isFormer = former.some((catalog) => {
        const object = catalog?.object(key);
        return object !== undefined && stateOf(object) === stateOf(after);
      });
      return isFormer ? [] : [change];
    });
  }

  #viewOf(id: string): Catalog | undefined {
    if (!this.#views.has(id)) this.#views.set(id, this.#before.viewOf(id));
    return this.#views.get(id);
  }
}

function stateOf({ key, identity, source }: CatalogObject): string {
  return `${keyString(key)} ${identity.introducedBy} ${source.blob}`;
}

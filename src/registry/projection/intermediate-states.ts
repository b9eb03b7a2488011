/**
 * States that objects with secrets have within a push, at the tip or before: reads of the past show
 * them later. A state that the same incarnation of the object had before the push does not count,
 * since a merge repeats such states.
 */
import { flatMapYielding, keyString } from '../../apimachinery/index.ts';
import type { Catalog, CatalogObject, FoldedStep, ObjectChange } from '../../catalog/index.ts';
import { isEncryptedKind, type KindTable } from '../../kinds/index.ts';

export class IntermediateStates {
  readonly #kinds: ReadonlySet<string>;
  readonly #before: Catalog;
  readonly #pushed: ReadonlySet<string>;
  readonly #known = new Set<string>();
  readonly #changes: ObjectChange[] = [];

  /** `pushed`: ids of the commits of the push. */
  constructor(kinds: KindTable, before: Catalog, pushed: ReadonlySet<string>) {
    const secret = kinds.kinds.filter(isEncryptedKind);
    this.#kinds = new Set(secret.map(({ kind }) => kind));
    this.#before = before;
    this.#pushed = pushed;
  }

  record({ commit, changes }: FoldedStep): void {
    const isPushed = this.#pushed.has(commit.id);
    for (const change of changes) {
      if (change.after === undefined) continue;
      const { encrypted } = change.after.source;
      if (encrypted === undefined && !this.#kinds.has(change.key.kind)) continue;
      if (isPushed) this.#changes.push(change);
      else this.#known.add(stateOf(change.after));
    }
  }

  /** Yields to the event loop. */
  async found(): Promise<ObjectChange[]> {
    return await flatMapYielding(this.#changes, (change) => {
      const { key, after } = change;
      const present = this.#before.object(key);
      if (after === undefined || this.#known.has(stateOf(after))) return [];
      return present === undefined || stateOf(present) !== stateOf(after) ? [change] : [];
    });
  }
}

function stateOf({ key, identity, source }: CatalogObject): string {
  return `${keyString(key)} ${identity.introducedBy} ${source.blob}`;
}

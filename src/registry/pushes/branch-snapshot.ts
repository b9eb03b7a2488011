/** The desired state at one moment, for work beside the branch, and what has come since. */
import {
  type Catalog,
  type Folded,
  Footprint,
  type PinnedCatalog,
  type TreeView,
} from '../../catalog/index.ts';
import { isEncryptedKind, type Kind, type KindTable } from '../../kinds/index.ts';
import type { JournalEvent, Store } from '../../state/index.ts';

interface Moment extends Folded {
  readonly revision: string;
}

export class BranchSnapshot {
  readonly head: string;
  readonly folded: Folded;
  readonly #pin: PinnedCatalog;
  /** Objects of the state that changed and decide about themselves alone. */
  readonly #data = new Footprint();
  readonly #stops: readonly (() => void)[];
  /** The state changed in a way that verdicts may depend on. */
  #mayDecide = false;

  /** Callers hold the mutex. */
  constructor(
    { catalog, view, revision }: Moment,
    { kinds, store }: { readonly kinds: KindTable; readonly store: Pick<Store, 'observe'> },
  ) {
    this.head = revision;
    this.#pin = catalog.pin();
    this.folded = { catalog: this.#pin.catalog, view: view.clone() };
    this.#stops = kinds.kinds.map((of) =>
      store.observe({ group: of.group, kind: of.kind }, (event) => this.#record(of, event)),
    );
  }

  /** True if the present state came from this one step by step, with the same rules for its files. */
  isBelow({ catalog, view }: { readonly catalog: Catalog; readonly view: TreeView }): boolean {
    return this.#pin.on === catalog && this.folded.view.hasRulesOf(view);
  }

  /** Files and objects that have changed since. */
  changed(): Footprint {
    return this.#pin.catalog.footprint();
  }

  /** True if a verdict may be another one now, on a push that changes the objects of the footprint. */
  mayDecideOn(pushed: Footprint): boolean {
    return this.#mayDecide || this.#data.meets(pushed);
  }

  release(): void {
    this.#pin.release();
    for (const stop of this.#stops) stop();
  }

  /**
   * Rights and guards depend on roles, bindings, users, teams, keys and the Config; warnings on objects
   * that are made and removed. A changed secret decides about itself alone: roles that are derived from
   * it have events of their own.
   */
  #record(kind: Kind, { type, current }: JournalEvent): void {
    const isData = kind.scope === 'Namespaced' && isEncryptedKind(kind);
    if (!isData || type !== 'MODIFIED') this.#mayDecide = true;
    else if (!this.#mayDecide) this.#data.addKey(current.key);
  }
}

/** The desired state at one moment, for work beside the branch, and what has come since. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import {
  type Catalog,
  type Folded,
  Footprint,
  type PinnedCatalog,
  type TreeView,
} from '../../catalog/index.ts';
import { isEncryptedKind, type KindTable } from '../../kinds/index.ts';
import type { JournalEvent, Store } from '../../state/index.ts';
import type { Outcome } from './push-dry-run.ts';

interface Moment extends Folded {
  /** Undefined: the branch has no commit. */
  readonly revision: string | undefined;
}

export class BranchSnapshot {
  readonly head: string | undefined;
  readonly folded: Folded;
  readonly #pin: PinnedCatalog;
  /** Objects of the state that changed and decide about themselves alone. */
  readonly #data = new Footprint();
  #isChanged = false;
  readonly #kinds: KindTable;
  readonly #stops: readonly (() => void)[];
  /** The state changed in a way that verdicts may depend on. */
  #mayDecide = false;

  /** Callers hold the mutex. */
  constructor(
    { catalog, view, revision }: Moment,
    { kinds, store }: { readonly kinds: KindTable; readonly store: Pick<Store, 'observe'> },
  ) {
    this.head = revision;
    this.#kinds = kinds;
    this.#pin = catalog.pin();
    this.folded = { catalog: this.#pin.catalog, view: view.clone() };
    this.#stops = kinds.kinds.map((of) =>
      store.observe({ group: of.group, kind: of.kind }, (event) => this.#record(event)),
    );
  }

  /** True if the present state came from this one step by step, with the same rules for its files. */
  isBelow({ catalog, view }: { readonly catalog: Catalog; readonly view: TreeView }): boolean {
    return catalog.isBelow(this.#pin.catalog) && this.folded.view.hasRulesOf(view);
  }

  /** Files and objects that have changed since. */
  changed(): Footprint {
    return this.#pin.changed();
  }

  /** True if a verdict may be another one now, on a push with this outcome and footprint. */
  mayDecideOn({ changes, passing }: Outcome, pushed: Footprint): boolean {
    if (this.#mayDecide || this.#data.meets(pushed)) return true;
    // Encrypted values of a push are compared with those of all objects.
    return this.#isChanged && (passing.length > 0 || changes.some(({ key }) => this.#isData(key)));
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
  #record({ type, current: { key } }: JournalEvent): void {
    this.#isChanged = true;
    if (type !== 'MODIFIED' || !this.#isData(key)) this.#mayDecide = true;
    else if (!this.#mayDecide) this.#data.addKey(key);
  }

  /** True if an object of the key holds secrets, and decides about no other object. */
  #isData(key: ObjectKey): boolean {
    const kind = this.#kinds.byKey(key);
    return kind?.scope === 'Namespaced' && isEncryptedKind(kind);
  }
}

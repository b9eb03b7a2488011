/**
 * Binds an access key to one incarnation of its User or Team: reusing a name must not revive keys
 * that were made for another user. Binds a project secret to one incarnation of the shared secret that it
 * follows in the same way: the right to read that one is no right to read a later one of its name. The
 * binding follows from history alone.
 * A key is bound to the incarnation that its owner has when the key is introduced, or when its
 * owner or its text is changed. If the owner does not exist then, the key waits and is bound to the
 * owner's first incarnation; one that a commit introduces while it ends the owner is bound to that
 * owner. Neither the end of the owner nor a later incarnation changes the
 * binding: only a new owner or text does.
 */
import { KeyMap, keyString, type ObjectKey } from '../apimachinery/index.ts';
import { bondOf, isBindable, mayHaveBonds } from '../kinds/index.ts';
import type { CatalogObject } from './catalog-object.ts';
import type { Contents, OwnerMove } from './contents.ts';
import { type OwnerBinding, sameBinding } from './owner-binding.ts';
import type { ObjectChange, Step } from './step.ts';
import type { ChangeLog } from './undo-log.ts';

interface Due {
  /** The key before the step. */
  readonly before: CatalogObject | undefined;
  /** True if the step changes the key itself. */
  readonly isAffected: boolean;
}

/** Owner bindings of one step: `add` is called for every affected object, then `settle` once. */
export class OwnerBindings {
  readonly #contents: Contents;
  readonly #step: Step;
  readonly #undo: ChangeLog | undefined;
  readonly #due = new KeyMap<Due>();
  /** Affected owners, in their state before the step. */
  readonly #owners = new KeyMap<CatalogObject | undefined>();
  readonly #moves: OwnerMove[] = [];

  constructor(contents: Contents, step: Step, undo: ChangeLog | undefined) {
    this.#contents = contents;
    this.#step = step;
    this.#undo = undo;
  }

  add(key: ObjectKey, before: CatalogObject | undefined): void {
    if (isBindable(key)) this.#due.set(key, { before, isAffected: true });
    else if (mayHaveBonds(key)) this.#owners.set(key, before);
  }

  /** Must be called after all objects are final. Returns the changes of other keys. */
  *settle(): Generator<void, ObjectChange[]> {
    const merged = this.#mergedIncarnations();
    for (const [owner] of this.#owners.entries()) {
      for (const key of this.#contents.waiting.get(owner) ?? []) this.#alsoDue(key);
    }
    if (merged.size > 0) {
      for (const { key, ownerBinding } of this.#contents.objects.values()) {
        if (
          ownerBinding?.incarnation !== undefined &&
          merged.has(incarnationId(ownerBinding.owner, ownerBinding.incarnation))
        )
          this.#alsoDue(key);
      }
    }
    const changes: ObjectChange[] = [];
    for (const [key, { before, isAffected }] of this.#due.entries()) {
      yield;
      const after = this.#bind(key, before, merged);
      if (!isAffected && after !== before) changes.push({ key, before, after });
    }
    this.#contents.setWaiting(this.#moves, this.#undo);
    return changes;
  }

  #alsoDue(key: ObjectKey): void {
    if (this.#due.has(key)) return;
    this.#due.set(key, { before: this.#contents.objects.get(key), isAffected: false });
  }

  #bind(
    key: ObjectKey,
    before: CatalogObject | undefined,
    merged: ReadonlyMap<string, string>,
  ): CatalogObject | undefined {
    const { objects } = this.#contents;
    const object = objects.get(key);
    const binding = object && this.#bindingOf(object, before, merged);
    this.#moves.push({ key, from: before?.ownerBinding, to: binding });
    if (object === undefined || sameBinding(object.ownerBinding, binding)) return object;
    const bound = object.withOwnerBinding(binding);
    this.#undo?.map(objects, key);
    objects.set(key, bound);
    return bound;
  }

  #bindingOf(
    object: CatalogObject,
    before: CatalogObject | undefined,
    merged: ReadonlyMap<string, string>,
  ): OwnerBinding | undefined {
    const now = bondOf(object.key, object.manifest);
    if (now === undefined) return undefined;
    const { owner } = now;
    // An owner that this very step ends: a squashed branch may have had both, one after the other.
    const there = this.#contents.objects.get(owner) ?? this.#owners.get(owner);
    const current = there?.identity.introducedBy;
    const parents = (this.#step.otherParents ?? []).map((parent) => parent.object(object.key));
    const agreed = [before, ...parents].filter(
      (view) =>
        view?.ownerBinding !== undefined &&
        view.identity.introducedBy === object.identity.introducedBy &&
        hasTerms(view, object, now.terms),
    );
    const known = agreed
      .map((view) => view?.ownerBinding?.incarnation)
      .filter((incarnation) => incarnation !== undefined)
      .map((incarnation) => merged.get(incarnationId(owner, incarnation)) ?? incarnation);
    const [first, ...others] = [...new Set(known)].sort();
    const isUndecided = first === undefined || (others.length > 0 && known.includes(current ?? ''));
    return { owner, incarnation: isUndecided ? current : first };
  }

  /**
   * Incarnations of one owner that began on two branches become one in a merge: the surviving
   * incarnation gets the keys of both. An incarnation that succeeded another one has only its own
   * keys.
   */
  #mergedIncarnations(): ReadonlyMap<string, string> {
    const { otherParents = [], isAncestor } = this.#step;
    const merged = new Map<string, string>();
    if (otherParents.length === 0 || isAncestor === undefined) return merged;
    for (const [owner, before] of this.#owners.entries()) {
      const winner = this.#contents.objects.get(owner)?.identity.introducedBy;
      const views = [before, ...otherParents.map((it) => it.object(owner))];
      for (const incarnation of views.map((view) => view?.identity.introducedBy)) {
        if (incarnation === undefined || winner === undefined || incarnation === winner) continue;
        if (!isAncestor(incarnation, winner)) merged.set(incarnationId(owner, incarnation), winner);
      }
    }
    return merged;
  }
}

function hasTerms(view: CatalogObject, object: CatalogObject, terms: string): boolean {
  return view.source === object.source || bondOf(view.key, view.manifest)?.terms === terms;
}

function incarnationId(owner: ObjectKey, incarnation: string): string {
  return `${keyString(owner)} ${incarnation}`;
}

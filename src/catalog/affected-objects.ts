/** Objects that a step may change, and the documents that name them after it. */
import { KeyMap, type ObjectKey } from '../apimachinery/index.ts';
import type { Place } from './catalog-object.ts';
import type { Contents } from './contents.ts';
import { type FileEntry, hasUnnamed, unplacedDocuments } from './file.ts';
import type { Places } from './places.ts';
import type { Step } from './step.ts';
import type { ChangeLog } from './undo-log.ts';

/** A key that a step may change, and every document that names it after the step. */
export class AffectedObjects {
  readonly key: ObjectKey;
  readonly removed: Place[] = [];
  readonly added: Place[] = [];
  readonly #before: Places;

  constructor(key: ObjectKey, before: Places) {
    this.key = key;
    this.#before = before;
  }

  claims(): Places {
    return this.#before.changed(this.removed, this.added);
  }
}

/** Replaces the files. Yields each affected key once, however many documents name it. */
export function* affectedObjects(
  contents: Contents,
  step: Step,
  undo: ChangeLog | undefined,
): Generator<void, KeyMap<AffectedObjects>> {
  const touched = new TouchedKeys(contents, step);
  for (const [path, entry] of step.files) {
    yield;
    const old = contents.files.get(path);
    if (old !== undefined) touched.addOld(old);
    if (entry !== undefined) touched.addNew(entry, old !== undefined);
    contents.setFile(path, entry, undo);
  }
  touched.addShielded();
  for (const key of step.alsoAffected ?? []) touched.add(key);
  return touched.keys;
}

class TouchedKeys {
  readonly keys = new KeyMap<AffectedObjects>();
  /** Paths of files with documents that have no key, before or after the step. */
  readonly #broken = new Set<string>();
  readonly #contents: Contents;
  readonly #step: Step;

  constructor(contents: Contents, step: Step) {
    this.#contents = contents;
    this.#step = step;
  }

  addOld(file: FileEntry): void {
    if (hasUnnamed(file)) this.#broken.add(file.path);
    const { path } = file;
    for (const { key, index } of unplacedDocuments(file)) {
      if (key) this.add(key).removed.push({ path, index });
    }
  }

  addNew(file: FileEntry, isKnown: boolean): void {
    const { path } = file;
    // No object is in a file that was not there, unless another parent has it.
    if ((isKnown || this.#step.otherParents !== undefined) && hasUnnamed(file)) {
      this.#broken.add(path);
    }
    for (const { key, index } of unplacedDocuments(file)) {
      if (key) this.add(key).added.push({ path, index });
    }
  }

  /**
   * Adds objects whose file has a broken document and no document that names them. The broken
   * document shields them from removal; a step may end or begin that.
   */
  addShielded(): void {
    if (this.#broken.size === 0) return;
    for (const { key, place } of this.#contents.objects.values()) {
      if (this.#broken.has(place.path)) this.add(key);
    }
  }

  add(key: ObjectKey): AffectedObjects {
    let found = this.keys.get(key);
    if (found === undefined) {
      found = new AffectedObjects(key, this.#contents.claims(key));
      this.keys.set(key, found);
    }
    return found;
  }
}

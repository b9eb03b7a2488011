/**
 * Paths that differ by case, or by how accents are composed, alone. File systems of macOS and
 * Windows have room for one of them, so a clone there would lose the other without a word.
 */
import { shownPath } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { UndoLog } from './undo-log.ts';

/** What paths are the same by; itself for most paths. */
export function collisionKey(path: string): string {
  return UNUSUAL.test(path) ? path.normalize('NFC').toLowerCase() : path;
}

const UNUSUAL = /[A-Z]|[^ -~]/;

export class PathCollisions {
  /** Paths that are not their own fold, by it. Most repositories have few. */
  readonly #unusual: Map<string, readonly string[]>;

  constructor(from?: PathCollisions) {
    this.#unusual = new Map(from === undefined ? [] : from.#unusual);
  }

  set(path: string, exists: boolean, undo?: UndoLog): void {
    const fold = collisionKey(path);
    if (fold === path) return;
    const known = this.#unusual.get(fold) ?? [];
    if (known.includes(path) === exists) return;
    undo?.map(this.#unusual, fold);
    const left = exists ? [...known, path] : known.filter((other) => other !== path);
    if (left.length === 0) this.#unusual.delete(fold);
    else this.#unusual.set(fold, left);
  }

  /** The path that a new one would be told apart from by case alone; undefined: there is none. */
  twinOf(path: string, has: (path: string) => boolean): string | undefined {
    const fold = collisionKey(path);
    const same = [...(this.#unusual.get(fold) ?? []), ...(has(fold) ? [fold] : [])];
    return same.includes(path) ? undefined : same[0];
  }

  /** A problem for each path that another one stands in the way of. */
  problemsOf(path: string, has: (path: string) => boolean): Problem[] {
    return this.#among(collisionKey(path), has);
  }

  problems(has: (path: string) => boolean): Problem[] {
    return [...this.#unusual.keys()].flatMap((fold) => this.#among(fold, has));
  }

  #among(fold: string, has: (path: string) => boolean): Problem[] {
    const unusual = this.#unusual.get(fold);
    if (unusual === undefined) return [];
    const paths = [...unusual, ...(has(fold) ? [fold] : [])];
    if (paths.length < 2) return [];
    return paths.map((path) => {
      const other = paths.find((one) => one !== path) ?? '';
      const message = `The path differs by case alone from ${shownPath(other)}; a clone on macOS or Windows would lose one of them, so rename one`;
      return { path, line: 1, col: 1, message };
    });
  }
}

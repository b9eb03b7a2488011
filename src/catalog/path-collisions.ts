/**
 * Paths that differ only in case or in Unicode composition. The file systems of macOS and Windows
 * store only one of them, so a clone there would silently lose the other.
 */
import { shownPath } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { UndoLog } from './undo-log.ts';

/** Key that colliding paths share; the path itself for most paths. */
export function collisionKey(path: string): string {
  return UNUSUAL.test(path) ? path.normalize('NFC').toLowerCase() : path;
}

const UNUSUAL = /[A-Z]|[^ -~]/;

export class PathCollisions {
  /** Paths that differ from their key, by key. Most repositories have few. */
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

  /** The existing path that collides with a new one; undefined: there is none. */
  twinOf(path: string, has: (path: string) => boolean): string | undefined {
    const fold = collisionKey(path);
    const same = [...(this.#unusual.get(fold) ?? []), ...(has(fold) ? [fold] : [])];
    return same.includes(path) ? undefined : same[0];
  }

  /** A problem for each path that another one collides with. */
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

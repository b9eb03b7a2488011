/**
 * Translates a commit's path changes to the files that the catalog reads: filters, the ignore file,
 * encryption.
 */

import { flatMapYielding, jsonEqual, ownText, shownPath } from '../apimachinery/index.ts';
import type { PathChange, PathSelection, TreeFile } from '../git/index.ts';
import {
  IGNORE_FILE,
  LARGEST_IGNORE_FILE,
  MANIFEST_ENDINGS,
  type PathFilter,
  type Problem,
  pathFilter,
  SOPS_CONFIG,
} from '../manifests/index.ts';
import { type FileEntry, refuseClear } from './file.ts';
import { type ObjectSource, readReadable, type SeenPath, SUBMODULE, SYMLINK } from './reading.ts';

/**
 * Encryption rules of a repository. From the first commit with a `.sops.yaml` on, plaintext secrets
 * are refused, even if that file is removed.
 */
export interface Sealing {
  /** Blobs of the config files by path, the nearest to the manifests first. */
  readonly configs: Readonly<Record<string, string>>;
}

/** Paths of possible SOPS configuration files, the nearest to the manifests first. */
export function sealingConfigPaths(under: string): string[] {
  return under === '' ? [SOPS_CONFIG] : [`${under}/${SOPS_CONFIG}`, SOPS_CONFIG];
}

/** Selects the manifest paths of a revision. Follows the ignore file from commit to commit. */
export class TreeView {
  readonly #under: string;
  #ignoreBlob: string | undefined;
  #filter: PathFilter;
  #sealing: Sealing | undefined;

  constructor(under: string, from?: TreeView) {
    this.#under = under;
    this.#ignoreBlob = from?.ignoreBlob;
    this.#filter = from === undefined ? pathFilter(under, undefined) : from.#filter;
    this.#sealing = from?.sealing;
  }

  /** Undefined: plaintext secrets are accepted. */
  get sealing(): Sealing | undefined {
    return this.#sealing;
  }

  get ignoreBlob(): string | undefined {
    return this.#ignoreBlob;
  }

  get #ignorePath(): string {
    return this.#under === '' ? IGNORE_FILE : `${this.#under}/${IGNORE_FILE}`;
  }

  /** Files that have the rules of the view. */
  get rulePaths(): readonly string[] {
    return [this.#ignorePath, ...sealingConfigPaths(this.#under)];
  }

  /** True if the rules of the view are in this file. */
  isRuledBy(path: string): boolean {
    return this.rulePaths.includes(path);
  }

  /** True if both select and refuse the same. */
  hasRulesOf(other: TreeView): boolean {
    return this.#ignoreBlob === other.ignoreBlob && jsonEqual(this.#sealing, other.sealing);
  }

  clone(): TreeView {
    return new TreeView(this.#under, this);
  }

  includes(path: string): boolean {
    return this.#filter.includes(path);
  }

  manifestOnClones(path: string): string | undefined {
    return this.#filter.manifestOnClones(path);
  }

  /** True if a folder, or a file of any name, is within the selection. */
  covers(path: string): boolean {
    return this.#filter.covers(path);
  }

  /**
   * Reads an ignore file by the id of its blob; used to continue after an earlier process. One that
   * is too large ignores nothing.
   */
  async adopt(
    source: ObjectSource,
    blob: string | undefined,
    sealing: Sealing | undefined = this.#sealing,
  ): Promise<void> {
    this.#sealing = sealing;
    this.#ignoreBlob = blob;
    const [content] = blob === undefined ? [] : await readReadable(source, [blob]);
    const isTaken = content !== undefined && content.length <= LARGEST_IGNORE_FILE;
    this.#filter = pathFilter(this.#under, isTaken ? content.toString('utf8') : undefined);
  }

  /** Applies a commit's changes of encryption rules. */
  followSealing(changes: readonly PathChange[]): void {
    for (const path of sealingConfigPaths(this.#under)) {
      const change = changes.find((candidate) => candidate.path === path);
      if (change === undefined) continue;
      const { [path]: _before, ...others } = this.#sealing?.configs ?? {};
      const id = change.newId !== undefined && isFile(change.mode) ? change.newId : undefined;
      if (id !== undefined) this.#sealing = { configs: { ...others, [path]: ownText(id) } };
      else if (this.#sealing !== undefined) this.#sealing = { configs: others };
    }
  }

  /** A file by the rules of this tree. */
  judged(file: FileEntry): FileEntry {
    return this.#sealing === undefined ? file : refuseClear(file);
  }

  judgedAll(
    files: ReadonlyMap<string, FileEntry | undefined>,
  ): ReadonlyMap<string, FileEntry | undefined> {
    if (this.#sealing === undefined) return files;
    let refused: Map<string, FileEntry | undefined> | undefined;
    for (const [path, file] of files) {
      const own = file && this.judged(file);
      if (own !== file) refused ??= new Map(files);
      if (own !== file) refused?.set(path, own);
    }
    return refused ?? files;
  }

  /**
   * Returns the change of the ignore file, if the commit has one: every path has to be checked
   * then.
   */
  changesFilter(changes: readonly PathChange[]): PathChange | undefined {
    const ignorePath = this.#ignorePath;
    return changes.find((change) => change.path === ignorePath);
  }
}

/** Files that a view may follow, whatever its rules are: commits can change a million others. */
export function followedPaths(under: string): PathSelection {
  return { under, endings: MANIFEST_ENDINGS, others: new TreeView(under).rulePaths };
}

/**
 * Changes of a commit to manifest paths. `known` has the catalog's blob for a path; all of it is
 * used only if the ignore file changed.
 */
export async function seenPaths(of: {
  view: TreeView;
  source: ObjectSource;
  revision: string;
  changes: readonly PathChange[];
  under: string;
  known: Iterable<FileEntry>;
}): Promise<SeenPath[]> {
  const { view, source, revision, changes } = of;
  view.followSealing(changes);
  const ignoreChange = view.changesFilter(changes);
  if (ignoreChange === undefined) {
    return await flatMapYielding(changes, ({ path, newId: id, mode }) =>
      view.includes(path) ? [{ path, id, mode }] : [],
    );
  }
  // Must be read synchronously, before the catalog can change.
  const known = [...of.known];
  // Links and submodules are never followed; such a path ignores nothing.
  await view.adopt(source, isFile(ignoreChange.mode) ? ignoreChange.newId : undefined);
  const files = await source.listFiles(revision, followedPaths(of.under));
  return treeDifference(
    known,
    await flatMapYielding(files, (file) => (view.includes(file.path) ? [file] : [])),
  );
}

function treeDifference(known: Iterable<FileEntry>, files: readonly TreeFile[]): SeenPath[] {
  const now = new Map<string, SeenPath>(files.map((file) => [file.path, file]));
  const seen: SeenPath[] = [];
  for (const entry of known) {
    const file = now.get(entry.path);
    if (file === undefined) seen.push({ path: entry.path, id: undefined, mode: '000000' });
    else if (file.id === entry.blob) now.delete(entry.path);
  }
  return [...seen, ...now.values()];
}

/** Files that the daemon does not read, and that a clone may have in the place of a manifest. */
export function lookalikeProblems(
  view: TreeView,
  changes: readonly PathChange[],
): Promise<Problem[]> {
  return flatMapYielding(changes, ({ path, newId }) => {
    const other = newId === undefined ? undefined : view.manifestOnClones(path);
    if (other === undefined) return [];
    const message = `The daemon does not read this file, and clones on macOS or Windows may have it in the place of ${shownPath(other)}; rename it`;
    return [{ path, line: 1, col: 1, message }];
  });
}

/** Warnings about links to folders and submodules, which would otherwise be skipped silently. */
export function linkWarnings(view: TreeView, changes: readonly PathChange[]): Problem[] {
  return changes.flatMap(({ path, newId, mode }) => {
    if (newId === undefined || isFile(mode) || view.includes(path) || !view.covers(path)) return [];
    const what = mode === SYMLINK ? 'symbolic link' : 'submodule';
    const message = `A ${what} is never followed: its target is not part of the platform`;
    return [{ path, line: 1, col: 1, message }];
  });
}

/** True unless it is a link or a submodule. */
function isFile(mode: string): boolean {
  return mode !== SYMLINK && mode !== SUBMODULE;
}

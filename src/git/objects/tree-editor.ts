/** Edits files below a tree: only the directories that contain a change are rebuilt. */
import { PathError } from '../git-error.ts';
import { objectId } from './object-id.ts';
import { encodePath } from './path-text.ts';
import {
  FILE_MODE,
  isDirectory,
  type Splice,
  SUBMODULE_MODE,
  SYMLINK_MODE,
  TREE_MODE,
  Tree,
  type TreeEntry,
} from './tree.ts';

/** Sets a file to a blob, or removes it if `blob` is undefined. */
export interface FileEdit {
  readonly path: string;
  readonly blob: string | undefined;
  /** Absent: an existing file keeps its mode. */
  readonly mode?: string | undefined;
}

export interface NewTree {
  readonly id: string;
  readonly tree: Tree;
  /** Tree before the edit; undefined for a new directory. */
  readonly origin:
    | { readonly id: string; readonly tree: Tree; readonly splices: readonly Splice[] }
    | undefined;
}

export interface TreeEditing {
  load(id: string): Promise<Tree>;
  /** Called for every new tree, children before parents. */
  made(tree: NewTree): void;
}

/** Edits of one directory, by name. */
interface Folder {
  readonly files: Map<string, FileEdit>;
  readonly folders: Map<string, Folder>;
}

/**
 * Returns the id of the edited tree; undefined if it is empty. The edits of one call apply at once: a
 * directory may replace a file of the same name. Throws a PathError if an edit is impossible; trees made
 * before the error are unused.
 */
export function editTree(
  root: string | undefined,
  edits: readonly FileEdit[],
  editing: TreeEditing,
): Promise<string | undefined> {
  return editFolder(root, foldersOf(edits), editing);
}

/** The tree of a folder; undefined if a file is at its path or at that of a parent. */
export async function treeOfFolder(
  root: string | undefined,
  folder: string,
  load: TreeEditing['load'],
): Promise<Tree | undefined> {
  let id = root;
  for (const name of folder === '' ? [] : splitPath(folder)) {
    if (id === undefined) break;
    const entry = (await load(id)).find(name);
    if (entry !== undefined && !isDirectory(entry)) return undefined;
    id = entry?.id;
  }
  return id === undefined ? Tree.empty : await load(id);
}

function foldersOf(edits: readonly FileEdit[]): Folder {
  const root: Folder = { files: new Map(), folders: new Map() };
  for (const edit of edits) {
    const names = splitPath(edit.path);
    const last = names.pop() ?? '';
    let folder = root;
    for (const name of names) {
      let next = folder.folders.get(name);
      if (next === undefined) {
        next = { files: new Map(), folders: new Map() };
        folder.folders.set(name, next);
      }
      folder = next;
    }
    if (folder.files.has(last)) throw new PathError(edit.path, 'one commit changes it twice');
    folder.files.set(last, edit);
  }
  return root;
}

/** Segments of a path, each as the latin1 text of its bytes. */
function splitPath(path: string): string[] {
  return path.split('/').map((name) => encodePath(name).toString('latin1'));
}

async function editFolder(
  id: string | undefined,
  folder: Folder,
  editing: TreeEditing,
): Promise<string | undefined> {
  const tree = id === undefined ? Tree.empty : await editing.load(id);
  const changed = new Map<string, TreeEntry | undefined>();
  for (const name of new Set([...folder.folders.keys(), ...folder.files.keys()])) {
    const old = tree.find(name);
    const entry = await editEntry(old, name, folder, editing);
    if (entry?.id !== old?.id || entry?.mode !== old?.mode) changed.set(name, entry);
  }
  if (changed.size === 0) return id;
  const { tree: edited, splices } = tree.edit(changed);
  if (edited.size === 0) return undefined;
  const editedId = objectId('tree', edited.bytes);
  const origin = id === undefined ? undefined : { id, tree, splices };
  editing.made({ id: editedId, tree: edited, origin });
  return editedId;
}

async function editEntry(
  old: TreeEntry | undefined,
  name: string,
  parent: Folder,
  editing: TreeEditing,
): Promise<TreeEntry | undefined> {
  const file = parent.files.get(name);
  const folder = parent.folders.get(name);
  const oldDirectory = old !== undefined && isDirectory(old) ? old : undefined;
  if (folder !== undefined && old !== oldDirectory && !(file && file.blob === undefined)) {
    throw new PathError(anyPath(folder), 'a parent directory is a file');
  }
  const below =
    folder === undefined ? oldDirectory?.id : await editFolder(oldDirectory?.id, folder, editing);
  if (file?.blob !== undefined) return fileEntry(file, file.blob, { old, below });
  if (file !== undefined) {
    if (old === undefined) throw new PathError(file.path, 'the file to remove does not exist');
    if (oldDirectory !== undefined) throw new PathError(file.path, 'it is a directory');
  }
  return below === undefined ? undefined : { mode: TREE_MODE, id: below };
}

/** An existing file keeps its mode. Symbolic links are not followed. */
function fileEntry(
  { path, mode: taken }: FileEdit,
  id: string,
  at: { old: TreeEntry | undefined; below: string | undefined },
): TreeEntry {
  if (at.below !== undefined) throw new PathError(path, 'it is a directory');
  if (taken !== undefined) return { mode: taken, id };
  const mode = at.old === undefined || isDirectory(at.old) ? FILE_MODE : at.old.mode;
  if (mode === SYMLINK_MODE) throw new PathError(path, 'it is a symbolic link');
  if (mode === SUBMODULE_MODE) throw new PathError(path, 'it is a submodule');
  return { mode, id };
}

function anyPath(folder: Folder): string {
  const [file] = folder.files.values();
  if (file !== undefined) return file.path;
  const [child] = folder.folders.values();
  return child === undefined ? '' : anyPath(child);
}

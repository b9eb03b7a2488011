/** Files of a tree, and the differences of two, as `git ls-tree -r` and `git diff-tree -r` list them. */
import { decodePath } from '../objects/path-text.ts';
import { changedEntries, TreeCursor } from '../objects/tree-cursor.ts';
import type { PathChange, TreeFile } from '../repository.ts';

export type ReadTree = (id: string) => Promise<Buffer>;

/** Files of a tree; `prefix` ends with a slash, one character per byte. */
export async function filesOf(read: ReadTree, tree: string, prefix = ''): Promise<TreeFile[]> {
  const files: TreeFile[] = [];
  await collectFiles(read, tree, { prefix, files });
  return files;
}

async function collectFiles(
  read: ReadTree,
  tree: string,
  { prefix, files }: { readonly prefix: string; readonly files: TreeFile[] },
): Promise<void> {
  const entries = new TreeCursor(await read(tree));
  while (entries.next()) {
    const { name, id } = entries;
    if (entries.isTree) await collectFiles(read, id, { prefix: `${prefix}${name}/`, files });
    else files.push({ path: pathOf(prefix + name), id, mode: canonical(entries.mode) });
  }
}

/** The tree of a folder; undefined where there is none. */
export async function folderIn(
  read: ReadTree,
  tree: string,
  folder: Buffer,
): Promise<string | undefined> {
  let id = tree;
  for (const name of folder.toString('latin1').split('/')) {
    const entries = new TreeCursor(await read(id));
    let found: string | undefined;
    while (found === undefined && entries.next()) {
      if (entries.isTree && entries.name === name) found = entries.id;
    }
    if (found === undefined) return undefined;
    id = found;
  }
  return id;
}

/** `from` undefined: everything is new. */
export async function differencesOf(
  read: ReadTree,
  from: string | undefined,
  to: string,
): Promise<PathChange[]> {
  const changes: PathChange[] = [];
  await compare(read, { from, to }, { prefix: '', changes });
  return changes;
}

const EMPTY = Buffer.alloc(0);

interface Found {
  readonly prefix: string;
  readonly changes: PathChange[];
}

async function compare(
  read: ReadTree,
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  into: Found,
): Promise<void> {
  if (from === to) return;
  const [before, now] = [from, to].map((id) => (id === undefined ? EMPTY : read(id)));
  const [old, next] = [
    new TreeCursor((await before) ?? EMPTY),
    new TreeCursor((await now) ?? EMPTY),
  ];
  for (const how of changedEntries(old, next)) {
    const entries = {
      old: how === 'added' ? undefined : old,
      next: how === 'removed' ? undefined : next,
    };
    await compareEntries(read, entries, into);
  }
}

/** Entries with the same name, both folders or both files; or one that the other tree has not. */
async function compareEntries(
  read: ReadTree,
  { old, next }: { readonly old: TreeCursor | undefined; readonly next: TreeCursor | undefined },
  { prefix, changes }: Found,
): Promise<void> {
  const entry = next ?? old;
  if (entry === undefined) return;
  if (entry.isTree) {
    const into = { prefix: `${prefix}${entry.name}/`, changes };
    await compare(read, { from: old?.id, to: next?.id }, into);
    return;
  }
  const [oldMode, mode] = [old, next].map((found) => found && canonical(found.mode));
  if (old !== undefined && old.id === next?.id && oldMode === mode) return;
  changes.push({
    path: pathOf(prefix + entry.name),
    ...(old !== undefined && { oldId: old.id }),
    ...(next !== undefined && { newId: next.id }),
    mode: mode ?? '000000',
  });
}

/** Old writers gave files other rights; git reads only whether the owner may execute them. */
function canonical(mode: string): string {
  const bits = Number.parseInt(mode, 8);
  const type = bits >> 12;
  if (type === 0o10) return (bits & 0o100) === 0 ? '100644' : '100755';
  return type === 0o12 ? '120000' : '160000';
}

function pathOf(name: string): string {
  return isAscii(name) ? name : decodePath(Buffer.from(name, 'latin1'));
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

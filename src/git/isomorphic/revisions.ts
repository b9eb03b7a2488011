/** From the name of a commit to its id, by isomorphic-git: refs, ids and their beginnings, `~` and `^`. */
import { expandOid, resolveRef } from 'isomorphic-git';
import { isObjectId } from '../objects/object-id.ts';
import type { CommitGraph } from './commit-graph.ts';
import type { ObjectStore } from './object-store.ts';
import type { RepositoryFiles } from './repository-files.ts';

export interface RevisionParts {
  readonly files: RepositoryFiles;
  readonly store: ObjectStore;
  readonly graph: CommitGraph;
}

const MAX_TAGS = 8;
const SUFFIXES = /((?:~\d*|\^\d*|\^\{(?:commit)?\})*)$/;

/** The commit that an expression names, as in `HEAD~1`; undefined: there is none. */
export async function resolveRevision(
  parts: RevisionParts,
  expression: string,
): Promise<string | undefined> {
  const suffixes = SUFFIXES.exec(expression)?.[1] ?? '';
  const name = expression.slice(0, expression.length - suffixes.length);
  let id = await commitAt(parts, await idOf(parts, name === '@' ? 'HEAD' : name));
  for (const [, sign, digits] of suffixes.matchAll(/([~^])(\{\w*\}|\d*)/g)) {
    if (id === undefined) return undefined;
    const count = digits === '' ? 1 : Number(digits);
    // `^{commit}`, `^0` and `~0` are the commit itself.
    if (Number.isNaN(count) || count === 0) continue;
    id = await (sign === '~' ? firstParent(parts, id, count) : parentOf(parts, id, count));
  }
  return id;
}

async function parentOf(
  { graph }: RevisionParts,
  id: string,
  which: number,
): Promise<string | undefined> {
  return (await graph.commit(id)).parents[which - 1];
}

async function firstParent(
  parts: RevisionParts,
  start: string,
  count: number,
): Promise<string | undefined> {
  let id: string | undefined = start;
  for (let left = count; left > 0 && id !== undefined; left--) id = await parentOf(parts, id, 1);
  return id;
}

async function idOf({ files }: RevisionParts, name: string): Promise<string | undefined> {
  if (isObjectId(name)) return name;
  if (!isRefName(name)) return undefined;
  const from = { fs: files.client, gitdir: files.gitDir };
  const named = await resolveRef({ ...from, ref: name }).catch(unlessCoded);
  if (named !== undefined || !/^[0-9a-f]{4,39}$/.test(name)) return named;
  return await expandOid({ ...from, oid: name }).catch(unlessCoded);
}

/** See git-check-ref-format; nothing that leads out of the repository is read. */
function isRefName(name: string): boolean {
  return /^[^\s~^:?*[\\]+$/.test(name) && !/\.\.|@\{|\/\/|^[-/]|[./]$|\.lock$/.test(name);
}

/** Errors of isomorphic-git have a code: the name is unknown, or stands for several objects. */
function unlessCoded(error: unknown): undefined {
  if (error instanceof Error && 'code' in error) return undefined;
  throw error;
}

/** The commit that a tag leads to, or the commit itself. */
async function commitAt({ store }: RevisionParts, start: string | undefined) {
  let id = start;
  for (let tags = 0; tags <= MAX_TAGS && id !== undefined; tags += 1) {
    const found = await store.find(id);
    if (found?.type === 'commit') return id;
    if (found?.type !== 'tag') return undefined;
    id = /^object ([0-9a-f]{40})\n/.exec(found.content?.toString('latin1', 0, 48) ?? '')?.[1];
  }
  return undefined;
}

/**
 * Plaintext secrets that a push brings to branches and tags which are not served. Clones contain
 * them, and history preserves them.
 */
import {
  type FileReader,
  readEach,
  refuseClear,
  type SeenPath,
  type TreeView,
} from '../../catalog/index.ts';
import type { HistoryCommit, PathChange, Repository } from '../../git/index.ts';
import type { Problem } from '../../manifests/index.ts';

export interface LeakSource extends Pick<Repository, 'readBlobs' | 'listFiles' | 'context'> {
  newHistory: Repository['newHistory'];
}

export interface LeakContext {
  readonly source: LeakSource;
  readonly reader: FileReader;
  /** Of the served branch: decides which paths are manifests. */
  readonly view: Pick<TreeView, 'includes'>;
}

/** Files per read. */
const WINDOW = 1_024;
/** Limit of manifest versions in the new commits of one push. */
const MAX_VERSIONS = 100_000;
/** Limit of listed problems. The rest is listed after these are fixed. */
const MAX_LEAKS = 100;

interface Version extends SeenPath {
  readonly commit: string;
}

/**
 * Plaintext secrets in commits that `tips` reach and no ref does, with commit and place. Each
 * version of a file is read once. A merge is judged by the changes that none of its parents has.
 */
export async function leaksOf(context: LeakContext, tips: readonly string[]): Promise<Problem[]> {
  const { source, view } = context;
  const leaks: Problem[] = [];
  const known = new Set<string>();
  let window: Version[] = [];
  for await (const commit of source.newHistory(tips)) {
    for (const { path, newId: id, mode } of ownChanges(commit)) {
      const version = `${id} ${path}`;
      if (id === undefined || !view.includes(path) || known.has(version)) continue;
      known.add(version);
      if (known.size > MAX_VERSIONS) return [...leaks, tooMany(path)];
      window.push({ path, id, mode, commit: commit.id });
    }
    if (window.length < WINDOW) continue;
    for (const leak of await leaksIn(context, window)) leaks.push(leak);
    if (leaks.length >= MAX_LEAKS) return leaks.slice(0, MAX_LEAKS);
    window = [];
  }
  for (const leak of await leaksIn(context, window)) leaks.push(leak);
  return leaks.slice(0, MAX_LEAKS);
}

function tooMany(path: string): Problem {
  const message = `the new commits of this push have more than ${MAX_VERSIONS} versions of manifests; push the older commits first`;
  return { path, line: 1, col: 1, message };
}

function ownChanges({ changes }: HistoryCommit): readonly PathChange[] {
  const [first = [], ...others] = changes;
  const against = others.map((list) => new Set(list.map(({ path }) => path)));
  return first.filter(({ path }) => against.every((paths) => paths.has(path)));
}

async function leaksIn(
  { source, reader }: LeakContext,
  versions: readonly Version[],
): Promise<Problem[]> {
  const commits = new Map(versions.map(({ id, path, commit }) => [`${id} ${path}`, commit]));
  const leaks: Problem[] = [];
  await readEach({ source, reader }, versions, ({ id, path }, entry) => {
    if (entry === undefined) return;
    const commit = commits.get(`${id} ${path}`) ?? '';
    for (const { problems } of refuseClear(entry).documents) {
      for (const problem of problems.filter(({ inClear }) => inClear)) {
        leaks.push({ ...problem, message: leakInCommit(commit, problem.message) });
      }
    }
  });
  return leaks;
}

/** Message about a leak that a later commit does not remove from history. */
export function leakInCommit(id: string, message: string): string {
  return `in commit ${id.slice(0, 12)}: ${message}. Later commits do not take it out of history: rewrite this one (git rebase -i)`;
}

/**
 * The tree that a merge of a remote commit would give, as one commit on top of a local one. Everything is
 * in an object directory of its own, which is removed afterwards: the repository, in which nothing is ever
 * pruned, does not grow.
 */

import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from '../git-error.ts';
import { identityEnvironment } from '../process/git-environment.ts';
import { runGit, tryGit } from '../process/git-process.ts';
import type { ProcessLimits } from '../process/process-limits.ts';
import type { ObjectReader } from '../reading/reader.ts';
import type { PushObjection } from '../repository.ts';
import { withQuarantine } from '../serve/quarantine.ts';
import type { Remote } from './remote.ts';

export interface TrialMergeOptions {
  readonly remote: Pick<Remote, 'fetchCommit'>;
  readonly gitDir: string;
  readonly maxPaths: number | undefined;
  /** Limit for the fetched objects on disk. */
  readonly maxBytes: number;
}

export type TrialMerge =
  /** `commit` has the merged tree, and the base as its only parent. */
  | { readonly is: 'merged'; readonly commit: string; readonly source: ObjectReader }
  /** The base has the commit. */
  | { readonly is: 'contained' }
  | { readonly is: 'conflict'; readonly paths: readonly string[] }
  /** The commit is beyond the limits of a push. */
  | { readonly is: 'refused'; readonly objections: readonly PushObjection[] };

/** Maintenance knows the name as that of an abandoned push, and removes what a crash left. */
const PREFIX = 'tmp_objdir-incoming-pull-';
const WATCH_MS = 200;
const MERGE: ProcessLimits = { deadlineMs: 60_000, outputBytes: 16 * 1024 * 1024, cpuSeconds: 60 };
const AUTHOR = { name: 'gitplane', email: 'gitplane@localhost' };
/** Exit code of git for options that it does not know. */
const USAGE = 129;

/** Fetches `head`, and calls `work` with its merge into `base`. Throws GitError and RemoteError. */
export async function withTrialMerge<T>(
  options: TrialMergeOptions,
  { base, head }: { readonly base: string; readonly head: string },
  work: (trial: TrialMerge) => Promise<T>,
): Promise<T> {
  const { gitDir, maxPaths } = options;
  const objects = join(gitDir, 'objects');
  const folder = await mkdtemp(join(objects, PREFIX));
  const env = { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects };
  try {
    await fetchWithin(options, head, { folder, env });
    const source = await withQuarantine({ gitDir }, env, { maxPaths });
    try {
      return await work(await mergeIn({ gitDir, env, source }, base, head));
    } finally {
      await source.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Git has no limit for the size of a fetch. */
async function fetchWithin(
  { remote, maxBytes }: TrialMergeOptions,
  head: string,
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const tooLarge = new AbortController();
  let watching: Promise<void> | undefined;
  const watch = setInterval(() => {
    watching ??= sizeOf(folder)
      .then((bytes) => {
        if (bytes > maxBytes) tooLarge.abort();
      })
      .finally(() => {
        watching = undefined;
      });
  }, WATCH_MS);
  try {
    await remote.fetchCommit(head, { env, signal: tooLarge.signal });
  } catch (error) {
    if (!tooLarge.signal.aborted) throw error;
  } finally {
    clearInterval(watch);
    await watching;
  }
  if (tooLarge.signal.aborted || (await sizeOf(folder)) > maxBytes) {
    throw new GitError(`The commit brings more than ${Math.round(maxBytes / 2 ** 20)} MiB`);
  }
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = names.map((name) =>
    stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

interface Context {
  readonly gitDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly source: ObjectReader;
}

async function mergeIn(context: Context, base: string, head: string): Promise<TrialMerge> {
  const { source } = context;
  const objections = await source.objectionsTo({ tips: [head], known: { commit: base } });
  // Git walks no tree beyond the limits.
  if (objections.length > 0) return { is: 'refused', objections };
  if (await source.isAncestor(head, base)) return { is: 'contained' };
  const merged = (await source.isAncestor(base, head))
    ? { tree: `${head}^{tree}` }
    : await mergedTree(context, base, head);
  if (!('tree' in merged)) return { is: 'conflict', paths: merged.conflicts };
  const env = { ...context.env, ...identityEnvironment(AUTHOR) };
  const args = ['commit-tree', merged.tree, '-p', base, '-m', 'Trial merge'];
  const made = await runGit({ gitDir: context.gitDir, env }, args);
  return { is: 'merged', commit: made.toString('latin1').trim(), source };
}

async function mergedTree(
  { gitDir, env }: Context,
  base: string,
  head: string,
): Promise<{ readonly tree: string } | { readonly conflicts: readonly string[] }> {
  const args = ['merge-tree', '--write-tree', '--no-messages', '--name-only', '-z', base, head];
  const { code, stdout, stderr } = await tryGit({ gitDir, env }, args, MERGE);
  const [tree = '', ...conflicts] = stdout.toString('utf8').split('\0').filter(Boolean);
  if (code === 0) return { tree };
  if (code === 1) return { conflicts };
  throw code === USAGE
    ? new GitError('The branches have diverged, and merging them needs git 2.38')
    : new GitError(`The branches cannot be merged: ${stderr.split('\n', 1)[0]}`);
}

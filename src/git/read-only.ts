/** A repository opened for reading: nothing in it changes, and other processes may own it. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { GitError } from './git-error.ts';
import { inheritedEnvironment } from './process/git-environment.ts';
import { type ObjectReader, Reader, type ReaderOptions } from './reading/reader.ts';
import { resolveCommit } from './reading/resolve-commit.ts';
import type { Repository } from './repository.ts';

/** Git directory of the bare repository or of the work tree at `path`. Throws a GitError if none. */
export function gitDirOf(path: string): string {
  const root = resolve(path);
  const inner = join(root, '.git');
  if (existsSync(inner)) return statSync(inner).isDirectory() ? inner : linkedGitDir(root, inner);
  if (existsSync(join(root, 'HEAD')) && existsSync(join(root, 'objects'))) return root;
  throw new GitError(`${root} is not a git repository`, {
    remedy: 'Name a clone or a bare repository',
  });
}

/** A linked work tree has a `.git` file that names its git directory. */
function linkedGitDir(root: string, file: string): string {
  const target = /^gitdir: (.+)$/m.exec(readFileSync(file, 'utf8'))?.[1];
  if (target === undefined) throw new GitError(`${file} names no git directory`);
  return realpathSync(resolve(root, target));
}

/** A repository as one command reads it. */
export interface OpenedReader extends ObjectReader {
  /** The commit that an expression names, as in `HEAD~1`; undefined: there is none. */
  resolve(expression: string): Promise<string | undefined>;
}

/** Read by git where it is installed, which is faster; otherwise by isomorphic-git. */
export async function openReader(gitDir: string, options: ReaderOptions): Promise<OpenedReader> {
  if (!(await isGitInstalled())) {
    const { openIsomorphicReader } = await import('./isomorphic/isomorphic-reader.ts');
    return await openIsomorphicReader(gitDir, options);
  }
  const context = { gitDir };
  const resolveExpression = (expression: string) => resolveCommit(context, expression);
  return Object.assign(new Reader(context, options), { resolve: resolveExpression });
}

async function isGitInstalled(): Promise<boolean> {
  for (const folder of (inheritedEnvironment()['PATH'] ?? '').split(delimiter)) {
    const found = await access(join(folder, 'git'), constants.X_OK).then(
      () => folder !== '',
      () => false,
    );
    if (found) return true;
  }
  return false;
}

/** The reader as a repository. `head`: where the branch is taken to be. */
export function readOnlyRepository(
  reader: ObjectReader,
  { gitDir, ref, head }: Pick<Repository, 'gitDir' | 'ref'> & { readonly head: string | undefined },
): Repository {
  return Object.assign(reader, {
    gitDir,
    ref,
    head: async () => head,
    begin: () => {
      throw new GitError(`${gitDir} is open for reading only`);
    },
    advance: () => Promise.reject(new GitError(`${gitDir} is open for reading only`)),
  });
}

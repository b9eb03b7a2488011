/** Files of a commit, for commands that otherwise read files on the disk. */
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { gitDirOf, type OpenedReader, openReader, type TreeFile } from '../git/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';

export class CommittedFiles {
  /** The work tree, or the bare repository, that paths are below. */
  readonly root: string;
  readonly commit: string;
  readonly source: OpenedReader;

  private constructor(root: string, commit: string, source: OpenedReader) {
    this.root = root;
    this.commit = commit;
    this.source = source;
  }

  /** The commit that `--rev` names, in the repository around the current folder. */
  static async open(revision: string): Promise<CommittedFiles> {
    const root = repositoryAround(process.cwd());
    const gitDir = gitDirOf(root);
    const source = await openReader(gitDir, {});
    try {
      return new CommittedFiles(root, await commitNamed(source, revision, gitDir), source);
    } catch (error) {
      await source.close();
      throw error;
    }
  }

  /** Paths in the form of git. */
  files(): Promise<TreeFile[]> {
    return this.source.listFiles(this.commit);
  }

  /** Undefined: the commit has no such file. `path` is relative to the current folder. */
  async read(path: string): Promise<Buffer | undefined> {
    const name = relative(this.root, resolve(path)).split(sep).join('/');
    const files = await this.source.listFiles(this.commit, name.includes('/') ? dirname(name) : '');
    const file = files.find((found) => found.path === name && found.mode.startsWith('100'));
    return file === undefined ? undefined : (await this.source.readBlobs([file.id]))[0];
  }

  close(): Promise<void> {
    return this.source.close();
  }
}

/** Undefined: without `--rev`, files on the disk are meant. */
export async function committedFiles(options: ParsedOptions): Promise<CommittedFiles | undefined> {
  const revision = options.text('rev');
  return revision === undefined ? undefined : await CommittedFiles.open(revision);
}

export async function commitNamed(
  source: OpenedReader,
  expression: string,
  gitDir: string,
): Promise<string> {
  const id = await source.resolve(expression);
  if (id !== undefined) return id;
  throw new UsageError(`There is no commit ${JSON.stringify(expression)} in ${gitDir}`);
}

/** The nearest folder that has `.git`, or the current one, which may be a bare repository. */
function repositoryAround(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

/**
 * Files of a git directory, as isomorphic-git expects them: a linked work tree and alternates look
 * like one directory. Nothing is written. Listings and packs are read once: the repository counts as
 * unchanged for as long as one command runs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';

/** All packs together are read into memory. */
const MAX_PACK_BYTES = 512 * 1024 * 1024;
const MAX_ALTERNATES = 5;

/** Files that each linked work tree has of its own (gitrepository-layout). */
const OWN_FILE = /^(?:[A-Z_]*HEAD|refs\/(?:bisect|worktree|rewritten)(?:\/.*)?)$/;

export const INSTALL_GIT = 'Install git, so that it reads the repository';

export class RepositoryFiles {
  readonly gitDir: string;
  readonly #commonDir: string;
  /** Folders of objects: that of the repository, then its alternates. */
  readonly #objects: readonly string[];
  readonly #folders = new Map<string, Promise<string[]>>();
  readonly #packs = new Map<string, Promise<Buffer>>();
  #packBytes = 0;

  constructor(gitDir: string) {
    this.gitDir = gitDir;
    const common = textOf(join(gitDir, 'commondir'))?.trim();
    this.#commonDir = common === undefined ? gitDir : resolve(gitDir, common);
    this.#objects = withAlternates(join(this.#commonDir, 'objects'));
  }

  /** Commits whose parents a shallow clone does not have. */
  get shallow(): ReadonlySet<string> {
    const text = textOf(join(this.#commonDir, 'shallow')) ?? '';
    return new Set(text.split('\n').filter((id) => id !== ''));
  }

  /** In the shape that isomorphic-git takes. */
  get client() {
    const refuse = async (): Promise<never> => {
      throw new GitError(`${this.gitDir} is open for reading only`);
    };
    return {
      promises: {
        readFile: async (path: string, options?: { encoding?: 'utf8' } | 'utf8') => {
          const bytes = await this.read(this.#nameOf(path));
          return options === undefined || Object.keys(options).length === 0
            ? bytes
            : bytes.toString('utf8');
        },
        readdir: async (path: string) => await this.list(this.#nameOf(path)),
        stat: (path: string) => stat(this.#place(this.#nameOf(path))),
        lstat: (path: string) => lstat(this.#place(this.#nameOf(path))),
        readlink: (path: string) => readlink(this.#place(this.#nameOf(path))),
        writeFile: refuse,
        mkdir: refuse,
        rmdir: refuse,
        unlink: refuse,
        symlink: refuse,
      },
    };
  }

  /** `name`: relative to the git directory. Rejects with ENOENT where there is no such file. */
  async read(name: string): Promise<Buffer> {
    const object = /^objects\/(.*?)([^/]+)$/.exec(name);
    if (object === null) return await readFile(this.#place(name));
    const [, folder = '', file = ''] = object;
    // Most ids are asked for in the loose objects first, and are not there.
    if (!(await this.list(`objects/${folder}`.replace(/\/$/, ''))).includes(file)) {
      throw Object.assign(new Error(`There is no ${name}`), { code: 'ENOENT' });
    }
    return file.endsWith('.pack') || file.endsWith('.idx')
      ? await this.#readPack(folder + file)
      : await readFile(this.#objectPlace(folder + file));
  }

  /** Names in a folder; none where there is no such folder. */
  list(name: string): Promise<string[]> {
    const known = this.#folders.get(name) ?? this.#list(name);
    this.#folders.set(name, known);
    return known;
  }

  async #list(name: string): Promise<string[]> {
    const below = /^objects\/(.*)$/.exec(name)?.[1];
    const folders =
      below === undefined
        ? [this.#place(name)]
        : this.#objects.map((objects) => join(objects, below));
    const names = new Set<string>();
    for (const folder of folders) {
      for (const found of await readdir(folder).catch(noneWhereAbsent)) names.add(found);
    }
    return [...names];
  }

  #readPack(name: string): Promise<Buffer> {
    const known = this.#packs.get(name) ?? this.#loadPack(name);
    this.#packs.set(name, known);
    return known;
  }

  async #loadPack(name: string): Promise<Buffer> {
    const path = this.#objectPlace(name);
    this.#packBytes += (await stat(path)).size;
    if (this.#packBytes > MAX_PACK_BYTES) {
      const most = MAX_PACK_BYTES / 2 ** 20;
      throw new GitError(
        `${this.gitDir} has more than ${most} MiB of packs, which are read into memory without git`,
        { remedy: INSTALL_GIT },
      );
    }
    return await readFile(path);
  }

  #objectPlace(name: string): string {
    const places = this.#objects.map((objects) => join(objects, name));
    return places.find((place) => existsSync(place)) ?? places[0] ?? name;
  }

  #place(name: string): string {
    return join(OWN_FILE.test(name) ? this.gitDir : this.#commonDir, name);
  }

  #nameOf(path: string): string {
    return relative(this.gitDir, path).split(sep).join('/');
  }
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function noneWhereAbsent(error: unknown): string[] {
  if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return [];
  throw error;
}

function withAlternates(objects: string, depth = 0): string[] {
  const lines = textOf(join(objects, 'info', 'alternates'))?.split('\n') ?? [];
  const alternates = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (depth >= MAX_ALTERNATES || alternates.length === 0) return [objects];
  return [
    objects,
    ...alternates.flatMap((path) => withAlternates(resolve(objects, path), depth + 1)),
  ];
}

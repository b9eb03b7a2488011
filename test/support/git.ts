/** Real repositories in temporary folders, for tests. Everything is removed when the test or the run ends. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { type OpenOptions, openRepository } from '../../src/git/open-repository.ts';
import type { NewCommit, Person, Repository } from '../../src/git/repository.ts';

export const ada: Person = { name: 'Ada Lovelace', email: 'ada@example.com' };

export const gitEnv: NodeJS.ProcessEnv = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Grace Hopper',
  GIT_AUTHOR_EMAIL: 'grace@example.com',
  GIT_COMMITTER_NAME: 'Grace Hopper',
  GIT_COMMITTER_EMAIL: 'grace@example.com',
};

export function temporaryFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'gitplane-test-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export interface GitOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs git in a folder (a work tree or a bare repository) and returns what it prints, trimmed. */
export function git(folder: string, args: readonly string[], options: GitOptions = {}): string {
  return execFileSync('git', args, {
    cwd: folder,
    env: { ...gitEnv, ...options.env },
    input: options.input ?? '',
    stdio: ['pipe', 'pipe', 'pipe'],
    maxBuffer: 256 * 1024 * 1024,
  })
    .toString('utf8')
    .trim();
}

/** The same for a command that may fail. */
export function tryGit(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd: folder,
    env: { ...gitEnv, ...options.env },
    input: options.input ?? '',
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

let template: Promise<string> | undefined;

/** Making a repository takes some twenty processes, copying one none. */
async function emptyRepository(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gitplane-template-')));
  const gitDir = join(folder, 'repo.git');
  await initRepository({ gitDir, branch: 'main' });
  return gitDir;
}

/** An empty hosted repository whose branch is `main`; returns its path. */
export async function bareRepository(): Promise<string> {
  template ??= emptyRepository();
  const gitDir = join(temporaryFolder(), 'repo.git');
  cpSync(await template, gitDir, { recursive: true });
  return gitDir;
}

/**
 * Opens a repository for one test: a new one unless `gitDir` names one. Without maintenance unless
 * `packThreshold` asks for it: `git fsck` complains of packs that are replaced while it looks.
 */
export async function openForTest(options: Partial<OpenOptions> = {}): Promise<BareRepository> {
  const gitDir = options.gitDir ?? (await bareRepository());
  const defaults = { branch: 'main', packThreshold: Number.POSITIVE_INFINITY };
  const repository = await openRepository({ ...defaults, ...options, gitDir });
  onTestFinished(() => repository.close());
  return repository;
}

/** A work tree of the repository, on `main`. */
export function cloneForTest(gitDir: string): string {
  const folder = join(temporaryFolder(), 'clone');
  git('/', ['clone', '-q', gitDir, folder]);
  git(folder, ['symbolic-ref', 'HEAD', 'refs/heads/main']);
  return folder;
}

/** A commit of `path → content`, null to remove the path. */
export function commitOf(
  files: Readonly<Record<string, string | Buffer | null>>,
  more: Partial<NewCommit> = {},
): NewCommit {
  return {
    changes: Object.entries(files).map(([path, content]) => ({
      path,
      content: content === null ? null : Buffer.from(content),
    })),
    author: ada,
    committer: ada,
    time: 1_700_000_000,
    message: 'change files',
    ...more,
  };
}

export interface ForeignCommit {
  readonly files?: Readonly<Record<string, string | null>>;
  /** The first one has what the files change; the branch when absent; none of a first commit. */
  readonly parents?: readonly string[];
  readonly committer?: string;
  /** Seconds since the epoch. */
  readonly time?: number;
  readonly message?: string;
}

/** A commit by git itself, on no branch of ours, as one that is about to be pushed; returns its id. */
export function foreignCommit(gitDir: string, commit: ForeignCommit): string {
  const { files = {}, parents = ['main'], committer = 'Grace <grace@example.com>' } = commit;
  const { time = 1_700_000_000, message = '' } = commit;
  const [first, ...others] = parents.map((parent) => git(gitDir, ['rev-parse', parent]));
  const lines = [
    `commit refs/heads/pushed\ncommitter ${committer} ${time} +0000`,
    `data ${Buffer.byteLength(message)}\n${message}`,
    ...(first === undefined ? [] : [`from ${first}`]),
    ...others.map((other) => `merge ${other}`),
    ...Object.entries(files).map(([path, text]) =>
      text === null
        ? `D ${path}`
        : `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`,
    ),
  ];
  git(gitDir, ['fast-import', '--quiet', '--force'], { input: `${lines.join('\n')}\n` });
  return git(gitDir, ['rev-parse', 'refs/heads/pushed']);
}

/** Publishes commits in one batch on top of the branch; returns their ids. */
export async function publish(
  repository: Pick<Repository, 'begin' | 'head'>,
  ...commits: readonly NewCommit[]
): Promise<string[]> {
  const batch = repository.begin(await repository.head());
  const ids: string[] = [];
  for (const commit of commits) ids.push((await batch.add(commit)).id);
  await batch.publish();
  return ids;
}

/** Every object and ref is as git wants it, and nothing that is reachable is missing. */
export function expectSound(gitDir: string): void {
  const { status, stdout, stderr } = tryGit(gitDir, [
    'fsck',
    '--full',
    '--strict',
    '--no-dangling',
  ]);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
}

export function packFiles(gitDir: string): string[] {
  return readdirSync(join(gitDir, 'objects', 'pack')).sort();
}

/** `path → content` of a revision, read by git. */
export function filesOf(gitDir: string, revision: string): Record<string, string> {
  const entries = git(gitDir, ['ls-tree', '-r', '-z', revision]).split('\0').filter(Boolean);
  const files = entries.map((entry) => {
    const [facts = '', path = ''] = entry.split('\t');
    return { path, id: facts.split(' ')[2] ?? '' };
  });
  const input = files.map(({ id }) => `${id}\n`).join('');
  const blobs = execFileSync('git', ['cat-file', '--batch'], { cwd: gitDir, env: gitEnv, input });
  let at = 0;
  return Object.fromEntries(
    files.map(({ path }) => {
      const start = blobs.indexOf('\n', at) + 1;
      const size = Number(blobs.toString('latin1', at, start).trim().split(' ')[2]);
      at = start + size + 1;
      return [path, blobs.toString('utf8', start, start + size).trim()];
    }),
  );
}

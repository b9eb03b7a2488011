/** Real git on the side: makes what is measured on, and is what is measured against. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { initRepository } from '../../src/git/init-repository.ts';
import { GitProcess, runGit } from '../../src/git/process/git-process.ts';
import { LISTING } from '../../src/git/process/process-limits.ts';
import type { CorpusFile } from './corpus.ts';

export const BRANCH = 'main';
export const AUTHOR = { name: 'Bench', email: 'bench@example.com' };
/** Seconds since the epoch; fixed, so that ids are the same in every run. */
export const TIME = 1_700_000_000;

/** Runs git with `input` on its standard input; what it prints is dropped, its length returned. */
export async function feedGit(
  gitDir: string,
  args: readonly string[],
  input: Iterable<string | Buffer>,
): Promise<number> {
  const process = new GitProcess({ gitDir }, args, LISTING);
  let bytes = 0;
  process.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  for (const chunk of input) {
    if (!process.stdin.write(chunk)) {
      const drained = new Promise((resolve) => process.stdin.once('drain', resolve));
      await Promise.race([drained, process.ended]);
    }
  }
  process.stdin.end();
  const end = await process.ended;
  if (end.code !== 0) throw process.error(end);
  return bytes;
}

/** What git prints, without the newline at the end. */
export async function git(gitDir: string, ...args: string[]): Promise<string> {
  return (await runGit({ gitDir }, args)).toString('utf8').trim();
}

export interface ImportedCommit {
  readonly files: Iterable<CorpusFile>;
  readonly message: string;
}

/** A stream for `git fast-import`: a chain of commits on `ref`, beginning at `from`. */
export function* importStream(
  ref: string,
  from: string | undefined,
  commits: Iterable<ImportedCommit>,
): Generator<string | Buffer> {
  const person = `${AUTHOR.name} <${AUTHOR.email}> ${TIME} +0000`;
  let first = true;
  for (const { files, message } of commits) {
    yield `commit ${ref}\nauthor ${person}\ncommitter ${person}\n`;
    yield `data ${Buffer.byteLength(message)}\n${message}\n`;
    if (first && from !== undefined) yield `from ${from}\n`;
    for (const { path, content } of files) {
      yield `M 100644 inline ${path}\ndata ${content.length}\n`;
      yield content;
      yield '\n';
    }
    first = false;
  }
}

export const FAST_IMPORT = ['fast-import', '--quiet', '--force', '--done'] as const;

/** Throws unless git took all of it. */
export async function fastImport(gitDir: string, stream: Iterable<string | Buffer>): Promise<void> {
  await feedGit(gitDir, FAST_IMPORT, withEnd(stream));
}

function* withEnd(stream: Iterable<string | Buffer>): Generator<string | Buffer> {
  yield* stream;
  yield 'done\n';
}

/** A repository like the daemon's, with everything in one commit and one pack. */
export async function makeRepository(gitDir: string, files: Iterable<CorpusFile>): Promise<void> {
  await initRepository({ gitDir, branch: BRANCH });
  const commit = { files, message: 'Everything\n' };
  await fastImport(gitDir, importStream(`refs/heads/${BRANCH}`, undefined, [commit]));
}

/** A copy that shares nothing with the original and has no hook. */
export async function copyRepository(from: string, to: string): Promise<string> {
  await rm(to, { recursive: true, force: true });
  await cp(from, to, { recursive: true });
  await rm(join(to, 'hooks'), { recursive: true, force: true });
  return to;
}

/** Every blob of the branch, streamed out of git as fast as it goes. Returns the bytes. */
export async function streamBlobs(gitDir: string): Promise<number> {
  const listing = await runGit({ gitDir }, ['ls-tree', '-r', '--format=%(objectname)', BRANCH]);
  return await feedGit(gitDir, ['cat-file', '--batch'], [listing]);
}

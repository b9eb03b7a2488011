/** Import of packs from other repositories, and export of a range of commits as a pack. */
import type { Writable } from 'node:stream';
import { thisOwner } from '../../files/index.ts';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { LISTING, QUERY } from '../process/process-limits.ts';
import { type DurableFiles, realFiles, writeDurably } from '../publication/durable-files.ts';
import { packFolder, packNames } from './pack-names.ts';

export interface ImportedPack {
  readonly pack: Buffer;
  /** Undefined: git checks every object and creates the index. */
  readonly index: Buffer | undefined;
}

const CHECKSUM_BYTES = 20;

/** Resolves when git sees the objects of all packs, on stable storage. */
export async function importPacks(
  gitDir: string,
  packs: readonly ImportedPack[],
  files: DurableFiles = realFiles,
): Promise<void> {
  try {
    for (const { pack, index } of packs) {
      if (index === undefined) await indexPack({ gitDir }, pack);
      else await placePack(gitDir, { pack, index }, files);
    }
    await files.syncDirectory(packFolder(gitDir));
  } catch (error) {
    if (error instanceof GitError || errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
}

async function placePack(
  gitDir: string,
  { pack, index }: { pack: Buffer; index: Buffer },
  files: DurableFiles,
): Promise<void> {
  const checksum = pack.subarray(-CHECKSUM_BYTES).toString('hex');
  const names = packNames(gitDir, checksum, thisOwner);
  const targets = [
    { bytes: pack, temporary: names.newPack, name: names.pack },
    { bytes: index, temporary: names.newIndex, name: names.index },
  ];
  try {
    await Promise.all(
      targets.map(({ bytes, temporary }) => writeDurably(files, temporary, { bytes, mode: 0o444 })),
    );
    // Git sees a pack once its index exists.
    for (const { temporary, name } of targets) await files.rename(temporary, name);
  } catch (error) {
    for (const { temporary } of targets) await files.remove(temporary).catch(() => undefined);
    throw error;
  }
}

async function indexPack(context: GitContext, pack: Buffer): Promise<void> {
  const args = ['index-pack', '--stdin', '--strict', '--fix-thin'];
  const git = new GitProcess(context, args, QUERY);
  await send(git.stdin, pack);
  const end = await git.ended;
  if (end.code !== 0) throw git.error(end);
}

function send(stream: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.end(bytes);
  });
}

/** A pack exceeds the limit of the caller. */
export class PackTooLargeError extends GitError {
  constructor(limit: number) {
    super(`The pack has more than ${limit} bytes`);
    this.name = 'PackTooLargeError';
  }
}

/** Packs every object that `to` reaches and `from` does not. Throws PackTooLargeError. */
export async function exportPack(
  context: GitContext,
  range: { readonly from: string | undefined; readonly to: string },
  limit: number,
): Promise<Buffer> {
  const { from, to } = range;
  assertObjectId(to);
  if (from !== undefined) assertObjectId(from);
  const args = ['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset'];
  const git = new GitProcess(context, args, LISTING);
  const chunks: Buffer[] = [];
  let length = 0;
  git.stdout.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > limit) git.kill();
    else chunks.push(chunk);
  });
  git.stdin.end(from === undefined ? `${to}\n` : `${to}\n^${from}\n`);
  const end = await git.ended;
  if (length > limit) throw new PackTooLargeError(limit);
  if (end.code !== 0) throw git.error(end);
  return Buffer.concat(chunks);
}

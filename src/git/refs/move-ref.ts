/** Moves a ref to a commit of the repository, durably and under the ref lock of git. */
import { dirname, join } from 'node:path';
import { thisOwner } from '../../files/index.ts';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import {
  type DurableFiles,
  makeDirectories,
  realFiles,
  syncRefDirectory,
} from '../publication/durable-files.ts';
import { assertHead } from './ref-file.ts';
import { dropRefLock, newRefLock, takeLock, writeRefLock } from './ref-lock.ts';

export interface RefMove {
  readonly ref: string;
  /** Expected value; undefined: the ref must not exist. */
  readonly from: string | undefined;
  readonly to: string;
}

const LOCK_TIMEOUT_MS = 2_000;

/** Throws HeadMovedError, and changes nothing, if the ref is not at `from`. */
export async function moveRef(
  gitDir: string,
  { ref, from, to }: RefMove,
  files: DurableFiles = realFiles,
): Promise<void> {
  const path = join(gitDir, ref);
  const lock = { file: `${path}.lock`, gitDir, timeoutMs: LOCK_TIMEOUT_MS };
  const ownFile = newRefLock(gitDir, thisOwner);
  let isLocked = false;
  try {
    await writeRefLock(files, ownFile, to);
    await makeDirectories(files, dirname(path));
    await takeLock(files, ownFile, lock);
    isLocked = true;
    await assertHead(gitDir, ref, from);
    await files.rename(lock.file, path);
    isLocked = false;
    await syncRefDirectory(files, dirname(path));
  } catch (error) {
    if (isLocked) await files.remove(lock.file).catch(() => undefined);
    if (error instanceof GitError || errorCode(error) === undefined) throw error;
    throw new StorageError(path, { cause: error });
  } finally {
    await dropRefLock(files, ownFile);
  }
}

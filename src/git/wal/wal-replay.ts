/**
 * WAL replay: makes the batches in the WAL of a dead process part of the repository, before anything
 * is read. After a kill, this only flushes the state that git already sees. After a power failure,
 * packs may be empty or garbage, and the branch may be old, garbage or missing.
 *
 * Every step can be repeated: the WAL files are removed last.
 */

import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAbandoned, thisOwner } from '../../files/index.ts';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import type { GitLogger } from '../logger.ts';
import { packFolder, shortLivedNames, shortLivedPacks } from '../packs/pack-names.ts';
import { runGit, tryGit } from '../process/git-process.ts';
import {
  type DurableFiles,
  removeIfThere,
  syncRefDirectory,
} from '../publication/durable-files.ts';
import { containsCommit } from '../reading/contains-commit.ts';
import { moveRef } from '../refs/move-ref.ts';
import { readRef } from '../refs/ref-file.ts';
import { REF_LOCK_FOLDER, removeAbandonedRefLocks } from '../refs/ref-lock.ts';
import { outwaitLock } from '../refs/stale-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { Checkpoints } from './wal-checkpoint.ts';
import { walPaths } from './wal-file.ts';
import { decodeWal, type WalContent } from './wal-format.ts';

export interface ReplayOptions {
  readonly files: DurableFiles;
  readonly logger: GitLogger;
  /** The caller is the only writer, so that the process that wrote the WAL is dead. */
  readonly isOwn: boolean;
}

/** Throws a GitError, and leaves the WAL files, when the replay fails. */
export async function replayWal(gitDir: string, options: ReplayOptions): Promise<void> {
  const { files, isOwn } = options;
  const present = walPaths(gitDir).filter((path) => existsSync(path));
  if (present.length === 0 && !isOwn) return;
  try {
    const logs = await readLogs(present);
    const isInUse = logs.some((log) => !isAbandoned(log.owner, log.ageMs));
    if (!isOwn && (isInUse || isEmpty(logs))) return;
    await replay(gitDir, logs, options);
    for (const path of present) await files.remove(path);
    if (present.length > 0) await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
  } catch (error) {
    if (error instanceof GitError || errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
}

/**
 * The WAL holds no batch. Another process may be creating it, or it may belong to an idle daemon in
 * another container. Without its files, that daemon would append to deleted files.
 */
function isEmpty(logs: readonly WalContent[]): boolean {
  return logs.every(({ publications }) => publications.length === 0);
}

/** Sorted oldest first. */
async function readLogs(paths: readonly string[]): Promise<(WalContent & { ageMs: number })[]> {
  const logs: (WalContent & { ageMs: number })[] = [];
  for (const path of paths) {
    const log = decodeWal(await readFile(path));
    const { mtimeMs } = await lstat(path);
    if (log !== undefined) logs.push({ ...log, ageMs: Date.now() - mtimeMs });
  }
  return logs.sort((a, b) => a.epoch - b.epoch);
}

async function replay(
  gitDir: string,
  logs: readonly WalContent[],
  options: ReplayOptions,
): Promise<void> {
  const { files, logger } = options;
  const publications = logs.flatMap((log) => log.publications);
  const [tip, ref] = [publications.at(-1)?.tip, logs.at(-1)?.ref];
  if (tip !== undefined && ref !== undefined) {
    const lock = join(gitDir, `${ref}.lock`);
    await removeAbandonedRefLocks(gitDir, lock);
    await outwaitLock(gitDir, lock);
    const checkpoints = new Checkpoints({ files, gitDir, ref, owner: thisOwner });
    await checkpoints.write(publications).finally(() => checkpoints.close());
  }
  await cleanShortLived(gitDir, files, new Set(publications.map((one) => one.tip)));
  if (tip === undefined || ref === undefined) return;
  const outcome = await repairMovingRef({ gitDir, ref, tip }, files);
  const { length: groups } = publications;
  if (outcome === 'elsewhere') {
    await runGit({ gitDir }, ['update-ref', `refs/gitplane/lost/${tip}`, tip]);
    logger.warn(
      { ref, commit: tip, kept: `refs/gitplane/lost/${tip}` },
      'Another process moved the branch before acknowledged writes reached it: the writes are kept in a separate ref',
    );
  } else
    logger.warn({ ref, commit: tip, groups, branch: outcome }, 'Writes were replayed from the WAL');
}

/**
 * Removes the short-lived packs of batches that the new pack contains. Others exist if the repository
 * came without its WAL, as in a copy or a clone by path. Those hold objects that no other pack has,
 * so they become permanent. A pack that a power failure damaged was checkpointed before, or its
 * batch was never acknowledged.
 */
async function cleanShortLived(
  gitDir: string,
  files: DurableFiles,
  logged: ReadonlySet<string>,
): Promise<void> {
  const packs = await shortLivedPacks(gitDir);
  if (packs.size === 0) return;
  const folder = packFolder(gitDir);
  // It may name these packs. The next maintenance writes it again.
  await removeIfThere(files, join(folder, 'multi-pack-index'));
  for (const [tip, names] of packs) {
    const { pack, index } = shortLivedNames(gitDir, tip, thisOwner);
    const isNeeded =
      !logged.has(tip) && (await tryGit({ gitDir }, ['verify-pack', index])).code === 0;
    if (isNeeded) await makePermanent({ pack, index }, files).catch(unlessReplaced(gitDir, names));
    // The index goes before the pack: git looks for indexes.
    for (const name of names) await removeIfThere(files, join(folder, name));
  }
  // A `git repack` that still runs may have written another one.
  await removeIfThere(files, join(folder, 'multi-pack-index'));
  await files.syncDirectory(folder);
}

/**
 * Ignores that a pack is missing if a `git repack` of a killed daemon removed it in the meantime. The
 * pack of that repack then holds its objects, flushed.
 */
function unlessReplaced(gitDir: string, names: readonly string[]): (error: unknown) => void {
  return (error) => {
    const isThere = names.every((name) => existsSync(join(packFolder(gitDir), name)));
    if (errorCode(error) !== 'ENOENT' || isThere) throw error;
  };
}

/** Renames a short-lived pack to a permanent one. */
async function makePermanent(
  { pack, index }: { pack: string; index: string },
  files: DurableFiles,
): Promise<void> {
  const checksum = (await readFile(pack)).subarray(-20).toString('hex');
  const permanent = join(dirname(pack), `pack-${checksum}`);
  await files.syncFile(pack);
  await files.syncFile(index);
  await link(files, pack, `${permanent}.pack`);
  await link(files, index, `${permanent}.idx`);
  await files.syncDirectory(dirname(pack));
}

async function link(files: DurableFiles, from: string, to: string): Promise<void> {
  await files.link(from, to).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}

type Outcome = 'there' | 'ahead' | 'behind' | 'damaged' | 'elsewhere';

interface RefRepair {
  readonly gitDir: string;
  readonly ref: string;
  readonly tip: string;
}

/** Limit for pushes that end during the repair: their `git receive-pack` outlived the daemon. */
const MAX_MOVES = 4;

async function repairMovingRef(repair: RefRepair, files: DurableFiles): Promise<Outcome> {
  for (let left = MAX_MOVES; ; left--) {
    try {
      return await repairRef(repair, files);
    } catch (error) {
      if (!(error instanceof HeadMovedError) || left === 0) throw error;
    }
  }
}

/** Moves the branch to `tip` if it is behind or damaged. Returns the state in which it was found. */
async function repairRef({ gitDir, ref, tip }: RefRepair, files: DurableFiles): Promise<Outcome> {
  const found = await usableRef(gitDir, ref);
  if (found === tip) return 'there';
  if (found === undefined) {
    // A value in packed-refs is older still.
    await removeIfThere(files, join(gitDir, ref));
    await syncRefDirectory(files, dirname(join(gitDir, ref)));
    await moveRef(gitDir, { ref, from: await readRef(gitDir, ref), to: tip }, files);
    return 'damaged';
  }
  if (await containsCommit(gitDir, found, tip)) return 'ahead';
  if (!(await containsCommit(gitDir, tip, found))) return 'elsewhere';
  await moveRef(gitDir, { ref, from: found, to: tip }, files);
  return 'behind';
}

/** Undefined if the ref is missing, garbage, or reaches missing objects. */
async function usableRef(gitDir: string, ref: string): Promise<string | undefined> {
  const id = await readRef(gitDir, ref).catch(() => undefined);
  if (id === undefined) return undefined;
  const { code } = await tryGit({ gitDir }, ['rev-list', '--quiet', '--objects', '-n1', id]);
  return code === 0 ? id : undefined;
}

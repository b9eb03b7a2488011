/**
 * What a write log of a process that is gone still holds is brought to where git keeps it, before
 * anything is read. After a kill that only makes durable what git sees anyway; after a loss of power
 * packs may be empty or garbage and the branch may be older, garbage or gone.
 *
 * Every step can be done again: the logs go last.
 */
import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAbandoned, thisOwner } from '../../files/index.ts';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import type { GitLogger } from '../logger.ts';
import { packFolder, shortLivedNames, shortLivedPacks } from '../packs/pack-names.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit, tryGit } from '../process/git-process.ts';
import { type DurableFiles, syncRefDirectory } from '../publication/durable-files.ts';
import { moveRef } from '../refs/move-ref.ts';
import { readRef } from '../refs/ref-file.ts';
import { REF_LOCK_FOLDER, removeAbandonedRefLocks } from '../refs/ref-lock.ts';
import { outwaitLock } from '../refs/stale-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { checkpointPublications } from './wal-checkpoint.ts';
import { logPaths } from './wal-file.ts';
import { decodeLog, type LogContent } from './wal-format.ts';

export interface ReplayOptions {
  readonly files: DurableFiles;
  readonly logger: GitLogger;
  /** The caller alone writes here: whoever wrote the log is gone. */
  readonly isOwn: boolean;
}

/** Throws a GitError, with the logs as they were, when that cannot be done. */
export async function replayLogs(gitDir: string, options: ReplayOptions): Promise<void> {
  const { files, isOwn } = options;
  const present = logPaths(gitDir).filter((path) => existsSync(path));
  if (present.length === 0 && !isOwn) return;
  try {
    const logs = await readLogs(present);
    if (!isOwn && (isInUse(logs) || isEmpty(logs))) return;
    await replay(gitDir, logs, options);
    for (const path of present) await files.remove(path);
    if (present.length > 0) await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
  } catch (error) {
    if (error instanceof GitError || errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
}

function isInUse(logs: readonly (LogContent & { ageMs: number })[]): boolean {
  return logs.some((log) => !isAbandoned(log.owner, log.ageMs));
}

/**
 * Nothing waits in it. It may be in the making, or of a daemon in another container that has had
 * nothing to write for a while: without its files, that one would write to what nobody finds again.
 */
function isEmpty(logs: readonly LogContent[]): boolean {
  return logs.every(({ publications }) => publications.length === 0);
}

/** Oldest first. */
async function readLogs(paths: readonly string[]): Promise<(LogContent & { ageMs: number })[]> {
  const logs: (LogContent & { ageMs: number })[] = [];
  for (const path of paths) {
    const log = decodeLog(await readFile(path));
    const { mtimeMs } = await lstat(path);
    if (log !== undefined) logs.push({ ...log, ageMs: Date.now() - mtimeMs });
  }
  return logs.sort((a, b) => a.epoch - b.epoch);
}

async function replay(
  gitDir: string,
  logs: readonly LogContent[],
  options: ReplayOptions,
): Promise<void> {
  const { files, logger } = options;
  const publications = logs.flatMap((log) => log.publications);
  const [tip, ref] = [publications.at(-1)?.tip, logs.at(-1)?.ref];
  if (tip !== undefined && ref !== undefined) {
    const lock = join(gitDir, `${ref}.lock`);
    await removeAbandonedRefLocks(gitDir, lock);
    await outwaitLock(gitDir, lock);
    await checkpointPublications({ files, gitDir, ref, owner: thisOwner }, publications);
  }
  await settleShortLived(gitDir, files, new Set(publications.map((one) => one.tip)));
  if (tip === undefined || ref === undefined) return;
  const outcome = await mendMovingRef({ gitDir, ref, tip }, files);
  const { length: groups } = publications;
  if (outcome === 'elsewhere') {
    await runGit({ gitDir }, ['update-ref', `refs/gitplane/lost/${tip}`, tip]);
    logger.warn(
      { ref, commit: tip, kept: `refs/gitplane/lost/${tip}` },
      'The branch was moved elsewhere before writes that were acknowledged had reached it: they are kept beside it',
    );
  } else
    logger.warn({ ref, commit: tip, groups, branch: outcome }, 'Writes were taken from the log');
}

/**
 * What the log holds is in the pack that was just made. Others are there where the repository came
 * without its log, as a copy or a clone by path does: they hold what nothing else holds, and stay.
 * Those that a loss of power spoilt were saved before, or nobody was told of them.
 */
async function settleShortLived(
  gitDir: string,
  files: DurableFiles,
  logged: ReadonlySet<string>,
): Promise<void> {
  const packs = await shortLivedPacks(gitDir);
  if (packs.size === 0) return;
  const folder = packFolder(gitDir);
  // It may name them, and is made anew when packs are next put together.
  await remove(files, join(folder, 'multi-pack-index'));
  for (const [tip, names] of packs) {
    const { pack, index } = shortLivedNames(gitDir, tip, thisOwner);
    const isNeeded = !logged.has(tip) && (await isSound(gitDir, index));
    if (isNeeded) await keepPack({ pack, index }, files).catch(unlessReplaced(gitDir, names));
    // The index, which git looks for, goes before the pack.
    for (const name of names) await remove(files, join(folder, name));
  }
  // A `git repack` that goes on may have made another one meanwhile.
  await remove(files, join(folder, 'multi-pack-index'));
  await files.syncDirectory(folder);
}

/**
 * A `git repack` of a daemon that was killed goes on, and removes packs that it replaced while they
 * are renamed here. Their objects are in its pack then, flushed.
 */
function unlessReplaced(gitDir: string, names: readonly string[]): (error: unknown) => void {
  return (error) => {
    const isThere = names.every((name) => existsSync(join(packFolder(gitDir), name)));
    if (errorCode(error) !== 'ENOENT' || isThere) throw error;
  };
}

async function isSound(gitDir: string, index: string): Promise<boolean> {
  return (await tryGit({ gitDir }, ['verify-pack', index])).code === 0;
}

/** Gives a pack the name of one that stays. */
async function keepPack(
  { pack, index }: { pack: string; index: string },
  files: DurableFiles,
): Promise<void> {
  const checksum = (await readFile(pack)).subarray(-20).toString('hex');
  const stays = join(dirname(pack), `pack-${checksum}`);
  await files.syncFile(pack);
  await files.syncFile(index);
  await link(files, pack, `${stays}.pack`);
  await link(files, index, `${stays}.idx`);
  await files.syncDirectory(dirname(pack));
}

async function link(files: DurableFiles, from: string, to: string): Promise<void> {
  await files.link(from, to).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
}

async function remove(files: DurableFiles, path: string): Promise<void> {
  await files.remove(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

type Outcome = 'there' | 'ahead' | 'behind' | 'damaged' | 'elsewhere';

interface RefToMend {
  readonly gitDir: string;
  readonly ref: string;
  readonly tip: string;
}

/** Pushes that may end while a branch is mended: their `git receive-pack` outlived the daemon. */
const MOST_MOVES = 4;

async function mendMovingRef(at: RefToMend, files: DurableFiles): Promise<Outcome> {
  for (let left = MOST_MOVES; ; left--) {
    try {
      return await mendRef(at, files);
    } catch (error) {
      if (!(error instanceof HeadMovedError) || left === 0) throw error;
    }
  }
}

/** Where the branch was found, and left unless it was behind. */
async function mendRef({ gitDir, ref, tip }: RefToMend, files: DurableFiles): Promise<Outcome> {
  const found = await usableRef(gitDir, ref);
  if (found === tip) return 'there';
  if (found === undefined) {
    // What is in packed-refs is older still.
    await remove(files, join(gitDir, ref));
    await syncRefDirectory(files, dirname(join(gitDir, ref)));
    await moveRef(gitDir, { ref, from: await readRef(gitDir, ref), to: tip }, files);
    return 'damaged';
  }
  if (await isAncestor({ gitDir }, tip, found)) return 'ahead';
  if (!(await isAncestor({ gitDir }, found, tip))) return 'elsewhere';
  await moveRef(gitDir, { ref, from: found, to: tip }, files);
  return 'behind';
}

/** Undefined where it is gone, garbage, or leads to what is not there. */
async function usableRef(gitDir: string, ref: string): Promise<string | undefined> {
  const id = await readRef(gitDir, ref).catch(() => undefined);
  if (id === undefined) return undefined;
  const { code } = await tryGit({ gitDir }, ['rev-list', '--quiet', '--objects', '-n1', id]);
  return code === 0 ? id : undefined;
}

async function isAncestor(context: GitContext, one: string, other: string): Promise<boolean> {
  return (await tryGit(context, ['merge-base', '--is-ancestor', one, other])).code === 0;
}

/** Opening of a repository: checks it, and reports each problem with its remedy. */
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { thisOwner } from '../files/index.ts';
import { BareRepository, type ResolveHead } from './bare-repository.ts';
import { BlobTooLargeError, errorCode, GitError, StorageError } from './git-error.ts';
import { type GitLogger, silent } from './logger.ts';
import { removeGitLeftovers } from './maintenance/git-leftovers.ts';
import { Maintenance } from './maintenance/maintenance.ts';
import { rootsOfCommit, type SignCommit } from './objects/commit-object.ts';
import { removeAbandonedPacks } from './packs/pack-names.ts';
import { type GitContext, gitEnvironment } from './process/git-environment.ts';
import { processError, runGit, tryGit } from './process/git-process.ts';
import { type DurableFiles, realFiles } from './publication/durable-files.ts';
import { type Gate, Publisher, type Publishing } from './publication/publisher.ts';
import { PublishingThread } from './publication/publishing-thread.ts';
import { AncestryCache } from './reading/ancestry-cache.ts';
import { listParents } from './reading/history.ts';
import type { Reader, ReaderOptions } from './reading/reader.ts';
import { RecentObjects } from './reading/recent-objects.ts';
import { readRef } from './refs/ref-file.ts';
import { REF_LOCK_FOLDER, removeAbandonedRefLocks } from './refs/ref-lock.ts';
import { removeStaleLocks } from './refs/stale-lock.ts';
import { type Agreement, WalPublisher } from './wal/wal-publisher.ts';
import { replayWal } from './wal/wal-replay.ts';

export interface OpenOptions extends ReaderOptions {
  readonly gitDir: string;
  /** Short name, as in `main`. The branch need not exist yet. */
  readonly branch: string;
  readonly logger?: GitLogger;
  /** Packs beyond those of the last maintenance that start the next run. Default: 50. */
  readonly packThreshold?: number;
  /** Time limit for a ref lock of another process. Default: 2,000 ms. */
  readonly lockTimeoutMs?: number;
  /** Must approve before the branch moves to new commits. */
  readonly gate?: Gate | undefined;
  /** Must store new commits elsewhere before the branch moves to them. Requires the WAL. */
  readonly agree?: Agreement | undefined;
  /** Maps the branch tip on disk to the current one: not every move by another process is accepted. */
  readonly resolveHead?: ResolveHead | undefined;
  /** Signs every commit that this process makes. */
  readonly sign?: SignCommit | undefined;
  /**
   * Publishes through the WAL, with a worker thread for slow work. Requires the real file system, no
   * gate, and that no other process publishes.
   */
  readonly workerThread?: boolean;
  /** Publishes through a WAL of two segments of this many bytes, on the thread of the caller. */
  readonly segmentBytes?: number;
  /** Delay between the replacement of a short-lived pack and its removal. Default: 1,000 ms. */
  readonly graceMs?: number;
  /** File system; tests pass one that fails. */
  readonly files?: DurableFiles;
  /** Process id that temporary files carry; tests pass that of another process. */
  readonly owner?: string;
}

const OLDEST_GIT = [2, 36] as const;

/** Throws a GitError with the problem and the remedy. */
export async function openRepository(options: OpenOptions): Promise<BareRepository> {
  const { branch, logger = silent } = options;
  const gitDir = await existingDirectory(resolve(options.gitDir));
  const context: GitContext = { gitDir };
  const ref = `refs/heads/${branch}`;
  await assertGit(context);
  await assertBareSha1(context);
  await assertBranchName(context, branch);
  await replay(gitDir, options);
  await removeLeftovers(gitDir, ref);
  const publisher = await publishingTo({ gitDir, ref }, options);
  const maintenance = new Maintenance(context, {
    packThreshold: options.packThreshold ?? 50,
    logger,
    onRepacked: () => repository.retire(),
    holdPacks: (work) => publisher.holdPacks(work),
  });
  const ancestry = new AncestryCache({
    head: () => readRef(gitDir, ref),
    read: (id) => repository.links(id),
    list: (range) => listParents(context, range),
  });
  const recent = new RecentObjects();
  const parts = { ...options, gitDir, ref, recent, ancestry, publisher, maintenance };
  const repository: BareRepository = new BareRepository(parts);
  try {
    await assertReadable(repository, await readRef(gitDir, ref), ref);
  } catch (error) {
    await repository.close();
    throw error;
  }
  void maintenance.runIfDue();
  return repository;
}

async function publishingTo(
  target: { gitDir: string; ref: string },
  options: OpenOptions,
): Promise<Publishing> {
  const { files = realFiles, owner = thisOwner, lockTimeoutMs = 2_000, gate } = options;
  const { segmentBytes, graceMs, agree } = options;
  if (options.workerThread === true) return publishingWithThread(target, { lockTimeoutMs, agree });
  if (segmentBytes === undefined)
    return new Publisher(target, { files, owner, lockTimeoutMs, gate });
  const wal = { files, owner, lockTimeoutMs, segmentBytes, graceMs, agree };
  const publisher = new WalPublisher(target, wal);
  await publisher.opened();
  return publisher;
}

/** Opening the WAL and the thread later keeps both the start of the daemon and the first write fast. */
const OPEN_AFTER_MS = 300;

function publishingWithThread(
  target: { gitDir: string; ref: string },
  { lockTimeoutMs, agree }: { lockTimeoutMs: number; agree: Agreement | undefined },
): Publishing {
  const packWorker = new PublishingThread({ ...target, lockTimeoutMs });
  return new WalPublisher(target, {
    files: realFiles,
    owner: thisOwner,
    lockTimeoutMs,
    agree,
    packWorker: packWorker,
    openAfterMs: OPEN_AFTER_MS,
    prepare: async () => {
      packWorker.start();
      // Records that could not be replayed at open must be replayed before new ones are added.
      await replayWal(target.gitDir, { files: realFiles, logger: silent, isOwn: true });
    },
  });
}

async function replay(gitDir: string, options: OpenOptions): Promise<void> {
  const { files = realFiles, logger = silent, workerThread, segmentBytes } = options;
  const isOwn = workerThread === true || segmentBytes !== undefined;
  try {
    await replayWal(gitDir, { files, logger, isOwn });
  } catch (error) {
    // On a disk that cannot be written, git data can still be read. The WAL stays for the next start.
    if (!(error instanceof StorageError) || !['EROFS', 'ENOSPC'].includes(error.code)) throw error;
    logger.warn({ error: error.message }, 'The WAL cannot be replayed until the disk is writable');
  }
}

async function existingDirectory(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    if ((await lstat(real)).isDirectory()) return real;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      throw new GitError(`Cannot open ${path} (${errorCode(error)})`, {
        remedy: 'Check its permissions',
        cause: error,
      });
    }
  }
  throw notARepository(path);
}

function notARepository(path: string, reason?: string): GitError {
  return new GitError(
    `${path} is not a git repository${reason === undefined ? '' : `: ${reason}`}`,
    { remedy: 'Name a bare repository, or make one with `git init --bare`' },
  );
}

/** Values of PATH whose git is new enough: checked once per process. */
const newEnough = new Set<string | undefined>();

async function assertGit(context: GitContext): Promise<void> {
  const { PATH } = gitEnvironment(context);
  if (newEnough.has(PATH)) return;
  const text = (await runGit(context, ['version'])).toString('utf8').trim();
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  const [has, needs] = [Number(major) * 1000 + Number(minor), oldestMajor * 1000 + oldestMinor];
  if (has < needs) {
    throw new GitError(`${text} is too old`, {
      remedy: `Install git ${OLDEST_GIT.join('.')} or newer`,
    });
  }
  newEnough.add(PATH);
}

/** Valid branch names: checked once per process. */
const branchNames = new Set<string>();

export async function assertBranchName(context: GitContext, branch: string): Promise<void> {
  if (branchNames.has(branch)) return;
  const args = ['check-ref-format', `refs/heads/${branch}`];
  const { code, stderr } = await tryGit(context, args);
  if (code !== 0 && code !== 1) throw processError(args, { code, signal: null }, stderr);
  // Names that git accepts for a ref, but not for a branch.
  if (code === 1 || branch.startsWith('-') || branch === 'HEAD') {
    throw new GitError(`${JSON.stringify(branch)} is not a branch name`, {
      remedy: 'Choose one like `main`',
    });
  }
  branchNames.add(branch);
}

async function assertBareSha1(context: GitContext): Promise<void> {
  const { gitDir } = context;
  const { code, stdout, stderr } = await tryGit(context, ['config', '--local', '-z', '--list']);
  if (code !== 0) throw notARepository(gitDir, /bad config .*/.exec(stderr)?.[0]);
  const config = parseConfig(stdout);
  const setting = (key: string): string | undefined => config.get(key)?.toLowerCase();
  const objectFormat = setting('extensions.objectformat') ?? 'sha1';
  if (objectFormat !== 'sha1') {
    throw new GitError(`${gitDir} uses ${objectFormat} object ids; only SHA-1 is supported`, {
      remedy:
        'Make a repository with `git init --bare --object-format=sha1` and push the branch to it',
    });
  }
  const refStorage = setting('extensions.refstorage') ?? 'files';
  if (refStorage !== 'files') {
    throw new GitError(`${gitDir} keeps its refs in ${refStorage}; only files are supported`, {
      remedy: 'Run `git refs migrate --ref-format=files` there',
    });
  }
  if (setting('core.bare') !== 'true') {
    throw new GitError(`${gitDir} is not bare: its work tree would not follow the branch`, {
      remedy: 'Use `git clone --bare` to make a bare copy',
    });
  }
  if ((await lstat(join(gitDir, 'shallow')).catch(() => undefined)) !== undefined) {
    throw new GitError(`${gitDir} is shallow: objects get their identity from the whole history`, {
      remedy: 'Run `git fetch --unshallow` there',
    });
  }
}

/**
 * Settings in the output of `git config -z --list`, as `<key> LF <value> NUL`. Keys are in lower case. The
 * last value of a key counts, and a key without a value is true.
 */
export function parseConfig(output: Buffer): ReadonlyMap<string, string> {
  return new Map(
    output
      .toString('utf8')
      .split('\0')
      .map((setting) => {
        const end = setting.indexOf('\n');
        return end === -1 ? [setting, 'true'] : [setting.slice(0, end), setting.slice(end + 1)];
      }),
  );
}

async function assertReadable(
  reader: Reader,
  head: string | undefined,
  ref: string,
): Promise<void> {
  if (head === undefined) return;
  try {
    const { tree } = rootsOfCommit(await reader.readObject(head, 'commit'), head);
    await reader.readObject(tree, 'tree');
  } catch (error) {
    // The commit exists. A tree that is too large is reported later, with its path.
    if (error instanceof BlobTooLargeError) return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new GitError(
      `The repository is damaged: ${ref} points to ${head}, which cannot be read (${reason})`,
      {
        remedy:
          'Run `git fsck --full` and restore a backup, or fetch the missing objects from a clone',
        cause: error,
      },
    );
  }
}

/** Removes leftovers of crashed runs, of gitplane and of git: incomplete packs, ref values, locks. */
async function removeLeftovers(gitDir: string, ref: string): Promise<void> {
  try {
    await mkdir(join(gitDir, REF_LOCK_FOLDER), { recursive: true });
    await removeAbandonedRefLocks(gitDir, join(gitDir, `${ref}.lock`));
    await removeStaleLocks(gitDir, ref);
    await removeAbandonedPacks(gitDir);
    await removeGitLeftovers(gitDir);
  } catch (error) {
    // Reading works on a full or read-only disk.
    if (errorCode(error) === undefined) throw error;
    if (errorCode(error) === 'EROFS' || errorCode(error) === 'ENOSPC') return;
    throw new StorageError(gitDir, { cause: error });
  }
}

/** Opening a repository: everything that could be wrong with it is said here, once and clearly. */
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { thisOwner } from '../files/index.ts';
import { BareRepository, type HeadSettlement } from './bare-repository.ts';
import { BlobTooLargeError, errorCode, GitError, StorageError } from './git-error.ts';
import { type GitLogger, silent } from './logger.ts';
import { removeGitLeftovers } from './maintenance/git-leftovers.ts';
import { Maintenance } from './maintenance/maintenance.ts';
import { type CommitSignature, treeOfCommit } from './objects/commit-object.ts';
import { removeAbandonedPacks } from './packs/pack-names.ts';
import { type GitContext, gitEnvironment } from './process/git-environment.ts';
import { processError, runGit, tryGit } from './process/git-process.ts';
import { type DurableFiles, realFiles } from './publication/durable-files.ts';
import { type Gate, Publisher, type Publishing } from './publication/publisher.ts';
import { PublishingThread } from './publication/publishing-thread.ts';
import { Reader, type ReaderOptions } from './reading/reader.ts';
import { readRef } from './refs/ref-file.ts';
import { REF_LOCK_FOLDER, removeAbandonedRefLocks } from './refs/ref-lock.ts';
import { removeStaleLocks } from './refs/stale-lock.ts';
import { type Agreement, WalPublisher } from './wal/wal-publisher.ts';
import { replayLogs } from './wal/wal-replay.ts';

export interface OpenOptions extends ReaderOptions {
  readonly gitDir: string;
  /** Short name, as in `main`. It need not exist yet. */
  readonly branch: string;
  readonly logger?: GitLogger;
  /** Packs beyond those of the last maintenance that start the next. Default: 50. */
  readonly packThreshold?: number;
  /** How long a publication waits for a ref lock of another process. Default: 2,000 ms. */
  readonly lockPatienceMs?: number;
  /** Who has to agree before the branch moves to commits of ours. */
  readonly gate?: Gate | undefined;
  /** Who has to have commits of ours before the branch moves to them; goes with a log. */
  readonly agree?: Agreement | undefined;
  /**
   * Says where the branch is, given where it is found on the disk: what others moved is not always to
   * be taken as it is.
   */
  readonly settle?: HeadSettlement | undefined;
  /** Signs every commit that is made here. */
  readonly sign?: CommitSignature | undefined;
  /**
   * Publishes by way of a log, with a thread for what takes long: without a gate, on the real file
   * system, and by nobody else.
   */
  readonly ownThread?: boolean;
  /** Publishes by way of a log of two files of so many bytes, on the thread of the caller. */
  readonly logBytes?: number;
  /** Time that packs of the log stay after another one replaced them. Default: 1,000 ms. */
  readonly graceMs?: number;
  /** The file system, for tests that break off in the middle. */
  readonly files?: DurableFiles;
  /** The process that temporary files are marked with, for tests that play another one. */
  readonly owner?: string;
}

const OLDEST_GIT = [2, 36] as const;

/** Throws a GitError that names the problem and the remedy. */
export async function openRepository(options: OpenOptions): Promise<BareRepository> {
  const { branch, logger = silent } = options;
  const gitDir = await existingDirectory(resolve(options.gitDir));
  const context: GitContext = { gitDir };
  const ref = `refs/heads/${branch}`;
  await assertGit(context);
  await assertBareSha1(context);
  await assertBranchName(context, branch);
  await replay(gitDir, options);
  const reader = new Reader(context, options);
  try {
    await assertReadable(reader, await readRef(gitDir, ref), ref);
    await removeLeftovers(gitDir, ref);
  } catch (error) {
    await reader.close();
    throw error;
  }
  const publisher = await publishingTo({ gitDir, ref }, options);
  const maintenance = new Maintenance(context, {
    packThreshold: options.packThreshold ?? 50,
    logger,
    onRepacked: () => reader.retire(),
    whileStill: (work) => publisher.whileStill(work),
  });
  void maintenance.runIfDue();
  const { sign, settle, maxPaths } = options;
  const parts = { gitDir, ref, reader, publisher, maintenance, sign, settle, maxPaths };
  return new BareRepository(parts);
}

async function publishingTo(
  where: { gitDir: string; ref: string },
  options: OpenOptions,
): Promise<Publishing> {
  const { files = realFiles, owner = thisOwner, lockPatienceMs = 2_000, gate } = options;
  const { logBytes, graceMs, agree } = options;
  if (options.ownThread === true) return publishingWithThread(where, { lockPatienceMs, agree });
  if (logBytes === undefined) return new Publisher(where, { files, owner, lockPatienceMs, gate });
  const logged = { files, owner, lockPatienceMs, logBytes, graceMs, agree };
  const publisher = new WalPublisher(where, logged);
  await publisher.opened();
  return publisher;
}

/** The first write should not wait for the log and the thread, and the start of the daemon neither. */
const START_AFTER_MS = 300;

function publishingWithThread(
  where: { gitDir: string; ref: string },
  { lockPatienceMs, agree }: { lockPatienceMs: number; agree: Agreement | undefined },
): Publishing {
  const workshop = new PublishingThread({ ...where, lockPatienceMs });
  return new WalPublisher(where, {
    files: realFiles,
    owner: thisOwner,
    lockPatienceMs,
    agree,
    workshop,
    openAfterMs: START_AFTER_MS,
    prepare: async () => {
      workshop.start();
      // What could not be replayed when the repository was opened must be before it is added to.
      await replayLogs(where.gitDir, { files: realFiles, logger: silent, isOwn: true });
    },
  });
}

async function replay(gitDir: string, options: OpenOptions): Promise<void> {
  const { files = realFiles, logger = silent, ownThread, logBytes } = options;
  const isOwn = ownThread === true || logBytes !== undefined;
  try {
    await replayLogs(gitDir, { files, logger, isOwn });
  } catch (error) {
    // Where nothing can be written, what git sees can be read; the log stays for when there is room.
    if (!(error instanceof StorageError) || !['EROFS', 'ENOSPC'].includes(error.code)) throw error;
    logger.warn({ error: error.message }, 'Writes in the log wait for room on the disk');
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

/** Programs that are new enough, by the PATH that finds them: asked once in a process. */
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

/** Names that git takes: asked once in a process. */
const branchNames = new Set<string>();

export async function assertBranchName(context: GitContext, branch: string): Promise<void> {
  if (branchNames.has(branch)) return;
  const args = ['check-ref-format', `refs/heads/${branch}`];
  const { code, stderr } = await tryGit(context, args);
  if (code !== 0 && code !== 1) throw processError(args, { code, signal: null }, stderr);
  // Names that git takes for a ref, but for no branch.
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
  const config = parseConfig(stdout.toString('utf8'));
  const objectFormat = config.get('extensions.objectformat') ?? 'sha1';
  if (objectFormat !== 'sha1') {
    throw new GitError(`${gitDir} uses ${objectFormat} object ids; only SHA-1 is supported`, {
      remedy:
        'Make a repository with `git init --bare --object-format=sha1` and push the branch to it',
    });
  }
  const refStorage = config.get('extensions.refstorage') ?? 'files';
  if (refStorage !== 'files') {
    throw new GitError(`${gitDir} keeps its refs in ${refStorage}; only files are supported`, {
      remedy: 'Run `git refs migrate --ref-format=files` there',
    });
  }
  if (config.get('core.bare') !== 'true') {
    throw new GitError(`${gitDir} is not bare: its work tree would fall behind the branch`, {
      remedy: 'Use `git clone --bare` to make a bare copy',
    });
  }
  if ((await lstat(join(gitDir, 'shallow')).catch(() => undefined)) !== undefined) {
    throw new GitError(`${gitDir} is shallow: objects get their identity from the whole history`, {
      remedy: 'Run `git fetch --unshallow` there',
    });
  }
}

/** `<key> LF <value> NUL`; the last value of a key counts, and a key without a value is true. */
function parseConfig(text: string): Map<string, string> {
  return new Map(
    text.split('\0').map((setting) => {
      const end = setting.indexOf('\n');
      return end === -1
        ? [setting, 'true']
        : [setting.slice(0, end), setting.slice(end + 1).toLowerCase()];
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
    const tree = treeOfCommit(await reader.readObject(head, 'commit'), head);
    await reader.readObject(tree, 'tree');
  } catch (error) {
    // It is there; what is too large is held later, with the place.
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

/** What crashed runs of ours and of git left: parts of packs, values of refs, locks. */
async function removeLeftovers(gitDir: string, ref: string): Promise<void> {
  try {
    await mkdir(join(gitDir, REF_LOCK_FOLDER), { recursive: true });
    await removeAbandonedRefLocks(gitDir, join(gitDir, `${ref}.lock`));
    await removeStaleLocks(gitDir, ref);
    await removeAbandonedPacks(gitDir);
    await removeGitLeftovers(gitDir);
  } catch (error) {
    // A full or read-only disk does not keep anyone from reading.
    if (errorCode(error) === undefined) throw error;
    if (errorCode(error) === 'EROFS' || errorCode(error) === 'ENOSPC') return;
    throw new StorageError(gitDir, { cause: error });
  }
}

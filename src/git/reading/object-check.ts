/**
 * Integrity checks of objects. Every check runs in new git processes, which open the packs again:
 * running ones may hold deleted files open.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../git-error.ts';
import { isShortLived, packFolder, packOfTemporaryFile } from '../packs/pack-names.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { MAINTENANCE } from '../process/process-limits.ts';

export interface CheckLimits {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** The commit-graph must not answer in place of the objects. */
const UNCACHED = ['-c', 'core.commitGraph=false', '-c', 'pack.threads=1'];
/** The newest commits, with their trees and the blobs that they changed. */
const NEWEST = [
  ...['log', '-n', '50', '--first-parent', '-m', '--numstat', '--format='],
  ...['--no-renames', '--no-ext-diff', '--no-textconv'],
];
/** Reads every tree of one commit, and checks that its blobs exist. */
const PRESENT = ['rev-list', '--objects', '-n', '1', '--quiet'];
const EVERYTHING = ['fsck', '--full', '--no-dangling', '--no-progress', '--no-reflogs'];

/** Exit code of `git fsck`: an object that another one names is missing. */
const MISSING = 2;
/** Messages about the content of objects, whose bytes can be read, and about the repository. */
const COMPLAINT = /^(?:(?:error|warning) in \w+ [0-9a-f]{40}: |notice: )/;
/** Message about a pack that cannot be opened. */
const UNOPENED = /^error: packfile \S*?([^/\s]+)\.pack (?:index not opened|cannot be accessed)$/;

/** Reason why the newest objects of a commit cannot be read; undefined: no damage found. */
export async function tipDamage(
  context: GitContext,
  tip: string,
  limits: CheckLimits,
): Promise<string | undefined> {
  for (const check of [NEWEST, PRESENT]) {
    const found = await runCheck(context, [...UNCACHED, ...check, tip, '--'], limits);
    if (found === undefined) return undefined;
    if (found.code !== 0) return shortened(found.stderr);
  }
  return undefined;
}

/** Reason why an object that a commit reaches, or a pack, cannot be read; undefined: no damage found. */
export async function historyDamage(
  context: GitContext,
  tip: string,
  limits: CheckLimits,
): Promise<string | undefined> {
  const found = await runCheck(context, [...UNCACHED, ...EVERYTHING, tip], limits);
  if (found === undefined) return undefined;
  const present = new Set(await readdir(packFolder(context.gitDir)));
  return damageIn(found, present);
}

/**
 * Damage that `git fsck` reports. A checkpoint or maintenance may remove a pack while git reads the
 * others: a message about a pack that is no longer there is not damage, and an object that was lost
 * with it is reported as missing. `present`: names in the pack folder.
 */
export function damageIn(
  { code, stderr }: { readonly code: number; readonly stderr: string },
  present: ReadonlySet<string>,
): string | undefined {
  if (code === 0) return undefined;
  const lines = stderr.split('\n').filter((line) => {
    const [, pack] = UNOPENED.exec(line) ?? [];
    const isGone = pack !== undefined && !present.has(`${pack}.pack`);
    return line !== '' && !isGone && !COMPLAINT.test(line);
  });
  if (lines.length > 0) return shortened(lines.join('\n'));
  return (code & MISSING) !== 0 ? 'an object that another one names is missing' : undefined;
}

export function damageRemedy(gitDir: string): string {
  return `Restore the files of ${gitDir}/objects from a backup, or fetch the missing objects from a clone; \`gitplane doctor\` names what is damaged`;
}

/** Undefined: the check was aborted or met a limit, so that nothing is known about the objects. */
async function runCheck(
  context: GitContext,
  args: readonly string[],
  { deadlineMs, signal }: CheckLimits,
): Promise<{ code: number; stderr: string } | undefined> {
  if (signal.aborted) return undefined;
  const limits = { ...MAINTENANCE, deadlineMs, outputBytes: Number.POSITIVE_INFINITY };
  const git = new GitProcess(context, args, limits);
  git.stdout.resume();
  git.stdin.end();
  const kill = (): void => git.kill();
  signal.addEventListener('abort', kill);
  const end = await git.ended;
  signal.removeEventListener('abort', kill);
  if (end.failure !== undefined) throw git.error(end);
  if (end.code === null || git.limitOf(end) !== undefined) return undefined;
  return { code: end.code, stderr: git.stderr };
}

const MAX_MESSAGE = 400;

function shortened(stderr: string): string {
  const line = stderr.trim().replaceAll(/\s*\n\s*/g, '; ');
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
}

/** Inode, size and modification time of each pack file, by name; `withdrawn` for one that a later pack continues. */
export type PackFiles = ReadonlyMap<string, string>;

/** Lists again when a file disappears meanwhile, which may have got its temporary name back. */
export async function packFiles(gitDir: string, attempts = 3): Promise<PackFiles> {
  const folder = packFolder(gitDir);
  const files = new Map<string, string>();
  const names = (await readdir(folder)).sort();
  for (const name of names.flatMap((one) => packOfTemporaryFile(one) ?? [])) {
    for (const extension of ['pack', 'idx']) files.set(`${name}.${extension}`, WITHDRAWN);
  }
  for (const name of names) {
    if (!/\.(pack|idx)$/.test(name) || isShortLived(name)) continue;
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined) files.set(name, `${found.ino} ${found.size} ${found.mtimeMs}`);
    else if (attempts > 1) return await packFiles(gitDir, attempts - 1);
  }
  return files;
}

/** Compares two states. Git never changes a pack file in place; new files damage no old object. */
export function packFileChanges(
  before: PackFiles,
  now: PackFiles,
): { gone: boolean; inPlace: boolean; added: boolean } {
  const old = [...before].filter(([, stamp]) => stamp !== WITHDRAWN);
  const isWithdrawn = (name: string): boolean => now.get(name) === WITHDRAWN;
  return {
    gone: old.some(([name]) => !now.has(name)),
    inPlace: old.some(
      ([name, stamp]) => now.has(name) && !isWithdrawn(name) && now.get(name) !== stamp,
    ),
    added: [...now.keys()].some((name) => !before.has(name) && !isWithdrawn(name)),
  };
}

const WITHDRAWN = 'withdrawn';

const CHECKSUM = 20;

/** Reason why git would ignore a whole pack: its file is missing, or ends with another checksum. */
export async function packDamage(gitDir: string, files: PackFiles): Promise<string | undefined> {
  for (const index of files.keys()) {
    if (!index.endsWith('.idx')) continue;
    const pack = index.replace(/idx$/, 'pack');
    const expected = await bytesBeforeEnd(join(packFolder(gitDir), index), 2 * CHECKSUM);
    if (expected === undefined) continue;
    const found = await bytesBeforeEnd(join(packFolder(gitDir), pack), CHECKSUM);
    if (found === undefined) return `the pack ${pack} is missing, its index is there`;
    if (!found.equals(expected)) return `the pack ${pack} is cut or damaged`;
  }
  return undefined;
}

/** Checksum that starts this many bytes before the end; undefined: the file does not exist. */
async function bytesBeforeEnd(file: string, distance: number): Promise<Buffer | undefined> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const bytes = Buffer.alloc(CHECKSUM);
      const position = Math.max(0, size - distance);
      const { bytesRead } = await handle.read(bytes, 0, CHECKSUM, position);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * `gitplane backup`: repository, keys and state of a data directory in one encrypted file. It changes
 * nothing and takes no lock, so that it can run beside a daemon.
 */
import { existsSync } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { rfc3339, systemClock } from '../../apimachinery/index.ts';
import { pause } from '../../concurrency/index.ts';
import { removeTemporariesIn, temporaryPath } from '../../files/index.ts';
import { readRef, realFiles, replayWal, runGit, silent } from '../../git/index.ts';
import { type ParsedOptions, UsageError } from '../../options/index.ts';
import { copyLmdb } from '../../state/index.ts';
import { VERSION } from '../../version.ts';
import { writeArchive } from './archive.ts';
import { BUNDLE, DATA, MANIFEST, manifestOf } from './backup-manifest.ts';

/** Attempts, beside the first. */
const BUNDLE_TRIES = 20;
const BUNDLE_PAUSE_MS = 100;
const HOUR = { deadlineMs: 60 * 60 * 1000, outputBytes: 16 * 1024 * 1024 };

/** Copied by their own means, or of one process. */
const APART = new Set(['repo.git', 'state', 'clusters', 'run']);
/** Logs and databases of the audit log: they belong to their own archive. */
const AUDIT = /^audit/;

export async function backup(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  const [operand = ''] = options.operands;
  const file = resolve(operand);
  const recipients = options.all('recipient');
  if (recipients.length === 0) {
    throw new UsageError(
      'Name the recipient that can open the backup: --recipient age1…, whose identity is not in this data directory (age-keygen makes one)',
    );
  }
  if (existsSync(file))
    throw new UsageError(`Cannot write ${file}: it exists already; choose another name`);
  const root = resolve(options.required('data-dir'));
  if (!existsSync(join(root, 'repo.git', 'HEAD'))) {
    throw new UsageError(`${root} is not a data directory: name it with --data-dir`);
  }
  // In the data directory: the keys are not copied to another place in the clear.
  removeTemporariesIn(root);
  const folder = temporaryPath(join(root, 'backup'));
  await mkdir(folder, { mode: 0o700 });
  try {
    const branch = options.required('branch');
    const { commit, leftOut } = await collect({ root, folder, branch });
    await writeArchive(file, { folder, recipients });
    const { size } = await stat(file);
    const result = { file, bytes: size, branch, commit, recipients, leftOut };
    const json = `${JSON.stringify(result, null, 2)}\n`;
    out.write(options.text('output') === 'json' ? json : textOf(result));
    return 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Source {
  readonly root: string;
  readonly folder: string;
  readonly branch: string;
}

interface Collected {
  readonly commit: string | null;
  readonly leftOut: readonly string[];
}

/** The state before the repository: a daemon applies the commits that a restored state lacks. */
async function collect({ root, folder, branch }: Source): Promise<Collected> {
  const data = join(folder, DATA);
  await mkdir(data);
  const leftOut = await copyFiles(root, data);
  for (const part of ['state', 'clusters']) {
    const directory = join(root, part);
    if (!existsSync(join(directory, 'data.mdb'))) {
      if (part === 'state')
        leftOut.push('state: none is here; with --state etcd take a snapshot of etcd');
      continue;
    }
    await mkdir(join(data, part));
    if (await copyLmdb(directory, join(data, part))) {
      await rm(join(data, part, 'lock.mdb'), { force: true });
      continue;
    }
    throw new Error(`${directory} cannot be read: check it with gitplane doctor`);
  }
  const gitDir = join(root, 'repo.git');
  // Commits that a crash of the machine left in the write-ahead log alone.
  await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: false });
  const commit = await writeBundle(join(folder, BUNDLE), { gitDir, ref: `refs/heads/${branch}` });
  const facts = { version: VERSION, time: rfc3339(systemClock.now()), branch, commit };
  const manifest = await manifestOf(folder, facts);
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return { commit, leftOut };
}

interface BranchPlace {
  readonly gitDir: string;
  readonly ref: string;
}

/**
 * Writes all refs, and returns the commit of the branch in the bundle; null: there is no commit yet. git
 * leaves out a ref whose newest pack was replaced while it looked: then it is asked again.
 */
async function writeBundle(file: string, { gitDir, ref }: BranchPlace): Promise<string | null> {
  if ((await readRef(gitDir, ref)) === undefined) {
    const refs = await runGit({ gitDir }, ['for-each-ref', '--count=1']);
    if (refs.length === 0) return null;
    throw new UsageError(`${gitDir} has no ${ref}: check --branch`);
  }
  for (let left = BUNDLE_TRIES; ; left--) {
    try {
      await runGit({ gitDir }, ['bundle', 'create', '-q', file, '--all'], HOUR);
      const heads = (await runGit({ gitDir }, ['bundle', 'list-heads', file])).toString('latin1');
      const line = heads.split('\n').find((text) => text.endsWith(` ${ref}`));
      if (line !== undefined) return line.slice(0, line.indexOf(' '));
      throw new Error(`git left ${ref} out of the bundle: try again`);
    } catch (error) {
      if (left === 0) throw error;
      await pause(BUNDLE_PAUSE_MS);
    }
  }
}

/** Returns the names that are left out, with the reason. */
async function copyFiles(root: string, data: string): Promise<string[]> {
  const leftOut: string[] = [];
  const names = (await readdir(root)).filter((name) => !APART.has(name) && !name.endsWith('.tmp'));
  for (const name of names) {
    if (AUDIT.test(name)) leftOut.push(`${name}: the audit log has an archive of its own`);
    else await copyBelow({ root, data }, name, leftOut);
  }
  return leftOut;
}

async function copyBelow(
  folders: { readonly root: string; readonly data: string },
  path: string,
  leftOut: string[],
): Promise<void> {
  const [from, to] = [join(folders.root, path), join(folders.data, path)];
  const found = await lstat(from);
  if (found.isFile()) await copyFile(from, to);
  else if (found.isDirectory()) {
    await mkdir(to, { mode: 0o700 });
    const names = (await readdir(from)).filter((name) => !name.endsWith('.tmp'));
    for (const name of names) await copyBelow(folders, `${path}/${name}`, leftOut);
  } else leftOut.push(`${path}: not a file`);
}

function textOf(result: {
  readonly file: string;
  readonly bytes: number;
  readonly branch: string;
  readonly commit: string | null;
  readonly leftOut: readonly string[];
}): string {
  const { file, bytes, branch, commit, leftOut } = result;
  const kibibytes = bytes / 1024;
  const size =
    kibibytes < 1024 ? `${Math.ceil(kibibytes)} KiB` : `${(kibibytes / 1024).toFixed(1)} MiB`;
  const lines = [
    `${file}: ${size}, ${branch} at ${commit ?? 'no commit'}`,
    ...leftOut.map((line) => `left out: ${line}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

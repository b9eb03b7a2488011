/** `gitplane restore`: a data directory from a backup. It is checked before it gets its name. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { identitiesIn } from '../../bootstrap/index.ts';
import { removeTemporariesIn, temporaryPath } from '../../files/index.ts';
import { initRepository, readRef, runGit } from '../../git/index.ts';
import { type ParsedOptions, UsageError } from '../../options/index.ts';
import { extractArchive } from './archive.ts';
import { type BackupManifest, BUNDLE, checkedManifest, DATA } from './backup-manifest.ts';

const HOUR = { deadlineMs: 60 * 60 * 1000, outputBytes: 16 * 1024 * 1024 };

export async function restore(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  const [operand = ''] = options.operands;
  const file = resolve(operand);
  if (!existsSync(file)) throw new UsageError(`Cannot read ${file}: it does not exist`);
  const root = resolve(options.required('data-dir'));
  await refuseUnlessEmpty(root);
  const identities = await identitiesOf(options);
  const parent = dirname(root);
  await mkdir(parent, { recursive: true });
  removeTemporariesIn(parent);
  const folder = temporaryPath(root);
  await mkdir(folder, { mode: 0o700 });
  try {
    await extractArchive(file, { folder, identities });
    const manifest = await checkedManifest(folder, file);
    const data = join(folder, DATA);
    const gitDir = join(data, 'repo.git');
    if (existsSync(gitDir)) {
      throw new Error(
        `${file} contains a folder repo.git, whose hooks and settings would run programs: it is not a backup`,
      );
    }
    await restoreRepository(gitDir, join(folder, BUNDLE), manifest);
    if (existsSync(root)) await rmdir(root);
    await rename(data, root);
    const { time, branch, commit, version } = manifest;
    const text = `${root}: backup of ${time}, ${branch} at ${commit ?? 'no commit'}\nStart it: gitplane serve --data-dir ${root}\n`;
    const json = { dataDir: root, time, branch, commit, version };
    out.write(options.text('output') === 'json' ? `${JSON.stringify(json, null, 2)}\n` : text);
    return 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function refuseUnlessEmpty(root: string): Promise<void> {
  if (!existsSync(root) || (await readdir(root)).length === 0) return;
  throw new UsageError(
    `${root} is not empty, and nothing was changed: name a new directory with --data-dir, or move this one away`,
  );
}

async function identitiesOf(options: ParsedOptions): Promise<string[]> {
  const shared = options.text('age-key-file');
  const given = options.all('age-key-file');
  const files = given.length > 0 || shared === undefined ? given : [shared];
  if (files.length === 0) {
    throw new UsageError('Name the identity that opens the backup: --age-key-file FILE');
  }
  return (await Promise.all(files.map(identitiesIn))).flat();
}

/** Every object is read once: a backup that cannot be used is noticed here. */
async function restoreRepository(
  gitDir: string,
  bundle: string,
  { branch, commit }: BackupManifest,
): Promise<void> {
  await initRepository({ gitDir, branch });
  if (existsSync(bundle)) {
    await runGit(
      { gitDir },
      ['fetch', '-q', '--no-auto-maintenance', bundle, '+refs/*:refs/*'],
      HOUR,
    );
  }
  await runGit({ gitDir }, ['fsck', '--full', '--no-dangling', '--no-progress'], HOUR);
  const tip = await readRef(gitDir, `refs/heads/${branch}`);
  if ((tip ?? null) === commit) return;
  throw new Error(
    `The backup is damaged: ${branch} is at ${tip ?? 'no commit'} and not at ${commit}`,
  );
}

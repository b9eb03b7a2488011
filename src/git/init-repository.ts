/** Making the repository that the daemon owns. */
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorCode, StorageError } from './git-error.ts';
import { runGit } from './git-process.ts';
import { assertBranchName } from './open-repository.ts';

/** In the repository's own file, because a push by path runs the pusher's git. */
const settings: readonly (readonly [string, string])[] = [
  // History is the database: it is only ever added to.
  ['receive.denyNonFastForwards', 'true'],
  ['receive.denyDeletes', 'true'],
  ['receive.fsckObjects', 'true'],
  ['transfer.fsckObjects', 'true'],
  ['receive.advertisePushOptions', 'true'],
  // One pack a push: two files to sync instead of one for every object.
  ['receive.unpackLimit', '1'],
  ['transfer.unpackLimit', '1'],
  // We pack in the background; git must not do it in the middle of a push.
  ['gc.auto', '0'],
  ['receive.autogc', 'false'],
  ['core.fsync', 'objects,derived-metadata,reference'],
  ['uploadpack.allowFilter', 'true'],
  ['uploadpack.allowReachableSHA1InWant', 'true'],
  // What we keep for ourselves is nobody's to clone.
  ['transfer.hideRefs', 'refs/gitplane'],
  // The pusher's own setting must not lead past our hook.
  ['core.hooksPath', 'hooks'],
];

/** Makes a bare repository whose HEAD is `branch`, or brings the settings of one up to date. */
export async function initRepository(options: { gitDir: string; branch: string }): Promise<void> {
  const gitDir = resolve(options.gitDir);
  try {
    await mkdir(gitDir, { recursive: true });
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
  const context = { gitDir };
  await assertBranchName(context, options.branch);
  await runGit(context, ['init', '-q', '--bare', '--template=', '--object-format=sha1', gitDir]);
  await runGit(context, ['symbolic-ref', 'HEAD', `refs/heads/${options.branch}`]);
  const present = await localSettings(context);
  for (const [key, value] of settings) {
    // A process each: at most starts there is none to set.
    if (present.get(key.toLowerCase()) !== value) {
      await runGit(context, ['config', '--local', key, value]);
    }
  }
}

/** `<key> LF <value> NUL`, the key in lower case; the last value of a key counts. */
async function localSettings(context: { gitDir: string }): Promise<ReadonlyMap<string, string>> {
  const list = await runGit(context, ['config', '--local', '-z', '--list']);
  const lines = list.toString('utf8').split('\0');
  return new Map(
    lines.map((line) => {
      const [key = '', ...value] = line.split('\n');
      return [key, value.join('\n')];
    }),
  );
}

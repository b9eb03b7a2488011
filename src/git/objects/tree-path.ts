/**
 * Checks of paths to write. They are stricter than git, so that every written tree passes
 * `git fsck --strict` and can be checked out on every system.
 */

const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4096;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const controlCharacter = /[\0-\x1f\x7f]/;
const loneSurrogate = /\p{Surrogate}/u;
/**
 * Characters that file systems leave out of comparisons: folders of ext4 that ignore case all of them, HFS+
 * some (git: `next_hfs_char`).
 */
const ignorable = /\p{Default_Ignorable_Code_Point}/gu;
/** Variants that NTFS reads as `.git`: trailing dots and spaces, streams, the short name. */
const ntfsDotGit = /^(?:\.git|git~1)[. ]*(?::.*)?$/i;

/** Reason why `path` must not be written, as in `it has a control character`. */
export function pathFlaw(path: string): string | undefined {
  if (controlCharacter.test(path)) return 'it has a control character';
  if (loneSurrogate.test(path)) return 'it is not valid Unicode';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `it is longer than ${MAX_PATH_BYTES} bytes`;
  for (const name of path.split('/')) {
    const flaw = nameFlaw(name);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

function nameFlaw(name: string): string | undefined {
  if (name === '') return 'it has an empty segment';
  if (name === '.' || name === '..') return `${name} is not a name`;
  if (isDotGit(name)) return 'the name .git is reserved for git';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    return `a segment is longer than ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

/** True for a name that some file system reads as `.git`. The dotless i is an i in upper case. */
export function isDotGit(name: string): boolean {
  const onOthers = name.replace(ignorable, '').toUpperCase() === '.GIT';
  return onOthers || name.split('\\').some((part) => ntfsDotGit.test(part));
}

/** Names that every clone can check out, whatever its file system is. */

/** NAME_MAX of Linux, macOS and Windows. */
const MAX_NAME_BYTES = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacter = /[\0-\x1f\x7f]/;
/** Windows opens a device by these names, with any extension. Superscript digits count, in UTF-8. */
const device =
  /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)(?:[0-9]|\xc2[\xb9\xb2\xb3])) *(?:\.|:|$)/i;
/** As Windows reads them: `.git.`, `git~1`, `.git::$INDEX_ALLOCATION`. */
const gitFolder = /^(?:\.git|git~1)[ .]*(?::|$)/i;

/** Why a name, one character a byte, cannot be checked out everywhere; undefined: it can. */
export function nameFlaw(name: string): string | undefined {
  if (name.length > MAX_NAME_BYTES) return `a segment is longer than ${MAX_NAME_BYTES} bytes`;
  if (controlCharacter.test(name)) return 'it has a control character';
  if (name.includes('\\')) return 'it has a backslash, which Windows takes for a folder';
  if (gitFolder.test(name)) return 'it is the name of a git directory';
  if (/[. ]$/.test(name)) return 'Windows drops the dot or blank at its end';
  return device.test(name) ? 'Windows takes it for a device' : undefined;
}

/** Names that every clone can check out on any file system. */
import { isDotGit } from './tree-path.ts';

/** NAME_MAX of Linux, macOS and Windows. */
const MAX_NAME_BYTES = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const controlCharacter = /[\0-\x1f\x7f]/;
/** Device names of Windows, with any extension. Superscript digits (in UTF-8) count as digits. */
const device =
  /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)(?:[0-9]|\xc2[\xb9\xb2\xb3])) *(?:\.|:|$)/i;

/** Reason why a name (one character per byte) cannot be checked out everywhere; undefined: it can. */
export function nameFlaw(name: string): string | undefined {
  if (name.length > MAX_NAME_BYTES) return `a segment is longer than ${MAX_NAME_BYTES} bytes`;
  if (controlCharacter.test(name)) return 'it has a control character';
  if (name.includes('\\')) return 'it has a backslash, which is a separator on Windows';
  if (isDotGit(Buffer.from(name, 'latin1').toString())) return 'it is the name of a git directory';
  if (/[. ]$/.test(name)) return 'Windows drops the dot or blank at its end';
  return device.test(name) ? 'it is the name of a Windows device' : undefined;
}

/**
 * A commit object taken apart: what was signed, and the signature. Stricter than git, which takes
 * every header that begins with `gpgsig` out of what it verifies: whatever could make git and the
 * signature see two different commits is refused.
 */
import { SignatureError } from './signature-error.ts';

export interface SignedCommit {
  /** The bytes of the commit without its signature. */
  readonly payload: Buffer;
  /** Undefined: the commit is not signed. */
  readonly signature: string | undefined;
  /** Seconds since the epoch. */
  readonly committerTime: number;
}

/**
 * git reads tree, parents, author and committer in this order and stops at what it does not expect:
 * a signature among them would hide the rest.
 */
const beginning =
  /^tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*author [^\n]*\ncommitter [^\n]*> (\d{1,15}) [-+]\d{4}\n/;
const repeated = /^(?:tree|parent|author|committer)(?: |$)/;
const SIGNATURE = 'gpgsig ';

/** Throws SignatureError for a commit that is not written as git writes them. */
export function parseSignedCommit(content: Buffer): SignedCommit {
  if (content.includes(0)) throw new SignatureError('it holds a NUL byte');
  const blank = content.indexOf('\n\n');
  if (blank === -1) throw new SignatureError('its header does not end');
  const header = content.toString('latin1', 0, blank + 1);
  const start = beginning.exec(header);
  if (start === null) throw new SignatureError('its header is not as git writes it');
  const kept = [start[0]];
  const signature: string[] = [];
  for (const field of fieldsOf(header.slice(start[0].length))) {
    if (repeated.test(field)) throw new SignatureError('its header says something twice');
    if (!field.startsWith('gpgsig')) kept.push(field);
    else if (field.startsWith(SIGNATURE)) signature.push(field.slice(SIGNATURE.length));
    else throw new SignatureError('it has a signature of another kind than gpgsig');
  }
  if (signature.length > 1) throw new SignatureError('it has two signatures');
  return {
    payload: Buffer.concat([Buffer.from(kept.join(''), 'latin1'), content.subarray(blank + 1)]),
    signature: signature[0]?.replaceAll('\n ', '\n'),
    committerTime: Number(start[1]),
  };
}

/** Lines that begin with a blank belong to the field before them. */
function fieldsOf(header: string): string[] {
  if (header.startsWith(' ')) throw new SignatureError('its header is not as git writes it');
  return header.split(/(?<=\n)(?! )/);
}

const author = /\nauthor ([^\n]*?) \d+ [-+]\d{4}\n/;

/** Who a commit says made it, for people to read; nothing to rely on. */
export function authorOf(content: Buffer): string {
  const end = content.indexOf('\n\n');
  const header = content.toString('utf8', 0, end === -1 ? content.length : end + 1);
  return author.exec(header)?.[1] ?? 'nobody';
}

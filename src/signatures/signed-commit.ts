/**
 * Splits a commit object into the signed bytes and the signature. Stricter than git, which removes every
 * header that begins with `gpgsig` before it verifies. A commit that git and the signature could read
 * differently is refused.
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
 * git reads tree, parents, author and committer in this order and stops at any other header: a signature
 * between them would hide the rest.
 */
const beginning =
  /^tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*author [^\n]*\ncommitter [^\n]*> (\d{1,15}) [-+]\d{4}\n/;
const repeated = /^(?:tree|parent|author|committer)(?: |$)/;
const SIGNATURE = 'gpgsig ';

/** Throws SignatureError for a commit that is not in the format of git. */
export function parseSignedCommit(content: Buffer): SignedCommit {
  if (content.includes(0)) throw new SignatureError('it contains a NUL byte');
  const blank = content.indexOf('\n\n');
  if (blank === -1) throw new SignatureError('its header does not end');
  const header = content.toString('latin1', 0, blank + 1);
  const start = beginning.exec(header);
  if (start === null) throw new SignatureError('its header is not in the format of git');
  const payload = [start[0]];
  const signature: string[] = [];
  for (const field of fieldsOf(header.slice(start[0].length))) {
    if (repeated.test(field)) throw new SignatureError('its header repeats a field');
    if (!field.startsWith('gpgsig')) payload.push(field);
    else if (field.startsWith(SIGNATURE)) signature.push(field.slice(SIGNATURE.length));
    else throw new SignatureError('it has a signature of another kind than gpgsig');
  }
  if (signature.length > 1) throw new SignatureError('it has two signatures');
  return {
    payload: Buffer.concat([Buffer.from(payload.join(''), 'latin1'), content.subarray(blank + 1)]),
    signature: signature[0]?.replaceAll('\n ', '\n'),
    committerTime: Number(start[1]),
  };
}

/** A line with a leading blank continues the previous field. */
function fieldsOf(header: string): string[] {
  if (header.startsWith(' ')) throw new SignatureError('its header is not in the format of git');
  return header.split(/(?<=\n)(?! )/);
}

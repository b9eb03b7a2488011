/** Encoder and parsers of commit objects. Encoded commits pass `git fsck --strict` for any names and messages. */
import { GitError } from '../git-error.ts';
import type { CommitMetadata, NewCommit, Person } from '../repository.ts';

/** Terminals obey control characters, also those of 8 bits, and bidirectional ones reorder a line. */
const unsafeInIdentity = /[<>\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu;
/** Characters that git strips from both ends of a name (git: `crud`). */
const crud = /[\s.,:;<>"\\']/;

export function encodeCommit(
  commit: Pick<NewCommit, 'author' | 'committer' | 'time' | 'message'>,
  tree: string,
  parents: readonly string[],
): Buffer {
  if (!Number.isSafeInteger(commit.time) || commit.time < 0) {
    throw new GitError(`${commit.time} is not the time of a commit`, {
      remedy: 'Use whole seconds since 1970',
    });
  }
  const message = commit.message.replaceAll('\0', '');
  return Buffer.from(
    [
      `tree ${tree}\n`,
      ...parents.map((parent) => `parent ${parent}\n`),
      `author ${identity(commit.author)} ${commit.time} +0000\n`,
      `committer ${identity(commit.committer)} ${commit.time} +0000\n`,
      '\n',
      message,
      message.endsWith('\n') ? '' : '\n',
    ].join(''),
    'utf8',
  );
}

/** Returns the signature of the bytes of a commit: armored, with a newline at its end. */
export type SignCommit = (payload: Buffer) => string;

function identity(person: Person): string {
  const email = clean(person.email).replaceAll(' ', '');
  const name = clean(person.name) || email.replace(/@.*/, '') || 'unknown';
  return `${name} <${email}>`;
}

function clean(text: string): string {
  const line = text.replaceAll(unsafeInIdentity, ' ');
  let start = 0;
  let end = line.length;
  // A pattern for the end would be tried at each dot of a long text.
  while (start < end && crud.test(line.charAt(start))) start += 1;
  while (start < end && crud.test(line.charAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

const rootLines = /^tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)/;

/** Tree and parents of a commit object; the rest may be malformed. */
export function rootsOfCommit(
  content: Buffer,
  id: string,
): { readonly tree: string; readonly parents: readonly string[] } {
  const end = content.indexOf('\nauthor ');
  const [, tree, parents = ''] = rootLines.exec(content.toString('latin1', 0, end + 1)) ?? [];
  if (tree === undefined) throw new GitError(`Commit ${id} is corrupt: it has no tree`);
  return { tree, parents: [...parents.matchAll(/[0-9a-f]{40}/g)].map(([parent]) => parent) };
}

export interface CommitLinks {
  readonly tree: string;
  readonly parents: readonly string[];
  /** Seconds since the epoch. */
  readonly committerTime: number;
}

const links =
  /^tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author [^\n]*\ncommitter [^\n]*> (\d{1,15}) [-+]\d{4}\n/;

/** Bytes of a message that are read, and characters of a name. A page has the metadata of many commits. */
const LONGEST_MESSAGE = 64 * 1024;
const LONGEST_NAME = 1024;

/** Author, committer, message and parents of a commit object. */
export function parseCommitMetadata(content: Buffer): CommitMetadata {
  const end = content.indexOf('\n\n');
  const head = firstLines(content).toString('utf8');
  const parents = [...head.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, id = '']) => id);
  const message = end === -1 ? '' : content.toString('utf8', end + 2, end + 2 + LONGEST_MESSAGE);
  const [author, committer] = [personIn(head, 'author'), personIn(head, 'committer')];
  const [, time] = committerTime.exec(head) ?? [];
  return { parents, author, committer, committerTime: Number(time ?? 0), message };
}

const committerTime = /^committer .*> (\d{1,15}) [-+]\d{4}$/m;

/** A commit object up to its committer, or to its message if it has none. */
function firstLines(content: Buffer): Buffer {
  const blank = content.indexOf('\n\n');
  const header = blank === -1 ? content : content.subarray(0, blank + 1);
  const committer = header.indexOf('\ncommitter ');
  const end = header.indexOf('\n', committer + 1);
  return committer === -1 || end === -1 ? header : header.subarray(0, end + 1);
}

function personIn(head: string, role: 'author' | 'committer'): Person {
  const line = new RegExp(`^${role} (.*?) ?<([^<>\\n]*)> \\d+ [-+]\\d{4}$`, 'm');
  const [, name = '', email = ''] = line.exec(head) ?? [];
  return { name: shortened(name), email: shortened(email) };
}

/** A text of its own: a slice would keep the whole line in memory. */
function shortened(text: string): string {
  return text.length > LONGEST_NAME ? Buffer.from(text.slice(0, LONGEST_NAME)).toString() : text;
}

/** Undefined for a commit in an unusual format: the caller must ask git. */
export function linksOfCommit(content: Buffer): CommitLinks | undefined {
  const [, tree, parents = '', time] = links.exec(firstLines(content).toString('latin1')) ?? [];
  if (tree === undefined) return undefined;
  return {
    tree,
    parents: [...parents.matchAll(/[0-9a-f]{40}/g)].map(([id]) => id),
    committerTime: Number(time),
  };
}

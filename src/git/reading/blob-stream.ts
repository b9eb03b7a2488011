/**
 * Bulk reader of blobs: one `git cat-file` that streams without waiting, without retries and without
 * buffering results. Any unexpected output fails the current list and those behind it; `Reader` then
 * finds the cause.
 */

import { GitError } from '../git-error.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { replies } from '../process/process-limits.ts';

/** Called once per id, in order. */
export type TakeBlob = (content: Buffer, at: number) => void;

interface List {
  readonly size: number;
  readonly take: TakeBlob;
  readonly settle: (error?: Error) => void;
  /** Number of blobs delivered. */
  taken: number;
}

const ARGS = ['cat-file', '--batch-command', '--buffer'];
const MAX_BLOB_BYTES = 8 * 1024 * 1024;
/** The length of a list is not limited; the size of each blob is. */
const LIMITS = replies(Number.POSITIVE_INFINITY);

export class BlobStream {
  readonly #context: GitContext;
  readonly #lists: List[] = [];
  #git: GitProcess | undefined;
  /** Received chunks that are not parsed yet, and the number of bytes needed to continue. */
  #parts: Buffer[] = [];
  #held = 0;
  #wanted = 1;

  constructor(context: GitContext) {
    this.#context = context;
  }

  /** Resolves when all blobs were delivered. Several lists may be in progress. */
  read(ids: readonly string[], take: TakeBlob): Promise<void> {
    if (ids.length === 0) return Promise.resolve();
    let request = '';
    for (const id of ids) {
      assertObjectId(id);
      request += `contents ${id}\n`;
    }
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error));
      this.#lists.push({ size: ids.length, take, settle, taken: 0 });
      this.#git ??= this.#start();
      if (this.#lists.length === 1) this.#git.expectReply(true);
      this.#git.stdin.write(`${request}flush\n`);
    });
  }

  close(): void {
    this.#fail(new GitError('The repository is closed'));
  }

  #start(): GitProcess {
    const git = new GitProcess(this.#context, ARGS, LIMITS);
    git.stdout.on('data', (chunk: Buffer) => {
      if (this.#git !== git) return;
      try {
        this.#push(chunk);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new GitError(String(error)));
      }
    });
    void git.ended.then((end) => {
      if (this.#git === git) this.#fail(git.error(end));
    });
    return git;
  }

  #fail(error: Error): void {
    this.#git?.kill();
    this.#git = undefined;
    this.#setRest(EMPTY, 1);
    for (const list of this.#lists.splice(0)) list.settle(error);
  }

  #push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#wanted) return;
    const data = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    let at = 0;
    for (;;) {
      const header = readHeader(data, at);
      if (header === undefined) {
        this.#setRest(data.subarray(at), 1);
        return;
      }
      const { start, size } = header;
      // A newline follows.
      const end = start + size + 1;
      if (end > data.length) {
        this.#setRest(data.subarray(at), end - data.length);
        return;
      }
      this.#take(data.subarray(start, end - 1));
      at = end;
    }
  }

  #setRest(rest: Buffer, more: number): void {
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#held = rest.length;
    this.#wanted = rest.length + more;
  }

  #take(content: Buffer): void {
    const [list] = this.#lists;
    if (list === undefined) throw new GitError('git cat-file sent more objects than requested');
    list.take(content, list.taken);
    list.taken += 1;
    if (list.taken < list.size) return;
    this.#lists.shift();
    this.#git?.expectReply(this.#lists.length > 0);
    list.settle();
  }
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const ID_LENGTH = 40;
const BLOB = Buffer.from(' blob ');

/** Parses `<id> SP blob SP <size> LF`; undefined: the header is incomplete. */
function readHeader(data: Buffer, at: number): { start: number; size: number } | undefined {
  const lf = data.indexOf(LF, at);
  if (lf < 0) return undefined;
  const type = at + ID_LENGTH;
  for (let i = 0; i < BLOB.length; i++) {
    if (data[type + i] !== BLOB[i]) throw new GitError('git cat-file sent no blob');
  }
  let size = 0;
  for (let i = type + BLOB.length; i < lf; i++) size = size * 10 + (data[i] ?? 0) - ZERO;
  if (size > MAX_BLOB_BYTES) throw new GitError('A blob is too large to be read with others');
  return { start: lf + 1, size };
}

const ZERO = 0x30;

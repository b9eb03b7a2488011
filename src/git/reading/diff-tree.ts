/**
 * The protocol of `git diff-tree --stdin`: one `<commit> <parent>` per line, or a root commit alone.
 * The reply is the id of the commit and its raw records, each ended by NUL. Git echoes a line that is
 * not an id, which marks the end of a reply.
 */
import { decodePath } from '../objects/path-text.ts';
import { replies } from '../process/process-limits.ts';
import type { PathChange } from '../repository.ts';
import type { Protocol, ReplyParser, RequestProcess } from './request-process.ts';
import { MAX_LIST_BYTES } from './tree-limits.ts';

/** A commit and one of its parents, any other commit, or nothing. */
export interface Comparison {
  readonly commit: string;
  readonly parent: string | undefined;
}

/** One list per comparison, in order; undefined if a commit is missing. */
export type DiffTreeReply = readonly (readonly PathChange[])[] | undefined;

/** Runs with GIT_FLUSH=0: git then flushes at the end mark instead of after every commit. */
export const diffTreeProtocol: Protocol<DiffTreeReply> = {
  args: [
    'diff-tree',
    '--stdin',
    '--root',
    '--always',
    '-r',
    '-z',
    '--raw',
    '--no-abbrev',
    '--no-renames',
  ],
  env: { GIT_FLUSH: '0' },
  makeParser: () => new DiffTreeParser(),
  isDoubtful: (reply) => reply === undefined,
  maxRequests: 20_000,
  // Two trees within the limits that have no path in common.
  limits: replies(2 * MAX_LIST_BYTES),
};

export async function compareCommits(
  process: RequestProcess<DiffTreeReply>,
  comparisons: readonly Comparison[],
): Promise<DiffTreeReply> {
  const lines = comparisons.map(({ commit, parent }) =>
    parent === undefined ? commit : `${commit} ${parent}`,
  );
  const lists = await process.ask([...lines, '='].join('\n'));
  return lists?.length === comparisons.length ? lists : undefined;
}

const NUL = 0;
const COLON = 0x3a;
const EQUALS = 0x3d;
const LF = 0x0a;

/** `:100644 100644 <id> <id> M` */
const RECORD_LENGTH = 98;
const ID_LENGTH = 40;
const NO_ID = '0'.repeat(ID_LENGTH);

class DiffTreeParser implements ReplyParser<DiffTreeReply> {
  #rest: Buffer = Buffer.alloc(0);
  #lists: PathChange[][] = [];
  #failed = false;

  push(chunk: Buffer, emit: (reply: DiffTreeReply) => void): void {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at < data.length) {
      const next = this.#readItem(data, at, emit);
      if (next === -1) break;
      at = next;
    }
    this.#rest = data.subarray(at);
  }

  /**
   * Reads a record, a commit id or the end mark. Returns the offset of the next item, or -1 if this one
   * is incomplete.
   */
  #readItem(data: Buffer, at: number, emit: (reply: DiffTreeReply) => void): number {
    switch (data[at]) {
      case COLON:
        return this.#readRecord(data, at);
      case EQUALS:
        if (data[at + 1] !== LF) return -1;
        emit(this.#failed || this.#lists.length === 0 ? undefined : this.#lists);
        this.#lists = [];
        this.#failed = false;
        return at + 2;
      default:
        return this.#readId(data, at);
    }
  }

  /** `<commit> NUL`. Two trees are echoed as `<tree> SP <tree> LF` instead: not a commit. */
  #readId(data: Buffer, at: number): number {
    const end = at + ID_LENGTH;
    if (end >= data.length) return -1;
    if (data[end] === NUL) {
      this.#lists.push([]);
      return end + 1;
    }
    this.#failed = true;
    return data.indexOf(LF, end) + 1 || -1;
  }

  #readRecord(data: Buffer, at: number): number {
    const start = at + RECORD_LENGTH + 1;
    const end = data.indexOf(NUL, start);
    if (end === -1) return -1;
    const record = data.toString('latin1', at, at + RECORD_LENGTH);
    this.#lists.at(-1)?.push(parseRecord(record, data.subarray(start, end)));
    return end + 1;
  }
}

function parseRecord(record: string, path: Buffer): PathChange {
  const oldId = record.slice(15, 55);
  const newId = record.slice(56, 96);
  return {
    path: decodePath(path),
    ...(oldId !== NO_ID && { oldId }),
    ...(newId !== NO_ID && { newId }),
    mode: record.slice(8, 14),
  };
}

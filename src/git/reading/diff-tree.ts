/**
 * The protocol of `git diff-tree --stdin`: one `<commit> <parent>` per line, or a root commit alone.
 * The reply is the id of the commit and its raw records, each ended by NUL. Git echoes a line that is
 * not an id, which marks the end of a reply.
 */
import { decodePath } from '../objects/path-text.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import { replies } from '../process/process-limits.ts';
import type { PathChange, PathSelection } from '../repository.ts';
import { pathspecEnv, pathspecs } from './path-selection.ts';
import type { Protocol, ReplyParser, RequestProcess } from './request-process.ts';
import { MAX_LIST_BYTES } from './tree-limits.ts';

/** A commit and one of its parents, any other commit, or nothing. */
export interface Comparison {
  readonly commit: string;
  readonly parent: string | undefined;
}

/** One list per comparison, in order; undefined if a commit is missing. */
export type DiffTreeReply = readonly (readonly PathChange[])[] | undefined;

const RAW = ['-r', '-z', '--raw', '--no-abbrev', '--no-renames'] as const;
/** Git knows it without an object. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Runs with GIT_FLUSH=0: git then flushes at the end mark instead of after every commit. */
export const diffTreeProtocol: Protocol<DiffTreeReply> = {
  args: ['diff-tree', '--stdin', '--root', '--always', ...RAW],
  env: { GIT_FLUSH: '0' },
  makeParser: () => new DiffTreeParser(),
  isDoubtful: (reply) => reply === undefined,
  maxRequests: 20_000,
  // Two trees within the limits that have no path in common.
  limits: replies(2 * MAX_LIST_BYTES),
};

/** Selected files of a commit, as additions. */
export async function selectedAdditions(
  context: GitContext,
  commit: string,
  paths: PathSelection,
): Promise<PathChange[]> {
  const env = { ...context.env, ...pathspecEnv };
  const args = ['diff-tree', ...RAW, EMPTY_TREE, commit, ...pathspecs(paths)];
  const output = await runGit({ ...context, env }, args);
  let reply: DiffTreeReply;
  const parser = new DiffTreeParser();
  for (const part of [Buffer.from(`${commit}\0`), output, Buffer.from('=\n')]) {
    parser.push(part, (parsed) => {
      reply = parsed;
    });
  }
  return [...(reply?.[0] ?? [])];
}

/** The same for some paths. Git itself then needs memory for these alone. */
export function diffTreeOf(paths: PathSelection | undefined): Protocol<DiffTreeReply> {
  if (paths === undefined) return diffTreeProtocol;
  const { args, env } = diffTreeProtocol;
  return {
    ...diffTreeProtocol,
    args: [...args, ...pathspecs(paths)],
    env: { ...env, ...pathspecEnv },
  };
}

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
/** Ids and modes that a list shares: one tree can have the same blob a million times. */
const SHARED_TEXTS = 1000;

class DiffTreeParser implements ReplyParser<DiffTreeReply> {
  #rest: Buffer = Buffer.alloc(0);
  #lists: PathChange[][] = [];
  #failed = false;
  readonly #texts = new Map<string, string>();

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
    const text = (from: number, to: number): string =>
      this.#shared(data.toString('latin1', at + from, at + to));
    const [mode, oldId, newId] = [text(8, 14), text(15, 55), text(56, 96)];
    this.#lists
      .at(-1)
      ?.push(changeOf(decodePath(data.subarray(start, end)), mode, { oldId, newId }));
    return end + 1;
  }

  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= SHARED_TEXTS) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}

/** Literals without a spread take half of the memory, and there can be a million of them. */
function changeOf(
  path: string,
  mode: string,
  { oldId, newId }: Required<Pick<PathChange, 'oldId' | 'newId'>>,
): PathChange {
  if (oldId === NO_ID) return { path, newId, mode };
  if (newId === NO_ID) return { path, oldId, mode };
  return { path, oldId, newId, mode };
}

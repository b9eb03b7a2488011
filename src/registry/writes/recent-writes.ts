/**
 * Idempotency keys of recent writes, read from their commits, so that a new leader knows them too.
 */
import type { ObjectKey } from '../../apimachinery/index.ts';
import { type GitContext, gitLines } from '../../git/index.ts';
import { COMMITTER } from './commit-message.ts';

/** A write that became a commit. */
export interface RecentWrite {
  readonly user: string;
  readonly idempotencyKey: string;
  /** `create`, `update`, … */
  readonly verb: string;
  /** Commits do not record the group. */
  readonly key: Omit<ObjectKey, 'group'> & { readonly group?: string };
  /** Of the request. Older commits and those of secrets have none. */
  readonly digest?: string | undefined;
  readonly commit: string;
}

const MAX_COMMITS = 10_000;
/** Writes of the API have less than a tenth of it. */
const MAX_BYTES = 64 * 1024 * 1024;

export class RecentWrites {
  readonly #writes = new Map<string, RecentWrite[]>();
  #count = 0;

  /** Reads the newest commits of a branch. Their order counts, not the clocks of their authors. */
  async read(repository: GitContext, head: string | undefined): Promise<void> {
    if (head === undefined) return;
    const args = ['log', `--max-count=${MAX_COMMITS}`, FORMAT, head];
    for (const entry of (await newestText(repository, args)).split(END).reverse()) {
      const write = readEntry(entry.trim());
      if (write !== undefined) this.record(write);
    }
  }

  record(write: RecentWrite): void {
    const id = idOf(write.user, write.idempotencyKey);
    const before = this.#writes.get(id) ?? [];
    if (before.some((known) => isSame(known, write))) return;
    // Moves the entry to the end: the oldest entries are evicted first.
    this.#writes.delete(id);
    this.#writes.set(id, [...before, write]);
    this.#count++;
    while (this.#count > MAX_COMMITS) {
      const [oldest] = this.#writes;
      if (oldest === undefined) return;
      this.#count -= oldest[1].length;
      this.#writes.delete(oldest[0]);
    }
  }

  /** True if the key came with a different request. */
  isOfAnother(user: string, idempotencyKey: string, digest: string): boolean {
    const writes = this.#writes.get(idOf(user, idempotencyKey)) ?? [];
    return writes.some((write) => write.digest !== undefined && write.digest !== digest);
  }

  /** An empty name matches any: the server may have generated it. */
  find(
    user: string,
    idempotencyKey: string,
    wanted: { readonly verbs: readonly string[]; readonly key: ObjectKey },
  ): RecentWrite | undefined {
    const { verbs, key } = wanted;
    return this.#writes
      .get(idOf(user, idempotencyKey))
      ?.findLast(
        (write) =>
          verbs.includes(write.verb) &&
          (write.key.group ?? key.group) === key.group &&
          write.key.kind === key.kind &&
          write.key.namespace === key.namespace &&
          (key.name === '' || write.key.name === key.name),
      );
  }
}

/** Output of git as far as it is read: pushed commits have subjects and names of any length. */
async function newestText(repository: GitContext, args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  let bytes = 0;
  for await (const line of gitLines(repository, args)) {
    bytes += line.length;
    if (bytes > MAX_BYTES) break;
    lines.push(line);
  }
  return Buffer.from(lines.join('\n'), 'latin1').toString();
}

function isSame(one: RecentWrite, other: RecentWrite): boolean {
  return one.commit === other.commit && one.verb === other.verb && one.key.name === other.key.name;
}

function idOf(user: string, idempotencyKey: string): string {
  // As written in the trailer.
  return `${user}\0${idempotencyKey.replace(/[\p{Cc}\s]+/gu, ' ').trim()}`;
}

const END = '\x1e';
const trailer = (name: string): string => `%(trailers:key=${name},valueonly)`;
const FORMAT = `--format=%H%x00%an%x00%cn%x00%s%x00${trailer('Idempotency-Key')}%x00${trailer('Idempotency-Digest')}%x1e`;
const SUBJECT = /^(\S+) (\S+) "(?:([^"/]+)\/)?([^"/]+)"/;

/** Former versions wrote 64 bits, too few to distinguish requests: treated as absent. */
const FORMER = /^([0-9a-f]{16})?$/;

function readEntry(entry: string): RecentWrite | undefined {
  const [commit = '', user = '', committer, subject = '', ...trailers] = entry.split('\0');
  const [idempotencyKey = '', digest = ''] = trailers.map((value) => value.trim());
  const match = SUBJECT.exec(subject);
  if (match === null || idempotencyKey === '' || committer !== COMMITTER.name) return undefined;
  const [, verb = '', kind = '', namespace = '', name = ''] = match;
  const key = { kind, namespace, name };
  return {
    user,
    idempotencyKey,
    verb,
    key,
    commit,
    digest: FORMER.test(digest) ? undefined : digest,
  };
}

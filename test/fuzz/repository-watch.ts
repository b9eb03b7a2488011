/** The hosted repository as anybody with a clone sees it, read by git itself. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { gitEnv } from '../support/git.ts';
import { BRANCH, type Moment } from './push-client.ts';

const run = promisify(execFile);

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const MOST_RECENT = 12;
const CONTROL_FILES = ['.sops.yaml', '.gitplaneignore', '.gitattributes'];

export interface ChangedFile {
  readonly path: string;
  /** Undefined, as the text is: the file is gone. */
  readonly id: string | undefined;
  readonly text: string | undefined;
}

export interface Move {
  /** Files that the new commits have, those of pushed commits below a merge too. */
  readonly files: readonly ChangedFile[];
  /** Commits as git stores them: trailers, authors and messages. */
  readonly commits: readonly string[];
  /** Ids of the new commits below the newest one, parents after their children. */
  readonly inner: readonly string[];
  /** True if a control file changed, or a commit below a merge changed one. */
  readonly steers: boolean;
}

export class RepositoryWatch {
  /** `path → blob` of the newest commit that was looked at. */
  readonly files = new Map<string, string>();
  head = '';
  /** Commits that were tips of the branch, with their files, the newest last. */
  readonly past: Moment[] = [];
  /** Commits that were pushed to other refs. */
  readonly aside: Moment[] = [];
  /** Commit that `file` reads. */
  at: Moment = { head: '', files: new Map() };
  /** Files with sealed values, as they ever were. */
  readonly sealed: string[] = [];
  /** `path → [name, hash]` of the keys in a file. */
  readonly #keys = new Map<string, [string, string][]>();
  /** Commits that the branch has. */
  readonly #seen = new Set<string>();
  readonly #gitDir: string;
  readonly #batch: ChildProcess;
  #received = Buffer.alloc(0);
  #waiting: { take(text: string): void }[] = [];

  readonly #ref: string;

  constructor(gitDir: string, ref = BRANCH) {
    this.#gitDir = gitDir;
    this.#ref = ref;
    this.#batch = spawn('git', ['cat-file', '--batch'], {
      cwd: gitDir,
      env: gitEnv,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#batch.stdout?.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#answer();
    });
  }

  close(): void {
    this.#batch.stdin?.end();
  }

  /** The id that the branch has now. A branch that is not there is the one that it comes from. */
  newest(): string {
    return this.#read(this.#ref) || this.#read(BRANCH);
  }

  #read(ref: string): string {
    try {
      return readFileSync(join(this.#gitDir, ref), 'utf8').trim();
    } catch {
      const path = join(this.#gitDir, 'packed-refs');
      const packed = existsSync(path) ? readFileSync(path, 'utf8') : '';
      return new RegExp(`^([0-9a-f]{40}) ${ref}$`, 'm').exec(packed)?.[1] ?? '';
    }
  }

  /** The newest tips of the branch. */
  get recent(): readonly Moment[] {
    return this.past.slice(-MOST_RECENT);
  }

  /** Follows the branch to a commit and tells what the way there changed. */
  async follow(head: string): Promise<Move> {
    const found = await this.#unseen(head);
    const files: ChangedFile[] = [];
    let steers = false;
    for (const { id, parents } of found) {
      if (id === head) continue;
      const own = await this.#changed(parents[0] ?? EMPTY_TREE, id);
      files.push(...own);
      // Beside its first parent, a merge has what others did.
      if (parents.length === 1) steers ||= own.some(isControlFile);
    }
    const moved = head === this.head ? [] : await this.#changed(this.head || EMPTY_TREE, head);
    for (const { path, id, text } of moved) {
      if (id === undefined) this.files.delete(path);
      else this.files.set(path, id);
      this.#keys.set(path, keysIn(text ?? ''));
    }
    files.push(...moved);
    steers ||= moved.some(isControlFile);
    for (const { text } of files) if (text?.includes('ENC[AES256_GCM')) this.sealed.push(text);
    this.head = head;
    this.at = { head, files: new Map(this.files) };
    this.past.push(this.at);
    const inner = found.flatMap(({ id }) => (id === head ? [] : [id]));
    return { files, commits: found.map(({ text }) => text), inner, steers };
  }

  /** True if a commit is one of the few next ones. */
  async isAhead(head: string): Promise<boolean> {
    let id = head;
    for (let depth = 0; depth < MOST_RECENT && id !== this.head && id !== ''; depth++) {
      id = /^parent ([0-9a-f]{40})$/m.exec(await this.object(id))?.[1] ?? '';
    }
    return id === this.head;
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    const words = ['merge-base', '--is-ancestor', commit, of];
    const found = run('git', words, { cwd: this.#gitDir, env: gitEnv });
    return await found.then(
      () => true,
      () => false,
    );
  }

  /** Commits that were not looked at yet, parents after their children. */
  async #unseen(head: string): Promise<{ id: string; parents: string[]; text: string }[]> {
    const found: { id: string; parents: string[]; text: string }[] = [];
    const waiting = [head];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      const text = await this.object(id);
      const parents = [...text.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, one = '']) => one);
      found.push({ id, parents, text });
      waiting.push(...parents);
    }
    return found;
  }

  /** Files in which two commits differ, as the second one has them. */
  async #changed(from: string, to: string): Promise<ChangedFile[]> {
    const words = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, to];
    const { stdout } = await run('git', words, { cwd: this.#gitDir, env: gitEnv });
    const files: ChangedFile[] = [];
    const parts = stdout.split('\0');
    for (let at = 0; at + 1 < parts.length; at += 2) {
      const [, , , id = '', status] = (parts[at] ?? '').split(' ');
      const path = parts[at + 1] ?? '';
      if (status === 'D') files.push({ path, id: undefined, text: undefined });
      else files.push({ path, id, text: await this.object(id) });
    }
    return files;
  }

  /** The hash of each access key, by the name of its object. */
  keyHashes(): Map<string, string> {
    return new Map([...this.#keys.values()].flat());
  }

  /** The content of a file of the commit `at`; undefined: there is none. */
  async file(path: string): Promise<string | undefined> {
    const id = this.at.files.get(path);
    return id === undefined ? undefined : await this.object(id);
  }

  object(id: string): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.push({ take: resolve });
      this.#batch.stdin?.write(`${id}\n`);
    });
  }

  #answer(): void {
    for (;;) {
      const end = this.#received.indexOf(10);
      if (end < 0) return;
      const [, type, size] = this.#received.toString('latin1', 0, end).split(' ');
      const length = type === 'missing' ? -1 : Number(size);
      if (this.#received.length < end + 1 + length + 1) return;
      const text = this.#received.toString('utf8', end + 1, end + 1 + Math.max(length, 0));
      this.#received = this.#received.subarray(end + 1 + length + 1);
      this.#waiting.shift()?.take(text);
    }
  }
}

function isControlFile({ path }: ChangedFile): boolean {
  return CONTROL_FILES.includes(path);
}

function keysIn(text: string): [string, string][] {
  if (!text.includes('OwnedAccessKey')) return [];
  return parseAllDocuments(text).flatMap((doc): [string, string][] => {
    const hash = doc.getIn(['spec', 'key']);
    return typeof hash === 'string' ? [[String(doc.getIn(['metadata', 'name'])), hash]] : [];
  });
}

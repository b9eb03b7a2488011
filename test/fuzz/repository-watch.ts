/** The hosted repository as anybody with a clone sees it, read by git itself. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { gitEnv } from '../support/git.ts';

const run = promisify(execFile);

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const MOST_COMMITS = 200;
const MOST_RECENT = 12;

export interface ChangedFile {
  readonly path: string;
  /** Undefined: the file is gone. */
  readonly text: string | undefined;
}

/** A commit, and `path → blob` of it. */
export interface Moment {
  readonly head: string;
  readonly files: ReadonlyMap<string, string>;
}

export interface Move {
  readonly files: readonly ChangedFile[];
  /** Commits as git stores them: trailers, authors and messages. */
  readonly commits: readonly string[];
}

export class RepositoryWatch {
  /** `path → blob` of the newest commit that was looked at. */
  readonly files = new Map<string, string>();
  head = '';
  /** The newest commits that were looked at, with their files. */
  readonly recent: Moment[] = [];
  /** Commit that `file` reads. */
  at: Moment = { head: '', files: new Map() };
  /** Files with sealed values, as they ever were. */
  readonly sealed: string[] = [];
  /** `path → [name, hash]` of the keys in a file. */
  readonly #keys = new Map<string, [string, string][]>();
  readonly #gitDir: string;
  readonly #batch: ChildProcess;
  #received = Buffer.alloc(0);
  #waiting: { take(text: string): void }[] = [];

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
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

  /** The id that the branch has now. */
  newest(): string {
    try {
      return readFileSync(join(this.#gitDir, 'refs/heads/main'), 'utf8').trim();
    } catch {
      const packed = readFileSync(join(this.#gitDir, 'packed-refs'), 'utf8');
      return /^([0-9a-f]{40}) refs\/heads\/main$/m.exec(packed)?.[1] ?? '';
    }
  }

  /** Follows the branch to a commit and tells what the way there changed. */
  async follow(head: string): Promise<Move> {
    const chain: { id: string; text: string }[] = [];
    for (let id = head; id !== this.head && chain.length < MOST_COMMITS; ) {
      const text = await this.object(id);
      chain.unshift({ id, text });
      const parent = /^parent ([0-9a-f]{40})$/m.exec(text)?.[1];
      if (parent === undefined) break;
      id = parent;
    }
    const files: ChangedFile[] = [];
    let from = this.head === '' ? EMPTY_TREE : this.head;
    for (const { id } of chain) {
      files.push(...(await this.#changed(from, id)));
      from = id;
    }
    this.head = head;
    this.at = { head, files: new Map(this.files) };
    this.recent.push(this.at);
    if (this.recent.length > MOST_RECENT) this.recent.shift();
    return { files, commits: chain.map(({ text }) => text) };
  }

  /** Notes what one commit changed. */
  async #changed(from: string, head: string): Promise<ChangedFile[]> {
    const words = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, head];
    const { stdout } = await run('git', words, { cwd: this.#gitDir, env: gitEnv });
    const files: ChangedFile[] = [];
    const parts = stdout.split('\0');
    for (let at = 0; at + 1 < parts.length; at += 2) {
      const [, , , id = '', status] = (parts[at] ?? '').split(' ');
      const path = parts[at + 1] ?? '';
      if (status === 'D') {
        this.files.delete(path);
        this.#keys.delete(path);
        files.push({ path, text: undefined });
      } else {
        this.files.set(path, id);
        const text = await this.object(id);
        files.push({ path, text });
        if (text.includes('ENC[AES256_GCM')) this.sealed.push(text);
        this.#keys.set(path, keysIn(text));
      }
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

function keysIn(text: string): [string, string][] {
  if (!text.includes('OwnedAccessKey')) return [];
  return parseAllDocuments(text).flatMap((doc): [string, string][] => {
    const hash = doc.getIn(['spec', 'key']);
    return typeof hash === 'string' ? [[String(doc.getIn(['metadata', 'name'])), hash]] : [];
  });
}

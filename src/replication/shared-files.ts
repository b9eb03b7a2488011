/**
 * Files that all replicas share, such as the key that opens sealed secrets: sealed with the state
 * key in etcd, plain in the data directory of each replica, readable only by its user. The leader
 * defines their contents; the followers copy them.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OWNER_ONLY, replaceFile } from '../auth/index.ts';
import { Mutex } from '../concurrency/index.ts';
import type { Etcd, KeyValue } from '../etcd/index.ts';
import type { RecordCodec } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { followKeys, type KeyFollower } from './follow-keys.ts';
import type { Term } from './term.ts';
import { transactInTerm } from './transact.ts';

export interface SharedFilesOptions {
  readonly etcd: Etcd;
  /** Key prefix in etcd; ends with a slash. */
  readonly secrets: string;
  readonly codec: Pick<RecordCodec, 'encode' | 'decode'>;
  /** The data directory. */
  readonly root: string;
  readonly logger: Logger;
}

interface SharedFile {
  readonly text: string;
  /** Time of creation in milliseconds since the epoch: some files are used by their age. */
  readonly madeAt: number;
}

/** Names of the shared files; no other file is read or written. */
const SHARED = [
  /^(?:age\.key|hook\.secret|admin\.token)$/,
  /^token-signing(?:\.\d+)?\.key$/,
  /^oidc\/[\w-]+(?:\.\d+)?\.key$/,
  /^(?:tls|peers)\/ca\.(?:key|crt)$/,
];
/** Signing keys rotate; other files are never removed from etcd because a disk lacks them. */
const REMOVABLE = [/^token-signing/, /^oidc\//];
const FOLDERS = ['', 'oidc/', 'tls/', 'peers/'];
const LOOK_EVERY_MS = 1_000;

export class SharedFiles {
  readonly #options: SharedFilesOptions;
  #follower: KeyFollower | undefined;
  readonly #taking = new Mutex();

  constructor(options: SharedFilesOptions) {
    this.#options = options;
  }

  /** Copies the current files from etcd. */
  async pull(): Promise<void> {
    const { etcd, secrets } = this.#options;
    const { kvs } = await etcd.range({ key: secrets, prefix: true });
    for (const kv of kvs) await this.#take(kv);
  }

  /** Copies later changes. */
  follow(): void {
    const { etcd, secrets, logger } = this.#options;
    const take = (kv: KeyValue): void => {
      this.#taking
        .run(() => this.#take(kv))
        .catch((err: unknown) => logger.error({ err }, 'A shared file cannot be written'));
    };
    this.#follower = followKeys(
      etcd,
      { key: secrets, prefix: true },
      {
        reset: (kvs) => kvs.forEach(take),
        changed: ({ type, kv }) => {
          if (type === 'put') take(kv);
        },
      },
    );
  }

  async close(): Promise<void> {
    await this.#follower?.close();
    await this.#taking.idle();
  }

  /** Called by the leader: writes missing and changed files to etcd. */
  async push(term: Pick<Term, 'fence'>): Promise<void> {
    const { etcd, secrets, codec } = this.#options;
    const there = await etcd.range({ key: secrets, prefix: true });
    const known = new Map(there.kvs.map((kv) => [kv.key.slice(secrets.length), kv]));
    const present = await this.#present();
    for (const name of present) {
      const file = await this.#read(name);
      const kv = known.get(name);
      if (kv !== undefined && this.#open(name, kv).text === file.text) continue;
      const value = codec.encode(`secrets/${name}`, JSON.stringify(file), true);
      await transactInTerm(etcd, term.fence, [{ put: secrets + name, value }]);
    }
    for (const name of known.keys()) {
      if (present.includes(name) || !REMOVABLE.some((pattern) => pattern.test(name))) continue;
      await transactInTerm(etcd, term.fence, [{ remove: secrets + name }]);
    }
  }

  /**
   * Called by the leader: shares new files soon after they appear. Returns a function that stops
   * it.
   */
  keepPushing(term: Term): () => Promise<void> {
    const { logger } = this.#options;
    const mutex = new Mutex();
    let seen = '';
    const look = async (): Promise<void> => {
      const now = (await this.#present()).join('\n');
      if (now === seen || !term.isHeld()) return;
      await this.push(term);
      seen = now;
    };
    const timer = setInterval(() => {
      mutex.run(look).catch((err: unknown) => {
        if (term.isHeld()) logger.warn({ err }, 'Files cannot be shared; trying again');
      });
    }, LOOK_EVERY_MS).unref();
    return async () => {
      clearInterval(timer);
      await mutex.idle();
    };
  }

  async #present(): Promise<string[]> {
    const { root } = this.#options;
    const names: string[] = [];
    for (const folder of FOLDERS) {
      const found = await readdir(join(root, folder)).catch(() => []);
      names.push(...found.map((name) => folder + name).filter(isShared));
    }
    return names.sort();
  }

  async #read(name: string): Promise<SharedFile> {
    const path = join(this.#options.root, name);
    const text = await readFile(path, 'utf8');
    return { text, madeAt: Math.round((await stat(path)).mtimeMs) };
  }

  async #take(kv: KeyValue): Promise<void> {
    const name = kv.key.slice(this.#options.secrets.length);
    if (!isShared(name)) return;
    const { text, madeAt } = this.#open(name, kv);
    const path = join(this.#options.root, name);
    const present = await readFile(path, 'utf8').catch(() => undefined);
    if (present === text) return;
    if (present !== undefined) await this.#putAside(path);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, text, OWNER_ONLY);
    await utimes(path, madeAt / 1000, madeAt / 1000);
  }

  /** The file of a replica before it joined may be the only key to some data. */
  async #putAside(path: string): Promise<void> {
    const aside = `${path}.before-${randomBytes(4).toString('hex')}`;
    await rename(path, aside);
    this.#options.logger.warn(
      { path, aside },
      'A file was replaced by the one that replicas share',
    );
  }

  #open(name: string, kv: KeyValue): SharedFile {
    const { codec } = this.#options;
    try {
      return JSON.parse(codec.decode(`secrets/${name}`, kv.value).toString());
    } catch (cause) {
      const why = 'was sealed with another key: give every replica the same --state-key';
      throw new Error(`${name} in etcd ${why}`, { cause });
    }
  }
}

function isShared(name: string): boolean {
  return SHARED.some((pattern) => pattern.test(name));
}

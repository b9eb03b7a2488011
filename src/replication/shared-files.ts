/**
 * Files that every replica must have alike, such as the key that opens sealed secrets: sealed with
 * the state key in etcd, plain in the data directory of each replica, for its user alone. The
 * replica that leads says what is in them; the others take what they find.
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
  /** Where they are in etcd; ends with a slash. */
  readonly secrets: string;
  readonly codec: Pick<RecordCodec, 'encode' | 'decode'>;
  /** The data directory. */
  readonly root: string;
  readonly logger: Logger;
}

interface SharedFile {
  readonly text: string;
  /** When it was made, in milliseconds since the epoch: some files are used by their age. */
  readonly madeAt: number;
}

/** Which files of the data directory are shared: nothing else is ever read or written. */
const SHARED = [
  /^(?:age\.key|hook\.secret|admin\.token)$/,
  /^token-signing(?:\.\d+)?\.key$/,
  /^oidc\/[\w-]+(?:\.\d+)?\.key$/,
  /^(?:tls|peers)\/ca\.(?:key|crt)$/,
];
/** Keys that sign tokens follow on each other; nothing else goes because a disk does not have it. */
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

  /** Takes what is in etcd now. */
  async pull(): Promise<void> {
    const { etcd, secrets } = this.#options;
    const { kvs } = await etcd.range({ key: secrets, prefix: true });
    for (const kv of kvs) await this.#take(kv);
  }

  /** Takes what comes from now on. */
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

  /** As the leader: puts what is here and not there, or not the same. */
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

  /** As the leader: files that are made later are shared soon after. Returns the way to stop. */
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

  /** What a replica had before it joined may be the only thing that opens something. */
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
      return JSON.parse(codec.decode(`secrets/${name}`, kv.value).toString()) as SharedFile;
    } catch (cause) {
      const why = 'was sealed with another key: give every replica the same --state-key';
      throw new Error(`${name} in etcd ${why}`, { cause });
    }
  }
}

function isShared(name: string): boolean {
  return SHARED.some((pattern) => pattern.test(name));
}

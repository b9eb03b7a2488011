/**
 * The keys that `gitplane login` got, one file a login, readable by their owner alone. The kubeconfig
 * names the login and holds no key.
 */
import { mkdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../apimachinery/index.ts';
import { readIfThere, replaceFile } from '../auth/index.ts';
import { removeTemporariesIn } from '../files/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';

export interface SavedLogin {
  /** Of the context in the kubeconfig as well. */
  readonly name: string;
  /** `https://platform.example.com`. */
  readonly server: string;
  /** Path of the API root below it. */
  readonly apiRoot: string;
  /** PEM; absent: whom the system trusts. */
  readonly caPem?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly user: string;
  readonly accessKey: string;
  /** RFC 3339; absent: it does not end. */
  readonly expirationTimestamp?: string | undefined;
  /** True if the platform made the key for this login; a logout then revokes it. */
  readonly isOurs: boolean;
}

export class LoginStore {
  readonly #folder: string;

  constructor(options: ParsedOptions) {
    const { XDG_CONFIG_HOME: config, HOME: home } = options.environment;
    const base =
      options.text('config-dir') ?? join(config || join(home ?? '.', '.config'), 'gitplane');
    this.#folder = join(base, 'logins');
  }

  async save(login: SavedLogin): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    removeTemporariesIn(this.#folder);
    await replaceFile(this.#file(login.name), `${JSON.stringify(login, null, 2)}\n`);
  }

  async find(name: string): Promise<SavedLogin | undefined> {
    const text = await readIfThere(this.#file(name));
    if (text === undefined) return undefined;
    const login = parsed(text);
    if (login !== undefined) return login;
    throw new Error(`${this.#file(name)} is not a login of gitplane; remove it and sign in again`);
  }

  async remove(name: string): Promise<void> {
    await unlink(this.#file(name)).catch((error: { code?: string }) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  #file(name: string): string {
    return join(this.#folder, `${checkedName(name)}.json`);
  }
}

/** It becomes the name of a file. */
export function checkedName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/.test(name)) return name;
  throw new UsageError(
    `Cannot use the name "${name}": write letters, digits, ".", "_", "@" and "-", a letter or a digit first`,
  );
}

function isSavedLogin(value: unknown): value is SavedLogin {
  const needed = ['name', 'server', 'apiRoot', 'user', 'accessKey'];
  return isRecord(value) && needed.every((field) => typeof value[field] === 'string');
}

function parsed(text: string): SavedLogin | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isSavedLogin(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

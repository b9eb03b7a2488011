/** The folder of manifests that a command works on: its `.sops.yaml`, its files, its keys. */
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { systemClock } from '../apimachinery/index.ts';
import { readIfThere } from '../auth/index.ts';
import { type FileReader, fileReader } from '../catalog/index.ts';
import { removeTemporariesIn, temporaryPath } from '../files/index.ts';
import { buildKindTable, type KindTable } from '../kinds/index.ts';
import { IGNORE_FILE, pathFilter, SOPS_CONFIG } from '../manifests/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { Sealer } from '../registry/index.ts';
import {
  Keyring,
  type PgpKeys,
  parseIdentities,
  parseSopsConfig,
  type SopsConfig,
} from '../sealing/index.ts';
import { openGpgKeyring, SignatureFileError } from '../signatures/index.ts';
import { manifestPaths } from './manifest-paths.ts';

/** Key file of a daemon in this folder. */
const OWN_KEY = 'data/age.key';
/** Usual file of public keys beside `.sops.yaml`. */
const PGP_KEYS = '.sops.pub.asc';

/**
 * The identities that `--age-key-file` names, or those of a daemon in this folder. Without any,
 * sealing works and opening does not.
 */
export async function keyringOf(options: ParsedOptions): Promise<Keyring> {
  const given = options.all('age-key-file').filter((file) => file !== '');
  const shared = options.text('age-key-file') ?? '';
  const files = given.length > 0 || shared === '' ? given : [shared];
  const named = files.length > 0 ? files : existsSync(OWN_KEY) ? [OWN_KEY] : [];
  const identities: string[] = [];
  for (const file of named) {
    const text = await readIfThere(file);
    if (text === undefined) throw new UsageError(`Cannot read ${file}: it does not exist`);
    identities.push(...parseIdentities(text));
  }
  return await Keyring.open(identities);
}

/** The public keys that `--pgp-keys` names, or those beside `.sops.yaml`. */
async function pgpKeysOf(options: ParsedOptions, root: string): Promise<PgpKeys | undefined> {
  const beside = join(root, PGP_KEYS);
  const file = options.text('pgp-keys') ?? (existsSync(beside) ? beside : undefined);
  if (file === undefined) return undefined;
  const home = await mkdtemp(join(tmpdir(), 'gitplane-gpg-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  try {
    return await openGpgKeyring(file, home);
  } catch (error) {
    if (!(error instanceof SignatureFileError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

export interface TreeFile {
  /** Below the root. */
  readonly path: string;
  readonly text: string;
}

export class SealedTree {
  readonly root: string;
  readonly keyring: Keyring;
  readonly kinds: KindTable;
  readonly reader: FileReader;
  readonly sealer: Sealer;
  /** Public keys of PGP recipients; undefined: none is here. */
  readonly pgpKeys: PgpKeys | undefined;
  readonly #targets: readonly string[];
  /** Folders without files that a killed command left: they may be in the clear. */
  readonly #cleaned = new Set<string>();

  private constructor(of: {
    root: string;
    keyring: Keyring;
    kinds: KindTable;
    targets: readonly string[];
    pgpKeys: PgpKeys | undefined;
  }) {
    const { root, keyring, kinds, targets } = of;
    this.root = root;
    this.keyring = keyring;
    this.kinds = kinds;
    this.#targets = targets;
    this.reader = fileReader(kinds, '', { keyring, mindsClear: true });
    this.pgpKeys = of.pgpKeys;
    const forOthers = true as const;
    this.sealer = new Sealer({
      keyring,
      kinds,
      clock: systemClock,
      forOthers,
      pgpKeys: of.pgpKeys,
    });
  }

  /** Of the folder above the operands that holds `.sops.yaml`, else `.git`. */
  static async open(options: ParsedOptions, operands: readonly string[]): Promise<SealedTree> {
    const targets = (operands.length > 0 ? operands : ['.']).map((path) => resolve(path));
    for (const target of targets) {
      if (!existsSync(target)) throw new UsageError(`Cannot read ${target}: there is no such file`);
    }
    const [first = process.cwd()] = targets;
    const start = (await stat(first)).isDirectory() ? first : dirname(first);
    const root = above(start, SOPS_CONFIG) ?? above(start, '.git') ?? start;
    const outside = targets.find((target) => target !== root && !target.startsWith(root + sep));
    if (outside !== undefined) throw new UsageError(`${outside} is not below ${root}`);
    const kinds = buildKindTable(options.required('api-group'));
    const keyring = await keyringOf(options);
    return new SealedTree({
      root,
      keyring,
      kinds,
      targets,
      pgpKeys: await pgpKeysOf(options, root),
    });
  }

  get configFile(): string {
    return join(this.root, SOPS_CONFIG);
  }

  /** Throws UsageError where there is none, SealingError where it is wrong. */
  async config(): Promise<{ text: string; config: SopsConfig }> {
    const text = await readIfThere(this.configFile);
    if (text !== undefined) return { text, config: parseSopsConfig(text) };
    throw new UsageError(
      `There is no ${SOPS_CONFIG} in ${this.root}: make one with "gitplane seal --init --recipient age1…"`,
    );
  }

  /** Context of a file for the sealer. */
  async place(path: string): Promise<Parameters<Sealer['sealFile']>[0]> {
    const { text } = await this.config();
    const content = Buffer.from(text);
    const blob = content.toString('base64');
    const repository = { readBlobs: async () => [content] };
    return { path, sealing: { configs: { [SOPS_CONFIG]: blob } }, repository };
  }

  /** The manifests among the targets. */
  async *files(): AsyncIterable<TreeFile> {
    const ignored = await readIfThere(join(this.root, IGNORE_FILE));
    const filter = pathFilter('', ignored);
    for await (const path of manifestPaths(this.root, filter)) {
      const file = join(this.root, path);
      const isMeant = this.#targets.some(
        (target) => file === target || file.startsWith(target + sep),
      );
      if (isMeant) yield { path, text: await readFile(file, 'utf8') };
    }
  }

  /** All or nothing: a crash leaves the old file or the new one. */
  async write(path: string, text: string): Promise<void> {
    const file = join(this.root, path);
    const folder = dirname(file);
    if (!this.#cleaned.has(folder)) removeTemporariesIn(folder);
    this.#cleaned.add(folder);
    const beside = temporaryPath(file);
    const mode = existsSync(file) ? (await stat(file)).mode : 0o644;
    await writeFile(beside, text, { mode });
    await rename(beside, file);
  }

  /** As seen from where the command runs. */
  shown(path: string): string {
    const shown = relative(process.cwd(), join(this.root, path));
    return shown.startsWith('..') ? join(this.root, path) : shown;
  }
}

function above(start: string, name: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** `backup.json` of a backup: the commit, and the digest of every file. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isRecord } from '../../apimachinery/index.ts';

export const MANIFEST = 'backup.json';
export const BUNDLE = 'repository.bundle';
/** Folder of the files of the data directory. */
export const DATA = 'data';
const FORMAT = 1;

export interface BackupManifest {
  readonly format: number;
  /** Version of gitplane that wrote it. */
  readonly version: string;
  readonly time: string;
  readonly branch: string;
  /** Null: the branch had no commit. */
  readonly commit: string | null;
  /** Digests (SHA-256) by path. */
  readonly files: Readonly<Record<string, string>>;
}

type Facts = Pick<BackupManifest, 'version' | 'time' | 'branch' | 'commit'>;

/** Of all files below the folder. */
export async function manifestOf(folder: string, facts: Facts): Promise<BackupManifest> {
  return { format: FORMAT, ...facts, files: await digestsIn(folder) };
}

/** Throws for a folder whose files are not those of its manifest. */
export async function checkedManifest(folder: string, name: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((cause: unknown) => {
    throw new Error(`${name} has no ${MANIFEST}: it is not a backup of gitplane`, { cause });
  });
  const manifest: unknown = JSON.parse(text);
  if (!isManifest(manifest)) {
    throw new Error(`${name} has another format: restore it with the version that wrote it`);
  }
  const found = await digestsIn(folder);
  const paths = new Set([...Object.keys(found), ...Object.keys(manifest.files)]);
  const wrong = [...paths].find((path) => found[path] !== manifest.files[path]);
  if (wrong !== undefined) throw new Error(`${name} is damaged: ${wrong} is missing or changed`);
  return manifest;
}

function isManifest(value: unknown): value is BackupManifest {
  if (!isRecord(value) || value['format'] !== FORMAT || !isRecord(value['files'])) return false;
  const { branch, commit, time } = value;
  return (
    typeof branch === 'string' &&
    typeof time === 'string' &&
    (commit === null || typeof commit === 'string')
  );
}

async function digestsIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .filter((path) => path !== MANIFEST)
    .sort();
  const digests: Record<string, string> = {};
  for (const path of files) {
    const digest = createHash('sha256');
    await pipeline(createReadStream(join(folder, path)), digest);
    digests[path] = digest.digest('hex');
  }
  return digests;
}

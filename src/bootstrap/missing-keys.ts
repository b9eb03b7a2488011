/** Encrypted files of a branch that no available key decrypts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { grepRevision, Reader, readRef } from '../git/index.ts';

export interface MissingKeys {
  /** Recipients whose keys would open the files. */
  readonly recipients: readonly string[];
  /** Number of files that none of the keys here opens. */
  readonly files: number;
  /** False where a key here opens at least one other sealed file. */
  readonly all: boolean;
}

/** In YAML and in JSON, as sops writes the recipients of a file. */
const RECIPIENT = 'recipient"?: *"?age1[a-z0-9]+';

/** Undefined: every sealed file names a recipient whose key is here, or nothing is sealed. */
export async function missingKeys(of: {
  readonly gitDir: string;
  readonly ref: string;
  /** Trees with more files and folders are not searched, but what stands for them. */
  readonly maxPaths?: number | undefined;
  /** Recipients whose keys are here. */
  readonly here: readonly string[];
}): Promise<MissingKeys | undefined> {
  if (!existsSync(join(of.gitDir, 'HEAD'))) return undefined;
  const revision = await searchable(of);
  if (revision === undefined) return undefined;
  const found = await grepRevision({ gitDir: of.gitDir }, revision, RECIPIENT);
  const missing = new Set<string>();
  let files = 0;
  for (const matches of found.values()) {
    const recipients = matches.map((text) => text.slice(text.indexOf('age1')));
    if (recipients.some((recipient) => of.here.includes(recipient))) continue;
    files += 1;
    for (const recipient of recipients) missing.add(recipient);
  }
  return files === 0
    ? undefined
    : { recipients: [...missing].sort(), files, all: files === found.size };
}

/** The commit of the branch, or the nearest of its first parents that a process may walk. */
async function searchable(of: {
  readonly gitDir: string;
  readonly ref: string;
  readonly maxPaths?: number | undefined;
}): Promise<string | undefined> {
  const tip = await readRef(of.gitDir, of.ref);
  if (tip === undefined) return undefined;
  const reader = new Reader({ gitDir: of.gitDir }, { maxPaths: of.maxPaths });
  try {
    return (await reader.checkLimits(tip)).standIn;
  } finally {
    await reader.close();
  }
}

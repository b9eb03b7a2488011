/** age identities for decrypting secrets: the platform's own, generated once, and those of the operator. */
import { createFile, readIfThere } from '../auth/index.ts';
import { Keyring, makeIdentity, parseIdentities, SealingError } from '../sealing/index.ts';
import type { MissingKeys } from './missing-keys.ts';
import { StartError } from './start-error.ts';

interface OpenedIdentities {
  readonly identities: readonly string[];
  /** Undefined: there is no key of this platform. */
  readonly recipient: string | undefined;
  /** Set where no key was generated because these are missing. */
  readonly missing: MissingKeys | undefined;
}

/**
 * Throws StartError when a file cannot be used. `own`: file for a generated identity, first in the
 * result; `given`: additional files. `recipient` is read from the comment in the own file.
 */
export async function openIdentities(of: {
  readonly own: string;
  readonly given: readonly string[];
  /** Keys that sealed files name and that are not here, given the recipients that are. */
  missing?(here: readonly string[]): Promise<MissingKeys | undefined>;
}): Promise<OpenedIdentities> {
  const given: string[] = [];
  for (const file of of.given) given.push(...(await identitiesIn(file)));
  const hasOwn = (await readIfThere(of.own)) !== undefined;
  if (!hasOwn) {
    const missing = await of.missing?.(await new Keyring(given).recipients());
    // A new key would hide the loss of the old one, and new files would be encrypted for it.
    if (missing !== undefined) return { identities: given, recipient: undefined, missing };
    await makeKeyFile(of.own);
  }
  const identities = [...(await identitiesIn(of.own)), ...given];
  // Read from the file: deriving it takes longer than everything else here.
  const recipient = /^# public key: (age1\w+)$/m.exec((await readIfThere(of.own)) ?? '')?.[1];
  const opened = { identities: [...new Set(identities)], recipient: recipient ?? of.own };
  return { ...opened, missing: undefined };
}

async function makeKeyFile(file: string): Promise<void> {
  const { identity, recipient } = await makeIdentity();
  const head = '# Opens every secret of this platform. Keep a copy where the repository is not.';
  await createFile(file, `${head}\n# public key: ${recipient}\n${identity}\n`);
}

/** Throws StartError. */
export async function identitiesIn(file: string): Promise<string[]> {
  const text = await readIfThere(file);
  if (text === undefined) throw new StartError(`Cannot read ${file}: it does not exist`);
  try {
    const identities = parseIdentities(text);
    if (identities.length > 0) return identities;
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    throw new StartError(`Cannot use ${file}: ${error.message}`, { cause: error });
  }
  throw new StartError(`Cannot use ${file}: it holds no age identity`);
}

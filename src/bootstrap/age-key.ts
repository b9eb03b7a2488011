/** The identities of age that sealed secrets are opened with: our own, made once, and given ones. */
import { createFile, readIfThere } from '../auth/secret-file.ts';
import { makeIdentity, parseIdentities } from '../sealing/data-keys.ts';
import { SealingError } from '../sealing/sealing-error.ts';
import { StartError } from './start-error.ts';

/**
 * Throws StartError when a file cannot be used. `own`: where to make one; `given`: further files.
 * Ours comes first;
 * `recipient` is what it says of itself.
 */
export async function openIdentities(of: {
  readonly own: string;
  readonly given: readonly string[];
}): Promise<{ identities: string[]; recipient: string }> {
  if ((await readIfThere(of.own)) === undefined) await makeKeyFile(of.own);
  const identities: string[] = [];
  for (const file of [of.own, ...of.given]) identities.push(...(await identitiesIn(file)));
  // As the file says it: to work it out takes longer than everything else here.
  const recipient = /^# public key: (age1\w+)$/m.exec((await readIfThere(of.own)) ?? '')?.[1];
  return { identities: [...new Set(identities)], recipient: recipient ?? of.own };
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

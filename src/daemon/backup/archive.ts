/** Encrypted archives: a folder as tar, compressed with gzip, encrypted with age. */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { temporaryPath } from '../../files/index.ts';
import { UsageError } from '../../options/index.ts';

/** Entries of an archive that is read; a data directory has some dozens. */
const MOST_ENTRIES = 10_000;

/** Writes the whole file or none. Fails where the file exists. */
export async function writeArchive(
  file: string,
  { folder, recipients }: { readonly folder: string; readonly recipients: readonly string[] },
): Promise<void> {
  const { create } = await import('tar');
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  for (const recipient of recipients) addRecipient(encrypter, recipient);
  const packed = Readable.from(create({ gzip: true, cwd: folder, portable: true }, ['.']));
  const sealed = await encrypter.encrypt(Readable.toWeb(packed));
  // Reserves the name, so that two backups cannot replace each other.
  await (await open(file, 'wx', 0o600)).close();
  const beside = temporaryPath(file);
  let target: FileHandle | undefined;
  try {
    target = await open(beside, 'wx', 0o600);
    await pipeline(Readable.fromWeb(sealed), target.createWriteStream({ flush: true }));
    await rename(beside, file);
  } catch (error) {
    await Promise.all([beside, file].map((path) => rm(path, { force: true })));
    throw error;
  }
}

function addRecipient(encrypter: { addRecipient(text: string): void }, recipient: string): void {
  try {
    encrypter.addRecipient(recipient);
  } catch (error) {
    throw new UsageError(`Cannot use --recipient "${recipient}": write an age recipient, age1…`, {
      cause: error,
    });
  }
}

/** Extracts files and folders into an empty folder; refuses links and anything else. */
export async function extractArchive(
  file: string,
  { folder, identities }: { readonly folder: string; readonly identities: readonly string[] },
): Promise<void> {
  const { extract } = await import('tar');
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  const source = createReadStream(file);
  const opened = await decrypter.decrypt(Readable.toWeb(source)).catch((error: unknown) => {
    source.destroy();
    throw new Error(
      `Cannot open ${file}: it is not a backup for these identities; name the identity of a recipient with --age-key-file`,
      { cause: error },
    );
  });
  let entries = 0;
  const filter = (path: string, entry: object): boolean => {
    entries += 1;
    const type = 'type' in entry ? entry.type : undefined;
    if (entries > MOST_ENTRIES) throw new Error(`${file} has more than ${MOST_ENTRIES} files`);
    if (type === 'File' || type === 'Directory') return true;
    throw new Error(`${file} contains ${path}, which is not a file: it is not a backup`);
  };
  await pipeline(
    Readable.fromWeb(opened),
    extract({ cwd: folder, strict: true, preserveOwner: false, filter }),
  );
}

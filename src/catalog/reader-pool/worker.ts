/** Thread that reads manifests: blobs from its own git process, files packed for the transfer. */
import { workerData } from 'node:worker_threads';
import { answerRequests } from '../../concurrency/index.ts';
import { BlobStream, limitGitMemory } from '../../git/index.ts';
import { buildKindTable } from '../../kinds/index.ts';
import { documentValue, editDocument, ManifestEditError } from '../../manifests/index.ts';
import { Keyring } from '../../sealing/index.ts';
import { encryptionIn } from '../encryption.ts';
import type { FileEntry } from '../file.ts';
import { fileReader, type LargeEdit, type WantedFile } from '../file-reader.ts';
import {
  type Delivery,
  type Edited,
  type Order,
  packFiles,
  type ReaderSetup,
  type ReadOrder,
} from './protocol.ts';

const { context, apiGroup, under, gitMemoryMib, secrets } = workerData as ReaderSetup;
limitGitMemory(gitMemoryMib);
const blobs = context && new BlobStream(context);
const reading = secrets && {
  keyring: new Keyring(secrets.identities),
  mindsClear: secrets.mindsClear,
};
const reader = fileReader(buildKindTable(apiGroup), under, reading);

async function read({ files, contents }: ReadOrder): Promise<FileEntry[]> {
  const entries: (FileEntry | undefined)[] = [];
  const sealed: { readonly at: number; readonly content: Buffer }[] = [];
  const readOne = (content: Buffer, at: number): void => {
    const { path, id } = files[at] as WantedFile;
    entries[at] = reader.read(path, id, content);
  };
  const take = (content: Buffer, at: number): void => {
    if (reader.isReady(content)) readOne(content, at);
    else sealed.push({ at, content: Buffer.from(content) });
  };
  if (contents === undefined) {
    await blobs?.read(
      files.map(({ id }) => id),
      take,
    );
  } else {
    for (const [at, content] of contents.entries()) take(bufferOf(content), at);
  }
  await reader.prepare(sealed.map(({ content }) => content));
  for (const { at, content } of sealed) readOne(content, at);
  return entries as FileEntry[];
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function edited({ text, index, desired }: LargeEdit): Edited {
  if (desired === undefined) return { value: documentValue(text, index) };
  try {
    return { text: editDocument(text, index, desired) };
  } catch (error) {
    if (error instanceof ManifestEditError) return { refusal: error.message };
    throw error;
  }
}

answerRequests<Order, Delivery>(
  async (order) => {
    if ('encryptionOf' in order) return { encryption: encryptionIn(bufferOf(order.encryptionOf)) };
    if ('edit' in order) return { edited: edited(order.edit) };
    try {
      return { packed: packFiles(await read(order)) };
    } catch {
      return {};
    }
  },
  ({ packed }) => (packed === undefined ? [] : [packed.manifests.buffer]),
);

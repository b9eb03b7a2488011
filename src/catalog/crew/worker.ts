/** A thread that reads manifests: blobs from a git process of its own, files packed on the way back. */
import { parentPort, workerData } from 'node:worker_threads';
import { Reader } from '../../git/reader.ts';
import { buildKindTable } from '../../kinds/table.ts';
import { Keyring } from '../../sealing/data-keys.ts';
import { type FileEntry, fileReader } from '../file.ts';
import { readEach } from '../tree.ts';
import { type CrewSetup, type Delivery, type Order, packFiles } from './protocol.ts';

const { context, apiGroup, under, secrets } = workerData as CrewSetup;
const source = new Reader(context);
const reading = secrets && {
  keyring: new Keyring(secrets.identities),
  mindsClear: secrets.mindsClear,
};
const reader = fileReader(buildKindTable(apiGroup), under, reading);

async function fulfil({ lot, files }: Order): Promise<Delivery> {
  const entries = new Map<string, FileEntry>();
  try {
    await readEach({ source, reader }, files, ({ path }, entry) => {
      if (entry !== undefined) entries.set(path, entry);
    });
    const found = files.map(({ path }) => entries.get(path));
    const complete = found.filter((entry) => entry !== undefined);
    return complete.length < found.length ? { lot } : { lot, packed: packFiles(complete) };
  } catch {
    return { lot };
  }
}

parentPort?.on('message', (order: Order) => {
  void fulfil(order).then((delivery) => {
    const moved = delivery.packed === undefined ? [] : [delivery.packed.manifests.buffer];
    parentPort?.postMessage(delivery, moved);
  });
});

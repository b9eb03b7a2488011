/** Packs of the embedded state are compressed; plain ones of the release before are read. */
import { describe, expect, test } from 'vitest';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import {
  compress,
  decompress,
  decompressInPool,
  isCompressed,
} from '../../../src/state/records/compression.ts';
import { PACK_PREFIX } from '../../../src/state/records/record.ts';
import { StateError } from '../../../src/state/state-error.ts';
import type { Source, Store } from '../../../src/state/store.ts';
import { keyOf, objectOf, put, SECRETS, TEAMS } from '../builders.ts';
import { fail, testCodec } from '../harnesses.ts';

const MANY = 600;
const WORD = 'repeated-text-of-every-object';

/** `isPlain`: writes packs as the release before did, and as it is done for replicas. */
function open(disk: Map<string, Buffer>, isPlain = false): Promise<Store> {
  return openStore({
    engine: new MemoryEngine(disk),
    codec: testCodec,
    onError: fail,
    followed: isPlain,
  });
}

/** A state with packs, which is closed. */
async function filled(isPlain: boolean): Promise<Map<string, Buffer>> {
  const disk = new Map<string, Buffer>();
  const store = await open(disk, isPlain);
  const sources: Source[] = Array.from({ length: MANY }, (_, n) => ({
    key: keyOf(n % 2 === 0 ? `team-${n}` : `payments/secret-${n}`),
  }));
  const make = ({ key }: Source) => ({
    object: objectOf(key.namespace === '' ? key.name : `payments/${key.name}`, {
      text: `${key.name} ${WORD.repeat(5)} ä`,
    }),
    hidden: undefined,
    provenance: { facts: [key.name], text: `text of ${key.name}` },
  });
  store.fill(sources, { make, settled: () => undefined }, { head: { revision: 'x' } });
  await store.filled();
  await store.close();
  return disk;
}

function packsOf(disk: ReadonlyMap<string, Buffer>): [key: string, record: Buffer][] {
  return [...disk]
    .filter(([key]) => key.startsWith(PACK_PREFIX))
    .map(([key, bytes]) => [key, testCodec.decode(key, bytes)]);
}

function picture(store: Store): unknown {
  return [TEAMS, SECRETS].map((collection) =>
    store
      .list(collection)
      .items.map((stored) => [stored.key, stored.json().toString(), stored.provenance()]),
  );
}

test('packs take a fraction of their plain bytes and hold the same objects', async () => {
  const disk = await filled(false);
  const plain = await filled(true);

  const packs = packsOf(disk);
  expect(packs.length).toBeGreaterThan(1);
  for (const [, record] of packs) {
    expect(isCompressed(record)).toBe(true);
    expect(record.length).toBeLessThan(decompress(record).length / 4);
  }
  const store = await open(disk);
  const other = await open(plain);
  expect(store.list(TEAMS).items.length + store.list(SECRETS).items.length).toBe(MANY);
  const texts = (of: Store): unknown => JSON.stringify(picture(of)).replace(/\d{16}/g, 'N');
  expect(texts(store)).toBe(texts(other));
  await store.close();
  await other.close();
});

test('a state whose packs are plain is read, changed and read again', async () => {
  const disk = await filled(true);
  expect(packsOf(disk).some(([, record]) => isCompressed(record))).toBe(false);

  let store = await open(disk);
  expect(store.list(TEAMS).items).toHaveLength(MANY / 2);
  store.apply([put('team-0', { text: 'new' }), put('payments/secret-1', { text: 'new' })]);
  await store.flush();
  const before = picture(store);
  await store.close();

  store = await open(disk);
  expect(picture(store)).toEqual(before);
  await store.close();
});

test('records that other processes follow are plain, for replicas of the release before', async () => {
  const disk = await filled(true);
  const all = [...disk].map(([key, bytes]) => testCodec.decode(key, bytes));

  expect(all.filter(isCompressed)).toEqual([]);
});

test('a decompressed record holds no memory but its own', async () => {
  const plain = Buffer.from(WORD.repeat(3000));
  const compressed = compress(plain);

  for (const found of [decompress(compressed), await decompressInPool(compressed)]) {
    expect(found.equals(plain)).toBe(true);
    expect(found.buffer.byteLength).toBe(plain.length);
  }
});

describe('a damaged pack', () => {
  test.each([
    { damage: 'cut off', of: (record: Buffer) => record.subarray(0, -20) },
    {
      damage: 'changed',
      of: (record: Buffer) => {
        const copy = Buffer.from(record);
        copy.writeUInt8(copy.readUInt8(40) ^ 0xff, 40);
        return copy;
      },
    },
    { damage: 'empty', of: () => Buffer.alloc(0) },
  ])('a pack that is $damage is refused without a word of its content', async ({ of }) => {
    const disk = await filled(false);
    for (const [key, record] of packsOf(disk)) {
      disk.set(key, testCodec.encode(key, of(record), true));
    }

    const failure: unknown = await open(disk).catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(StateError);
    expect(String(failure)).toContain('a record is invalid');
    expect(String(failure)).not.toContain(WORD);
  });
});

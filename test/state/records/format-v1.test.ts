/** A state directory of the first format: objects stay, and the catalog is read from history. */
import { expect, test } from 'vitest';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { keyOf, objectOf, TEAMS } from '../builders.ts';
import { fail, testCodec } from '../harnesses.ts';

const VERSION = 1_767_225_600_000_001;

function firstFormat(): Map<string, Buffer> {
  const disk = new Map<string, Buffer>();
  const write = (key: string, plain: string, secret: boolean): void => {
    disk.set(key, testCodec.encode(key, plain, secret));
  };
  for (const [path, hidden] of [
    ['ops', undefined],
    ['a/1', { hash: 'h' }],
  ] as const) {
    const key = keyOf(path);
    const object = objectOf(path, { text: path });
    object.metadata = { ...object.metadata, resourceVersion: String(VERSION) };
    const id = `${key.group}/${key.kind}/${key.namespace}/${key.name}`;
    write(
      `o/${id}`,
      `${JSON.stringify({ key, hidden })}\n${JSON.stringify(object)}`,
      path !== 'ops',
    );
  }
  const notes = ['catalog', 'object:x', 'file:y', 'revoked/z'];
  for (const name of notes) {
    write(`n/${name}`, JSON.stringify({ name, value: { revision: 'r' } }), true);
  }
  const meta = { format: 1, last: VERSION, clean: true, objects: 2, notes: notes.length };
  write('m/store', JSON.stringify(meta), true);
  return disk;
}

function open(disk: Map<string, Buffer>): Promise<Store> {
  return openStore({ engine: new MemoryEngine(disk), codec: testCodec, onError: fail });
}

test('objects, versions and other notes stay; what the catalog kept of each object goes', async () => {
  const disk = firstFormat();
  for (let start = 0; start < 3; start++) {
    const store = await open(disk);
    expect(store.resourceVersion).toBe(VERSION);
    expect(store.list(TEAMS).items.map(({ object }) => object.spec)).toEqual([{ text: 'ops' }]);
    expect(store.get(keyOf('a/1'))?.hidden).toEqual({ hash: 'h' });
    expect([...store.documents('')].map(([name]) => name)).toEqual(['catalog', 'revoked/z']);
    expect([...store.provenanceFacts()]).toEqual([]);
    await store.close();
  }
});

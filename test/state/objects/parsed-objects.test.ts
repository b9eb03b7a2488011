import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MEGABYTE = 1e6;

test('former versions of a large object are not kept parsed', async () => {
  const store = await openStore({
    engine: new MemoryEngine(),
    codec: sealingCodec(Buffer.alloc(32, 7), () => false),
    window: { keepEvents: 0, keepMs: 0, maxEvents: 10, maxBytes: MEGABYTE },
    onError: (error) => {
      throw error;
    },
  });
  const key = { group: 'management.gitplane.dev', kind: 'Team', namespace: '', name: 'large' };
  const heap = (): number => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return (heapUsed + arrayBuffers) / MEGABYTE;
  };
  const before = heap();

  for (let version = 0; version < 300; version += 1) {
    const users = Array.from({ length: 40_000 }, (_, i) => `user-${version}-${i}`);
    const object = {
      apiVersion: `${key.group}/v1`,
      kind: key.kind,
      metadata: { name: key.name },
      spec: { users },
    };
    store.apply([{ type: 'put', key, object }]);
    expect(store.get(key)?.object.metadata.name).toBe(key.name);
  }

  // Each takes 0.7 MB as JSON, and 2 MB parsed.
  expect(heap() - before).toBeLessThan(250);
  await store.close();
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { DerivedSecrets } from '../../../src/registry/projection/derived-secrets.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';
import type { Change } from '../../../src/state/store.ts';
import { kinds } from '../../support/platform.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MEGABYTE = 1e6;
const group = 'management.gitplane.dev';

test('sources that nobody follows any more are forgotten', async () => {
  const store = await openStore({
    engine: new MemoryEngine(),
    codec: sealingCodec(Buffer.alloc(32, 7), () => false),
    window: { keepEvents: 0, keepMs: 0, maxEvents: 1000, maxBytes: MEGABYTE },
    onError: (error) => {
      throw error;
    },
  });
  const derived = new DerivedSecrets(kinds, store);
  const source = (name: string) => ({ group, kind: 'SharedSecret', namespace: 'shared', name });
  const keyOf = (i: number) => ({
    group,
    kind: 'ProjectSecret',
    namespace: 'p-web',
    name: `copy-${i}`,
  });
  const put = (i: number, of: string): Change => {
    const labels = {
      'gitplane.dev/sharedsecret-name': of,
      'gitplane.dev/sharedsecret-namespace': 'shared',
    };
    const metadata = { name: `copy-${i}`, namespace: 'p-web', labels };
    const object = { apiVersion: `${group}/v1`, kind: 'ProjectSecret', metadata };
    return { type: 'put', key: keyOf(i), object };
  };
  const heapAfter = (round: number): number => {
    for (let part = 0; part < 40; part += 1) {
      const numbers = Array.from({ length: 500 }, (_, i) => i);
      store.apply(numbers.map((i) => put(i, `source-${round}-${part}-${i}`)));
      expect(derived.isSource(source(`source-${round}-${part}-0`))).toBe(true);
      store.apply(numbers.map((i) => ({ type: 'remove', key: keyOf(i) })));
      expect(derived.isSource(source(`source-${round}-${part}-0`))).toBe(false);
    }
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  expect(derived.isSource(source('none'))).toBe(false);
  const first = heapAfter(0);

  heapAfter(1);

  expect(heapAfter(2) - first).toBeLessThan(5 * MEGABYTE);
  await store.close();
});

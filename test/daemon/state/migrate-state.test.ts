import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateState, type StateLocation } from '../../../src/daemon/state/migrate-state.ts';
import type { Etcd } from '../../../src/etcd/etcd.ts';
import { openLmdbEngine } from '../../../src/state/engines/lmdb-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';
import type { Change, Store } from '../../../src/state/store.ts';
import {
  bound,
  freshPrefix,
  openAt,
  sharedEtcd,
  stopSharedEtcd,
} from '../../state/engines/etcd/harness.ts';
import { fail } from '../../state/harnesses.ts';
import { ETCD_MISSING } from '../../support/etcd.ts';

const TEAMS = { group: 'g', kind: 'Team' };

describe.skipIf(ETCD_MISSING !== undefined)(
  `a migration of the state ${ETCD_MISSING ?? ''}`,
  () => {
    let etcd: Etcd;
    let folder: string;

    beforeAll(async () => {
      ({ etcd } = await sharedEtcd());
      folder = mkdtempSync(join(tmpdir(), 'gitplane-migrate-'));
    });

    afterAll(async () => {
      await stopSharedEtcd();
      rmSync(folder, { recursive: true });
    });

    function embedded(name: string): StateLocation {
      const codec = sealingCodec(Buffer.alloc(32, 1), () => false);
      const open = () => openLmdbEngine(join(folder, name), { onError: fail });
      return { codec, followed: false, open };
    }

    function inEtcd(prefix: string, own = etcd): StateLocation {
      const codec = sealingCodec(Buffer.alloc(32, 2), () => false);
      const open = () => openAt(own, prefix, { onError: () => undefined });
      return { codec, followed: true, open };
    }

    async function storeAt({ codec, followed, open }: StateLocation): Promise<Store> {
      return await openStore({ engine: await open(), codec, followed, onError: fail });
    }

    function put(name: string, size = 10): Change {
      const key = { ...TEAMS, namespace: '', name };
      const spec = { text: name.padEnd(size, 'x') };
      return {
        type: 'put',
        key,
        object: { apiVersion: 'g/v1', kind: 'Team', metadata: { name }, spec },
      };
    }

    function contents(store: Store): unknown[] {
      return store.list(TEAMS).items.map(({ object }) => object);
    }

    async function filled(place: StateLocation): Promise<{ version: number; objects: unknown[] }> {
      const store = await storeAt(place);
      for (let i = 0; i < 300; i++) store.apply([put(`t${i}`, i === 7 ? 700_000 : 10)]);
      store.apply([{ type: 'remove', key: { ...TEAMS, namespace: '', name: 't5' } }], {
        cursor: { revision: 'abc' },
      });
      const kept = { version: store.resourceVersion, objects: contents(store) };
      await store.close();
      return kept;
    }

    test('shows the same objects in both directions, and versions go on', async () => {
      const prefix = freshPrefix();
      const kept = await filled(embedded('a'));

      await migrateState(embedded('a'), inEtcd(prefix));

      const there = await storeAt(inEtcd(prefix));
      expect(contents(there)).toEqual(kept.objects);
      expect(there.resourceVersion).toBe(kept.version);
      expect(there.document('cursor')).toEqual({ revision: 'abc' });
      const [made] = there.apply([put('later')]);
      expect(made?.resourceVersion).toBeGreaterThan(kept.version);
      const changed = contents(there);
      await there.close();

      await migrateState(inEtcd(prefix), embedded('b'));

      const back = await storeAt(embedded('b'));
      expect(contents(back)).toEqual(changed);
      expect(back.resourceVersion).toBe(made?.resourceVersion);
      // Who has seen the last version can go on from it.
      back.watch(TEAMS, back.resourceVersion).close();
      const [next] = back.apply([put('last')]);
      expect(next?.resourceVersion).toBeGreaterThan(made?.resourceVersion ?? 0);
      await back.close();
    });

    test('nothing is readable in etcd', async () => {
      const prefix = freshPrefix();
      await filled(embedded('sealed'));

      await migrateState(embedded('sealed'), inEtcd(prefix));

      const scan = etcd.scan({ key: prefix, prefix: true });
      for await (const { value } of scan) expect(value.includes('metadata')).toBe(false);
    });

    test('a target that is in use is left as it is', async () => {
      const prefix = freshPrefix();
      await filled(embedded('c'));
      const kept = await filled(inEtcd(prefix));

      await expect(migrateState(embedded('c'), inEtcd(prefix))).rejects.toThrow(
        'there is a state in',
      );

      const store = await storeAt(inEtcd(prefix));
      expect(contents(store)).toEqual(kept.objects);
      await store.close();
    });

    test('leaves no usable state when it is interrupted, and can be repeated', async () => {
      const prefix = freshPrefix();
      const kept = await filled(embedded('d'));
      let left = 4;
      const mortal: Etcd = {
        ...bound(etcd),
        txn: async (request) => {
          if (left-- > 0) return await etcd.txn(request);
          throw new Error('dead');
        },
      };
      await expect(migrateState(embedded('d'), inEtcd(prefix, mortal))).rejects.toThrow('dead');

      await expect(storeAt(inEtcd(prefix))).rejects.toThrow('a migration was interrupted');

      await migrateState(embedded('d'), inEtcd(prefix));
      const store = await storeAt(inEtcd(prefix));
      expect(contents(store)).toEqual(kept.objects);
      await store.close();
    });
  },
);

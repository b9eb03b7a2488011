/** What whoever writes is told when etcd is full or slow, before memory is used up. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd } from '../../../../src/etcd/etcd.ts';
import { openEtcd } from '../../../../src/etcd/open-etcd.ts';
import { toStatusError } from '../../../../src/server/errors.ts';
import type { StateError } from '../../../../src/state/state-error.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../../../support/etcd.ts';
import { bound, freshPrefix, openAt } from './harness.ts';

describe.skipIf(ETCD_MISSING !== undefined)(
  `an etcd that is full or slow ${ETCD_MISSING ?? ''}`,
  () => {
    let cluster: EtcdCluster;
    let etcd: Etcd;

    beforeAll(async () => {
      cluster = await startEtcd({ noFsync: true, quota: 8 * 1024 * 1024 });
      etcd = await openEtcd({ endpoints: cluster.endpoints });
    });

    afterAll(async () => {
      await etcd.close();
      await cluster.stop();
    });

    test('the queue for a slow etcd is bounded: writers are asked to retry', async () => {
      let go = (): void => undefined;
      const slow = new Promise<void>((resolve) => {
        go = resolve;
      });
      let isOpen = false;
      const late: Etcd = {
        ...bound(etcd),
        txn: async (request) => {
          if (isOpen) await slow;
          return await etcd.txn(request);
        },
      };
      const engine = await openAt(late, freshPrefix());
      isOpen = true;
      expect(engine.trouble).toBeUndefined();
      let written = 0;
      while (engine.trouble === undefined) {
        engine.write([{ key: `e/${written}`, value: Buffer.from('1') }]);
        written++;
      }

      const { status } = toStatusError(engine.trouble);

      expect(written).toBeLessThan(10_000);
      expect(status.toStatus().code).toBe(429);
      expect(status.message).toContain('nothing was written');
      expect(status.toStatus().details?.retryAfterSeconds).toBeGreaterThan(0);
      go();
      await engine.flush();
      expect(engine.trouble).toBeUndefined();
      await engine.close();
    });

    test('a quota that is used up is told with the remedy, and writing goes on after it', async () => {
      const heard: string[] = [];
      const engine = await openAt(etcd, freshPrefix(), {
        onError: (error) => heard.push(error.message),
        onRecovered: () => heard.push('recovered'),
      });
      const value = Buffer.alloc(500_000, 'x');
      let failure: StateError | undefined;
      while (failure === undefined) {
        engine.write([{ key: 'a', value }]);
        failure = await engine.flush().then(
          () => undefined,
          (error: StateError) => error,
        );
      }

      expect(failure.message).toContain('etcdctl alarm disarm');
      expect(engine.trouble).toBe(failure);
      const { status } = toStatusError(failure);
      expect(status.toStatus().code).toBe(507);
      expect(status.message).toContain('The quota of etcd is used up');

      await cluster.compact();
      await cluster.defragment();
      expect((await cluster.ctl(['alarm', 'disarm'])).code).toBe(0);
      while (heard.at(-1) !== 'recovered') await new Promise((resolve) => setTimeout(resolve, 20));
      expect(engine.trouble).toBeUndefined();
      expect(heard).toHaveLength(2);
      await engine.close();
    });
  },
);

/** What a writer says that anybody may have seen is never less than that. */
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Etcd } from '../../../../src/etcd/etcd.ts';
import { EtcdError } from '../../../../src/etcd/etcd-error.ts';
import { type EtcdStateEngine, openEtcdEngine } from '../../../../src/state/engines/etcd/engine.ts';
import { ETCD_MISSING } from '../../../support/etcd.ts';
import { fail } from '../../harnesses.ts';
import { bound, freshPrefix, sharedEtcd, stopSharedEtcd } from './harness.ts';

afterAll(() => stopSharedEtcd());

type Txn = Etcd['txn'];

async function open(
  wrap: (txn: Txn) => Txn,
  begins?: Promise<void>,
): Promise<{ engine: EtcdStateEngine; etcd: Etcd; prefix: string }> {
  const { etcd } = await sharedEtcd();
  const prefix = freshPrefix();
  const txn = wrap((request) => etcd.txn(request));
  const options = { onError: fail, ...(begins === undefined ? {} : { begins }) };
  const engine = await openEtcdEngine({ etcd: { ...bound(etcd), txn }, prefix, ...options });
  onTestFinished(async () => await engine.close());
  if (begins === undefined) await engine.flush();
  return { engine, etcd, prefix };
}

describe.skipIf(ETCD_MISSING !== undefined)(
  `the seen revision of etcd ${ETCD_MISSING ?? ''}`,
  () => {
    test('is known at once at rest, and includes all writes', async () => {
      const { engine, etcd, prefix } = await open((txn) => txn);
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await engine.flush();
      const { kvs } = await etcd.range({ key: prefix, prefix: true });
      const newest = kvs.reduce(
        (most, { modRevision }) => (modRevision > most ? modRevision : most),
        0n,
      );
      expect(engine.seenRevision()).toBe(newest);
    });

    test('a write in flight may have been seen before its answer', async () => {
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let isOpen = false;
      let done = false;
      const { engine, etcd, prefix } = await open((txn) => async (request) => {
        const answer = await txn(request);
        if (isOpen) {
          done = true;
          await held;
        }
        return answer;
      });
      isOpen = true;
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await expect.poll(() => done, { timeout: 20_000, interval: 1 }).toBe(true);
      const asked = engine.seenRevision();
      expect(asked).toBeInstanceOf(Promise);
      release();
      const { kvs } = await etcd.range({ key: prefix, prefix: true });
      expect(kvs.every(({ modRevision }) => modRevision <= 0n)).toBe(false);
      expect(
        kvs
          .map(({ modRevision }) => modRevision)
          .sort()
          .at(-1),
      ).toBe(await asked);
    });

    test('a possible write is unknown until it is read again', async () => {
      let lost = 0;
      let isOpen = false;
      const { engine } = await open((txn) => async (request) => {
        const answer = await txn(request);
        if (!isOpen || lost++ > 0) return answer;
        throw new EtcdError('the answer was lost', { unknown: true });
      });
      isOpen = true;
      const before = engine.seenRevision();
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await expect.poll(() => lost, { timeout: 20_000, interval: 1 }).toBeGreaterThan(0);
      const told = await engine.seenRevision();
      expect(told).toBeGreaterThan(before as bigint);
    });

    test('nothing is written before it may begin', async () => {
      let begin: () => void = () => undefined;
      const begins = new Promise<void>((resolve) => {
        begin = resolve;
      });
      let transactions = 0;
      const { engine } = await open(
        (txn) => (request) => {
          transactions += 1;
          return txn(request);
        },
        begins,
      );
      const claims = transactions;
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      const flushed = engine.flush();
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      expect(transactions).toBe(claims);
      begin();
      await flushed;
      expect(transactions).toBeGreaterThan(claims);
    });
  },
);

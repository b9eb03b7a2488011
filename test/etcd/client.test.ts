import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd, EtcdWatch, KeyValue, Operation, WatchBatch } from '../../src/etcd/etcd.ts';
import { CompactedRevisionError, EtcdError } from '../../src/etcd/etcd-error.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

describe.skipIf(ETCD_MISSING !== undefined)(`the client of etcd ${ETCD_MISSING ?? ''}`, () => {
  let cluster: EtcdCluster;
  let proxy: TcpProxy;
  let etcd: Etcd;
  let count = 0;

  beforeAll(async () => {
    cluster = await startEtcd({ noFsync: true });
    proxy = await startTcpProxy(cluster.endpoints[0] ?? '');
    etcd = await openEtcd({ endpoints: [proxy.address] });
  });

  afterAll(async () => {
    await etcd.close();
    await proxy.close();
    await cluster.stop();
  });

  /** Keys of its own for every test. */
  function folder(): string {
    return `t${count++}/`;
  }

  function put(key: string, value = 'v'): Operation {
    return { put: key, value: Buffer.from(value) };
  }

  async function write(...operations: Operation[]): Promise<bigint> {
    return (await etcd.txn({ compare: [], operations })).revision;
  }

  async function contents(key: string): Promise<string[]> {
    const { kvs } = await etcd.range({ key, prefix: true });
    return kvs.map((kv) => `${kv.key.slice(key.length)}=${kv.value}`);
  }

  test('keys are read in bytewise order, by prefix and by range', async () => {
    const at = folder();
    await write(put(`${at}é`), put(`${at}\u{1f600}`), put(`${at}\uffee`), put(`${at}a`));

    const { kvs, count: found } = await etcd.range({ key: at, prefix: true });

    expect(kvs.map(({ key }) => key.slice(at.length))).toEqual(['a', 'é', '\uffee', '\u{1f600}']);
    expect(found).toBe(4);
    expect((await etcd.range({ key: `${at}a`, end: `${at}é` })).kvs).toHaveLength(1);
    expect((await etcd.range({ key: at, prefix: true, limit: 3 })).more).toBe(true);
    const [first] = (await etcd.range({ key: at, prefix: true, keysOnly: true })).kvs;
    expect(first?.value).toHaveLength(0);
  });

  test('a transaction runs as a whole, or its `otherwise` branch', async () => {
    const at = folder();
    const compare = [{ key: `${at}lock`, createRevision: 0n }];
    const operations = [put(`${at}lock`, 'mine'), put(`${at}other`)];

    const first = await etcd.txn({ compare, operations });
    const second = await etcd.txn({
      compare,
      operations,
      otherwise: [{ range: { key: `${at}lock` } }],
    });

    expect(first.succeeded).toBe(true);
    expect(second.succeeded).toBe(false);
    const held = second.ranges[0]?.kvs[0] as KeyValue;
    expect(held.value.toString()).toBe('mine');
    expect(held.createRevision).toBe(first.revision);
    for (const lock of [
      { key: held.key, modRevision: held.modRevision },
      { key: held.key, createRevision: held.createRevision },
      { key: held.key, value: held.value },
    ]) {
      expect((await etcd.txn({ compare: [lock], operations: [] })).succeeded).toBe(true);
    }
    expect(
      (await etcd.txn({ compare: [{ key: held.key, modRevision: 1n }], operations })).succeeded,
    ).toBe(false);
  });

  test('keys are removed one by one and by prefix', async () => {
    const at = folder();
    await write(put(`${at}a`), put(`${at}b/1`), put(`${at}b/2`), put(`${at}c`));

    await write({ remove: `${at}a` }, { remove: `${at}b/`, prefix: true });

    expect(await contents(at)).toEqual(['c=v']);
  });

  test('a scan shows one revision, whatever is written meanwhile', async () => {
    const at = folder();
    const keys = Array.from({ length: 500 }, (_, i) => `${at}${String(i).padStart(4, '0')}`);
    for (let i = 0; i < keys.length; i += 100) {
      await write(...keys.slice(i, i + 100).map((key) => put(key, 'old')));
    }
    const scan = etcd.scan({ key: at, prefix: true });
    const revision = await scan.revision;
    await write(put(keys[400] ?? '', 'new'), { remove: keys[401] ?? '' });

    const seen: KeyValue[] = [];
    for await (const kv of scan) seen.push(kv);

    expect(seen.map(({ key }) => key)).toEqual(keys);
    expect(new Set(seen.map(({ value }) => value.toString()))).toEqual(new Set(['old']));
    expect(seen.every(({ modRevision }) => modRevision <= revision)).toBe(true);
  });

  test('a refused call reports the reason and had no effect', async () => {
    const at = folder();

    const error = await write(put(`${at}a`), put(`${at}a`)).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(EtcdError);
    expect((error as EtcdError).message).toContain('duplicate key given in txn request');
    expect((error as EtcdError).unknown).toBe(false);
    expect(await contents(at)).toEqual([]);
  });

  test('a compacted revision is reported as such', async () => {
    const at = folder();
    await write(put(`${at}a`));
    const revision = await write(put(`${at}a`));
    await etcd.compact(revision);
    await etcd.compact(revision);

    const read = etcd.range({ key: at, prefix: true, revision: revision - 1n });

    await expect(read).rejects.toThrow(CompactedRevisionError);
    await expect(read).rejects.toThrow(`Revision ${revision - 1n} of etcd was compacted`);
  });

  describe('a watch', () => {
    test('shows every revision once and whole, from the one that was asked for', async () => {
      const at = folder();
      await write(put(`${at}before`));
      const from = await write(put(`${at}a`), put(`${at}b`));
      const watch = etcd.watch({ key: at, prefix: true, from });
      const later = await write(put(`${at}c`, '2'), { remove: `${at}a` });

      const [first, second] = await take(watch, 2);

      expect(first?.revision).toBe(from);
      expect(keysOf(first)).toEqual([`put ${at}a`, `put ${at}b`]);
      expect(second?.revision).toBe(later);
      expect(keysOf(second)).toEqual([`put ${at}c`, `delete ${at}a`]);
      watch.close();
    });

    test('a watch gets one revision of many megabytes whole', async () => {
      const at = folder();
      const value = Buffer.alloc(14_000, 'x');
      const from = await etcd.txn({ compare: [], operations: many(100, at, value) });
      const watch = etcd.watch({ key: at, prefix: true, from: from.revision });
      await etcd.txn({ compare: [], operations: many(90, at, Buffer.alloc(15_000, 'y')) });

      const [first, second] = await take(watch, 2);

      expect(first?.events).toHaveLength(100);
      expect(second?.events).toHaveLength(90);
      watch.close();
    });

    test('goes on after its connection was cut, without a gap and without a repetition', async () => {
      const at = folder();
      const from = await write(put(`${at}0`));
      const watch = etcd.watch({ key: at, prefix: true, from });
      const direct = await openEtcd({ endpoints: cluster.endpoints });
      const iterator = watch[Symbol.asyncIterator]();
      const seen: string[] = [];
      for (let i = 0; i < 30; i++) {
        if (i % 7 === 3) proxy.cut();
        await direct.txn({ compare: [], operations: [put(`${at}${i + 1}`)] });
        if (i % 3 === 0) seen.push(...keysOf((await iterator.next()).value));
      }
      while (seen.length < 31) seen.push(...keysOf((await iterator.next()).value));

      expect(seen).toEqual(Array.from({ length: 31 }, (_, i) => `put ${at}${i}`));
      watch.close();
      await direct.close();
    });

    test('ends with the revision that it wanted when that was compacted meanwhile', async () => {
      const at = folder();
      const from = await write(put(`${at}0`));
      const watch = etcd.watch({ key: at, prefix: true, from });
      await take(watch, 1, false);
      const direct = await openEtcd({ endpoints: cluster.endpoints });
      proxy.refuse();
      proxy.cut();
      await direct.txn({ compare: [], operations: [put(`${at}1`)] });
      const { revision } = await direct.txn({ compare: [], operations: [put(`${at}2`)] });
      await direct.compact(revision);
      proxy.heal();

      const rest = take(watch, 1);

      await expect(rest).rejects.toThrow(CompactedRevisionError);
      await direct.close();
    });

    test('ends on close, even during a pending read', async () => {
      const watch = etcd.watch({ key: folder(), prefix: true });
      const waiting = take(watch, 1);

      watch.close();

      expect(await waiting).toEqual([]);
    });

    test('a watch of a slow reader loses nothing', async () => {
      const at = folder();
      const from = await write(put(`${at}n`, 'first'));
      const watch = etcd.watch({ key: at, prefix: true, from });
      for (let i = 0; i < 600; i++) await write(put(`${at}n`, String(i)));

      const batches = await take(watch, 601);

      const values = batches.map(({ events }) => events[0]?.kv.value.toString());
      expect(values).toEqual(['first', ...Array.from({ length: 600 }, (_, i) => String(i))]);
      watch.close();
    });
  });

  describe('a lease', { concurrent: true }, () => {
    test('keeps its keys while it is renewed, and takes them along when it is given back', async () => {
      const at = folder();
      const lease = await etcd.grant(2);
      await write({ put: `${at}a`, value: Buffer.from('1'), lease: lease.id });
      const first = lease.deadline;

      await until(() => lease.deadline > first + 4000);

      expect(await contents(at)).toEqual(['a=1']);
      expect(lease.lost.aborted).toBe(false);
      expect(lease.deadline).toBeLessThanOrEqual(performance.now() + 2000);
      await lease.revoke();
      expect(await contents(at)).toEqual([]);
      expect(lease.lost.aborted).toBe(true);
      await lease.revoke();
    });

    test('is lost at its deadline if no member answers, and not later', async () => {
      const way = await startTcpProxy(cluster.endpoints[0] ?? '');
      const own = await openEtcd({ endpoints: [way.address] });
      const lease = await own.grant(2);
      way.blackhole();

      await aborted(lease.lost);

      expect(performance.now()).toBeGreaterThanOrEqual(lease.deadline);
      await own.close();
      await way.close();
    });

    test('is lost when etcd does not know it any more', async () => {
      const lease = await etcd.grant(60);
      const short = await etcd.grant(2);
      for (const { id } of [lease, short]) {
        await cluster.ctl(['lease', 'revoke', id.toString(16)]);
      }

      await aborted(short.lost);

      expect(performance.now()).toBeLessThan(short.deadline + 10_000);
      expect(lease.lost.aborted).toBe(false);
      await lease.revoke();
    });
  });

  describe('a lost connection', () => {
    test('makes the outcome of a transaction unknown, and it is not sent again', async () => {
      const at = folder();
      const direct = await openEtcd({ endpoints: cluster.endpoints });
      // It arrives, and its answer does not.
      proxy.blackhole('down');
      const lost = etcd.txn({ compare: [], operations: [put(`${at}a`)] }).catch((error) => error);
      await until(async () => (await direct.range({ key: `${at}a` })).kvs.length > 0);
      proxy.cut();

      const error: EtcdError = await lost;

      expect(error).toBeInstanceOf(EtcdError);
      expect(error.unknown).toBe(true);
      expect(error.message).toContain(`etcd://${proxy.address} did not confirm if it was done`);
      proxy.heal();
      const [kv] = (await etcd.range({ key: `${at}a` })).kvs;
      expect(kv?.createRevision).toBe(kv?.modRevision);
      await direct.close();
    });

    test('a transaction that was not sent is sent when there is a connection again', async () => {
      const at = folder();
      const own = await startTcpProxy(cluster.endpoints[0] ?? '');
      own.refuse();
      const late = await openEtcd({ endpoints: [own.address] });
      const writing = late.txn({ compare: [], operations: [put(`${at}a`)] });

      own.heal();

      await writing;
      expect(await contents(at)).toEqual(['a=v']);
      await late.close();
      await own.close();
    });

    test('a member that does not say anything is given up soon', async () => {
      const at = folder();
      const mute = await startTcpProxy(cluster.endpoints[0] ?? '');
      const both = await openEtcd({ endpoints: [mute.address, ...cluster.endpoints] });
      const { revision } = await both.txn({ compare: [], operations: [put(`${at}a`)] });
      const watch = both.watch({ key: at, prefix: true, from: revision });
      await take(watch, 1, false);

      mute.blackhole();
      const next = take(watch, 1);
      await write(put(`${at}b`));

      expect((await both.range({ key: at, prefix: true })).kvs).toHaveLength(2);
      expect(keysOf((await next)[0])).toEqual([`put ${at}b`]);
      await both.close();
      await mute.close();
    });

    test('an address without a listener is reported with the reason', async () => {
      const nobody = await startTcpProxy('127.0.0.1:1');
      const { address } = nobody;
      await nobody.close();
      const lonely = await openEtcd({ endpoints: [address], timeoutMs: 100 });

      const error = await lonely.range({ key: 'a' }).catch((thrown: unknown) => thrown);

      expect((error as EtcdError).message).toContain(`etcd://${address} cannot be reached`);
      expect((error as EtcdError).message).toContain('ECONNREFUSED');
      expect((error as EtcdError).code).toBe('EUNREACH');
      await lonely.close();
    });
  });

  test('a closed client refuses calls and ends pending ones', async () => {
    const own = await openEtcd({ endpoints: [proxy.address] });
    const watch = take(own.watch({ key: 'x' }), 1);
    await own.range({ key: 'x' });

    await own.close();

    expect(await watch).toEqual([]);
    await expect(own.range({ key: 'x' })).rejects.toThrow('is closed');
    expect(() => own.watch({ key: 'x' })).toThrow('is closed');
  });

  function many(size: number, at: string, value: Buffer): Operation[] {
    return Array.from({ length: size }, (_, i) => ({ put: `${at}${i}`, value }));
  }
});

/** The next batches; fewer when it ends. A watch that is to go on must not be closed by the reader. */
async function take(watch: EtcdWatch, size: number, last = true): Promise<WatchBatch[]> {
  const batches: WatchBatch[] = [];
  const iterator = watch[Symbol.asyncIterator]();
  while (batches.length < size) {
    const { done, value } = await iterator.next();
    if (done === true) break;
    batches.push(value);
  }
  if (last) await iterator.return?.();
  return batches;
}

function keysOf(batch: WatchBatch | undefined): string[] {
  return (batch?.events ?? []).map(({ type, kv }) => `${type} ${kv.key}`);
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('It did not come to be');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
}

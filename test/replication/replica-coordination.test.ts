import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Etcd } from '../../src/etcd/etcd.ts';
import { EtcdError } from '../../src/etcd/etcd-error.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { keysBelow } from '../../src/replication/keys.ts';
import {
  type LeaderContext,
  type Leading,
  openReplicaCoordination,
  type ReplicaCoordination,
} from '../../src/replication/replica-coordination.ts';
import { aborted } from '../../src/replication/session.ts';
import { type Term, TermEndedError } from '../../src/replication/term.ts';
import { transactInTerm } from '../../src/replication/transact.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const logger = createLogger('silent');
const LONG = { timeout: 20_000, interval: 20 };

interface Turn {
  readonly term: Term;
  readonly by: LeaderContext;
}

/** A replica that leads until its term is over or it is asked to resign. */
class Replica {
  readonly link: ReplicaCoordination;
  readonly turns: Turn[] = [];
  #isOn = true;

  constructor(etcd: Etcd, prefix: string, id: string, leading: Partial<Leading> = {}) {
    const self = { id, peer: `${id}:1`, url: `https://${id}`, version: '1' };
    this.link = openReplicaCoordination({
      etcd,
      keys: keysBelow(prefix),
      self,
      leaseSeconds: 2,
      logger,
      onRejoin: () => undefined,
    });
    this.link.lead({
      eligible: async () => undefined,
      run: async (term, by) => {
        this.turns.push({ term, by });
        await by.ready();
        await aborted(term.signal, by.resigning);
      },
      ...leading,
    });
  }

  get term(): Term | undefined {
    return this.turns.at(-1)?.term;
  }

  get leads(): boolean {
    return this.term?.isHeld() === true;
  }

  async close(): Promise<void> {
    if (!this.#isOn) return;
    this.#isOn = false;
    await this.link.close();
  }
}

describe.skipIf(ETCD_MISSING !== undefined)(`leader election ${ETCD_MISSING ?? ''}`, () => {
  let cluster: EtcdCluster;
  const open: { close(): Promise<void> }[] = [];
  let count = 0;

  beforeAll(async () => {
    cluster = await startEtcd({ members: 3, noFsync: true });
  });

  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });

  afterAll(async () => await cluster.stop());

  async function client(endpoints = cluster.endpoints): Promise<Etcd> {
    const etcd = await openEtcd({ endpoints });
    open.push(etcd);
    return etcd;
  }

  async function replica(prefix: string, id: string, of: { etcd?: Etcd } & Partial<Leading> = {}) {
    const { etcd = await client(), ...leading } = of;
    const made = new Replica(etcd, prefix, id, leading);
    open.push(made);
    return made;
  }

  async function proxied(): Promise<{ proxy: TcpProxy; etcd: Etcd }> {
    const proxy = await startTcpProxy(cluster.endpoints[0] ?? '');
    open.push(proxy);
    return { proxy, etcd: await client([proxy.address]) };
  }

  async function write(etcd: Etcd, term: Term, key: string): Promise<unknown> {
    return await transactInTerm(etcd, term.fence, [{ put: key, value: Buffer.from('x') }]);
  }

  test('picks one replica, which all know, and whose key is the term', async () => {
    const prefix = `/t${count++}/`;
    const all = [
      await replica(prefix, 'a'),
      await replica(prefix, 'b'),
      await replica(prefix, 'c'),
    ];
    await vi.waitFor(() => expect(all.every(({ link }) => link.leader?.ready)).toBe(true), LONG);
    const leading = all.filter(({ leads }) => leads);

    expect(leading).toHaveLength(1);
    const { leader } = all[0]?.link ?? {};
    expect(leader?.term).toBe(leading[0]?.term?.number);
    expect(new Set(all.map(({ link }) => link.leader?.id)).size).toBe(1);
    await vi.waitFor(
      () => expect(all[0]?.link.replicas.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']),
      LONG,
    );
  });

  test('hands over when the leader resigns, and ignores its later writes', async () => {
    const prefix = `/t${count++}/`;
    const etcd = await client();
    const first = await replica(prefix, 'a', { etcd });
    await vi.waitFor(() => expect(first.leads).toBe(true), LONG);
    const second = await replica(prefix, 'b');
    const { term } = first;
    if (term === undefined) throw new Error('nobody leads');
    await write(etcd, term, `${prefix}k`);

    await first.link.resign();

    expect(term.isHeld()).toBe(false);
    expect((await cluster.ctl(['get', `${prefix}handed-over`])).stdout).not.toBe('');
    await vi.waitFor(() => expect(second.leads).toBe(true), LONG);
    expect(second.term?.number).toBeGreaterThan(term.number);
    await expect(write(etcd, term, `${prefix}k`)).rejects.toThrow(TermEndedError);
  });

  test('stops a leader that is cut off before another leads, and fences it off afterwards', async () => {
    const prefix = `/t${count++}/`;
    const { proxy, etcd } = await proxied();
    const first = await replica(prefix, 'a', { etcd });
    await vi.waitFor(() => expect(first.leads).toBe(true), LONG);
    const { term } = first;
    if (term === undefined) throw new Error('nobody leads');
    let overlapped = false;
    const second = await replica(prefix, 'b', {
      run: async (own, by) => {
        overlapped = term.isHeld();
        await by.ready();
        await aborted(own.signal, by.resigning);
      },
    });

    proxy.blackhole();
    await vi.waitFor(() => expect(second.link.leader?.id).toBe('b'), LONG);

    expect(overlapped).toBe(false);
    expect(term.isHeld()).toBe(false);
    await vi.waitFor(() => expect(term.signal.aborted).toBe(true), LONG);
    await vi.waitFor(() => expect(first.link.silentMs).toBeGreaterThan(0), LONG);
    proxy.heal();
    await vi.waitFor(
      () => expect(write(etcd, term, `${prefix}k`)).rejects.toThrow(TermEndedError),
      LONG,
    );
    await vi.waitFor(() => expect(first.link.leader?.id).toBe('b'), LONG);
    await vi.waitFor(() => expect(first.link.silentMs).toBe(0), LONG);
  });

  test('a term ends when another client removes its key', async () => {
    const prefix = `/t${count++}/`;
    const first = await replica(prefix, 'a');
    await vi.waitFor(() => expect(first.leads).toBe(true), LONG);
    const { term } = first;

    await cluster.ctl(['del', `${prefix}leader`]);

    await vi.waitFor(() => expect(term?.signal.aborted).toBe(true), LONG);
    // Nothing keeps it from leading again, in another term.
    await vi.waitFor(() => expect(first.term?.number).toBeGreaterThan(term?.number ?? 0n), LONG);
  });

  test('prefers an up-to-date replica to one that is behind', async () => {
    const prefix = `/t${count++}/`;
    let late = false;
    const behind = await replica(prefix, 'a', {
      eligible: async (signal) => {
        await aborted(signal);
        late = true;
      },
    });
    const ahead = await replica(prefix, 'b');

    await vi.waitFor(() => expect(ahead.leads).toBe(true), LONG);

    await vi.waitFor(() => expect(late).toBe(true), LONG);
    expect(behind.turns).toHaveLength(0);
  });

  test('a replica that fails to lead gives the term back, so that another can try', async () => {
    const prefix = `/t${count++}/`;
    let tries = 0;
    const broken = await replica(prefix, 'a', {
      run: async () => {
        tries += 1;
        throw new Error('no disk');
      },
    });
    await vi.waitFor(() => expect(tries).toBeGreaterThan(0), LONG);

    const second = await replica(prefix, 'b');

    await vi.waitFor(() => expect(second.leads).toBe(true), LONG);
    expect(broken.leads).toBe(false);
    // It was never ready, so an earlier leader may still answer from what it knows.
    expect((await cluster.ctl(['get', `${prefix}handed-over`])).stdout).toBe('');
  });

  /** An etcd that, once, does not say what became of a transaction; it comes through a moment later. */
  function unsureOf(etcd: Etcd, isIt: (of: Parameters<Etcd['txn']>[0]) => boolean) {
    const seen: { late: Promise<unknown> | undefined } = { late: undefined };
    const unsure: Etcd = {
      place: etcd.place,
      range: (of) => etcd.range(of),
      scan: (of) => etcd.scan(of),
      watch: (of) => etcd.watch(of),
      grant: (seconds) => etcd.grant(seconds),
      compact: (revision) => etcd.compact(revision),
      close: () => etcd.close(),
      txn: async (of) => {
        if (seen.late !== undefined || !isIt(of)) return await etcd.txn(of);
        // On its way while we are told that nobody knows, and look; or it never gets there.
        const put = of.operations.some((operation) => 'put' in operation);
        const later = new Promise((resolve) => setTimeout(resolve, 300));
        seen.late = put ? later.then(() => etcd.txn(of)) : later;
        throw new EtcdError('nobody answered', { unknown: true });
      },
    };
    return { unsure, seen };
  }

  test('informs an elected replica whose answer was lost', async () => {
    const prefix = `/t${count++}/`;
    const { leader } = keysBelow(prefix);
    const { unsure, seen } = unsureOf(await client(), ({ compare }) =>
      compare.some(({ key }) => key === leader),
    );
    // Until it has come through it looks as if there was no leader: the next attempt waits so long.
    const eligible = async (): Promise<void> => void (await seen.late);
    const one = await replica(prefix, 'a', { etcd: unsure, eligible });
    await vi.waitFor(() => expect(one.leads).toBe(true), LONG);
    expect(seen.late).toBeDefined();
    expect(one.link.leader?.term).toBe(one.term?.number);
  });

  test('a term that could not be resigned does not block the next election', async () => {
    const prefix = `/t${count++}/`;
    const { leader } = keysBelow(prefix);
    const { unsure, seen } = unsureOf(await client(), ({ operations }) =>
      operations.some((operation) => 'remove' in operation && operation.remove === leader),
    );
    const one = await replica(prefix, 'a', { etcd: unsure });
    await vi.waitFor(() => expect(one.leads).toBe(true), LONG);
    const { term } = one;
    one.link.stepDown();
    await vi.waitFor(() => expect(one.term?.number).toBeGreaterThan(term?.number ?? 0n), LONG);
    expect(seen.late).toBeDefined();
    expect([one.leads, term?.isHeld()]).toEqual([true, false]);
  });

  test('a member of etcd may go: the same one leads', async () => {
    const prefix = `/t${count++}/`;
    const first = await replica(prefix, 'a');
    await vi.waitFor(() => expect(first.leads).toBe(true), LONG);
    const { term } = first;
    const [one] = cluster.members;

    await one?.kill();
    await one?.start();
    await cluster.healthy();

    await vi.waitFor(() => expect(first.leads).toBe(true), LONG);
    // On a machine that is slow enough the lease may have ended: then it is another term.
    expect(first.term === term || term?.signal.aborted).toBe(true);
  });
});

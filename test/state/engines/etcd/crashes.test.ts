/** What a crash, a lost answer or a late transaction leaves of the state in etcd. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd, TxnRequest, TxnResponse } from '../../../../src/etcd/etcd.ts';
import { EtcdError } from '../../../../src/etcd/etcd-error.ts';
import { openEtcd } from '../../../../src/etcd/open-etcd.ts';
import type { EngineWrite, StateEngine } from '../../../../src/state/engines/engine.ts';
import { compareBytes } from '../../../../src/state/objects/key-order.ts';
import { StateError } from '../../../../src/state/state-error.ts';
import { ETCD_MISSING, type EtcdCluster } from '../../../support/etcd.ts';
import { runs } from '../../../support/properties.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { bound, freshPrefix, openAt, sharedEtcd, stopSharedEtcd } from './harness.ts';

type State = Map<string, string>;

const LARGE = 'L'.repeat(530_000);

function set(key: string, value: string | undefined): EngineWrite {
  return { key, value: value === undefined ? undefined : Buffer.from(value) };
}

function many(value: string | undefined): EngineWrite[] {
  return Array.from({ length: 130 }, (_, i) => set(`many/${i}`, value));
}

/** Every way to write: alone, in a large batch, in parts, and over each other. */
const BATCHES: readonly (readonly EngineWrite[])[] = [
  [set('a', '1'), set('m/store', '1')],
  [...many('1'), set('m/store', '2')],
  [set('large', LARGE), set('m/store', '3')],
  [set('large', `${LARGE}2`), ...many('2'), set('gone', '1'), set('m/store', '4')],
  [...many(undefined), set('large', undefined), set('a', '2'), set('m/store', '5')],
  [set('large', LARGE), set('m/store', '6')],
  [set('large', 'small'), set('gone', undefined), set('m/store', '7')],
];

function applied(state: State, batch: readonly EngineWrite[]): State {
  const next = new Map(state);
  for (const { key, value } of batch) {
    if (value === undefined) next.delete(key);
    else next.set(key, String(value));
  }
  return next;
}

/** After no batch, after the first, and so on. */
const STATES: State[] = [new Map()];
for (const batch of BATCHES) STATES.push(applied(STATES.at(-1) ?? new Map(), batch));

describe.skipIf(ETCD_MISSING !== undefined)(`state in etcd ${ETCD_MISSING ?? ''}`, () => {
  let etcd: Etcd;
  let cluster: EtcdCluster;

  beforeAll(async () => {
    ({ etcd, cluster } = await sharedEtcd());
  });

  afterAll(() => stopSharedEtcd());

  async function state(prefix: string, engine: StateEngine): Promise<State> {
    const loaded: State = new Map();
    for await (const [key, value] of engine.load('')) loaded.set(key, value.toString());
    expect([...loaded.keys()]).toEqual([...loaded.keys()].sort(compareBytes));
    expect(prefix).toContain('place');
    return loaded;
  }

  /** Our own keys, once nothing is under way. */
  async function leftovers(prefix: string): Promise<string[]> {
    const { kvs } = await etcd.range({ key: `${prefix}~/`, prefix: true, keysOnly: true });
    return kvs.map(({ key }) => key.slice(prefix.length)).filter((key) => key !== '~/head');
  }

  test.each([
    { name: 'before it arrives', arrives: false },
    { name: 'after it has happened', arrives: true },
  ])(
    'a crash at any transaction, $name, leaves the state after some batch',
    async ({ arrives }) => {
      let reached = 0;
      for (let survives = 1; ; survives++) {
        const prefix = freshPrefix();
        const mortal = new MortalEtcd(etcd, survives, arrives);
        let flushed = 0;
        try {
          const engine = await openAt(mortal.as, prefix, { onError: () => undefined });
          for (const batch of BATCHES) {
            engine.write(batch);
            await engine.flush();
            flushed++;
          }
        } catch (error) {
          expect((error as Error).message).toBe('dead');
        }

        const next = await openAt(etcd, prefix);
        const found = await state(prefix, next);
        const after = STATES.findIndex((each) => isEqual(each, found));

        expect(after).toBeGreaterThanOrEqual(flushed);
        expect(after).toBeLessThanOrEqual(flushed + 1);
        next.write([set('later', '1')]);
        await next.flush();
        expect(isEqual(await state(prefix, next), applied(found, [set('later', '1')]))).toBe(true);
        const parts = await leftovers(prefix);
        const isCut = (found.get('large')?.length ?? 0) > 1000;
        expect(parts.every((key) => key.startsWith('~/v/') && key.endsWith('/large'))).toBe(true);
        expect(parts).toHaveLength(isCut ? 2 : 0);
        await next.close();
        reached = Math.max(reached, flushed);
        if (!mortal.isDead) break;
      }
      expect(reached).toBe(BATCHES.length);
    },
  );

  test('batches happen once and in order, whatever is lost or late', async () => {
    const fault = fc.constantFrom<Fault>('none', 'none', 'none', 'lost', 'answer lost', 'late');
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { minLength: 10, maxLength: 40 }), async (faults) => {
        const prefix = freshPrefix();
        const faulty = new FaultyEtcd(etcd, faults);
        const engine = await openAt(faulty.as, prefix);
        for (const [i, batch] of BATCHES.entries()) {
          engine.write(batch);
          if (i % 2 === 1) await engine.flush();
        }
        await engine.flush();
        await faulty.settled();

        expect(isEqual(await state(prefix, engine), STATES.at(-1) ?? new Map())).toBe(true);
        await engine.close();
      }),
      { numRuns: runs(5) },
    );
  });

  test('a writer that lost its right writes nothing any more', async () => {
    const prefix = freshPrefix();
    const lock = `${prefix.slice(0, -1)}-lock`;
    const { revision } = await etcd.txn({
      compare: [],
      operations: [{ put: lock, value: Buffer.from('1') }],
    });
    const errors: Error[] = [];
    const engine = await openAt(etcd, prefix, {
      fence: [{ key: lock, createRevision: revision }],
      ended: () => new Error('not any more'),
      onError: (error) => errors.push(error),
    });
    engine.write([set('a', '1')]);
    await engine.flush();
    await etcd.txn({ compare: [], operations: [{ remove: lock }] });

    engine.write([set('a', '2')]);

    await expect(engine.flush()).rejects.toThrow('not any more');
    engine.write([set('a', '3')]);
    await expect(engine.flush()).rejects.toThrow('not any more');
    await expect(engine.close()).rejects.toThrow('not any more');
    expect(errors).toHaveLength(1);
    const next = await openAt(etcd, prefix);
    expect([...(await state(prefix, next))]).toEqual([['a', '1']]);
    await next.close();
    const late = openAt(etcd, prefix, {
      fence: [{ key: lock, createRevision: revision }],
      ended: () => new Error('not any more'),
    });
    await expect(late).rejects.toThrow('not any more');
  });

  test('a signal ends it at once, and what waited is refused', async () => {
    const prefix = freshPrefix();
    const term = new AbortController();
    const ended = (): Error => new Error('over');
    const engine = await openAt(etcd, prefix, { signal: term.signal, ended });
    engine.write([set('a', '1')]);
    const waiting = engine.flush();

    term.abort();

    await expect(waiting).rejects.toThrow('over');
    await expect(engine.flush()).rejects.toThrow('over');
    await expect(engine.close()).rejects.toThrow('over');
  });

  test('the later of two writers to one place goes on', async () => {
    const prefix = freshPrefix();
    const errors: Error[] = [];
    const first = await openAt(etcd, prefix, { onError: (error) => errors.push(error) });
    const second = await openAt(etcd, prefix);

    first.write([set('a', '1')]);
    second.write([set('a', '2')]);

    await expect(first.flush()).rejects.toThrow('is also written by another gitplane');
    await second.flush();
    expect([...(await state(prefix, second))]).toEqual([['a', '2']]);
    expect(errors[0]).toBeInstanceOf(StateError);
    await first.close().catch(() => undefined);
    await second.close();
  });

  test('a lost etcd is reported to all waiters, once to the log, and retried', async () => {
    const prefix = freshPrefix();
    const proxy = await startTcpProxy(cluster.endpoints[0] ?? '');
    const far = await openEtcd({ endpoints: [proxy.address], timeoutMs: 300 });
    const heard: string[] = [];
    const engine = await openAt(far, prefix, {
      timeoutMs: 100,
      onError: (error) => heard.push(error.message),
      onRecovered: () => heard.push('recovered'),
    });
    proxy.refuse();
    proxy.cut();
    engine.write([set('a', '1')]);
    const refusal: unknown = await engine.flush().catch((error: unknown) => error);
    engine.write([set('b', '1')]);
    await expect(engine.flush()).rejects.toThrow(StateError);

    expect(refusal).toBeInstanceOf(StateError);
    expect((refusal as StateError).code).toBe('EUNREACH');
    expect((refusal as StateError).message).toContain(`etcd://${proxy.address}`);

    proxy.heal();
    while (heard.at(-1) !== 'recovered') await new Promise((resolve) => setTimeout(resolve, 10));
    await engine.flush();

    expect(heard).toHaveLength(2);
    expect([...(await state(prefix, engine)).keys()]).toEqual(['a', 'b']);
    await engine.close();
    await far.close();
    await proxy.close();
  });
});

function isEqual(a: State, b: State): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

/** An etcd that some transactions reach, and after that nobody. */
class MortalEtcd {
  readonly as: Etcd;
  isDead = false;
  #left: number;

  constructor(etcd: Etcd, survives: number, arrives: boolean) {
    this.#left = survives;
    this.as = {
      ...bound(etcd),
      txn: async (request) => {
        if (this.#left-- > 0) return await etcd.txn(request);
        if (!this.isDead && arrives) await etcd.txn(request);
        this.isDead = true;
        throw new Error('dead');
      },
    };
  }
}

/** `late`: it arrives when something else has happened meanwhile. */
type Fault = 'none' | 'lost' | 'answer lost' | 'late';

class FaultyEtcd {
  readonly as: Etcd;
  readonly #etcd: Etcd;
  readonly #faults: Fault[];
  #late: TxnRequest[] = [];
  readonly #arriving: Promise<unknown>[] = [];

  constructor(etcd: Etcd, faults: readonly Fault[]) {
    this.#etcd = etcd;
    this.#faults = [...faults];
    this.as = { ...bound(etcd), txn: (request) => this.#txn(request) };
  }

  async settled(): Promise<void> {
    this.#deliver();
    await Promise.all(this.#arriving);
  }

  async #txn(request: TxnRequest): Promise<TxnResponse> {
    const fault = this.#faults.shift() ?? 'none';
    if (fault === 'late') this.#late.push(request);
    if (fault === 'answer lost') await this.#etcd.txn(request);
    if (fault !== 'none') throw new EtcdError(fault, { unknown: true });
    // In one order or the other.
    if (this.#faults.length % 2 === 0) this.#deliver();
    const answer = await this.#etcd.txn(request);
    this.#deliver();
    return answer;
  }

  #deliver(): void {
    for (const request of this.#late.splice(0)) this.#arriving.push(this.#etcd.txn(request));
  }
}

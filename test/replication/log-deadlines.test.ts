/** Moves of the branch that etcd does not take: each ends within its deadline, and later ones go on. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Etcd, TxnRequest } from '../../src/etcd/etcd.ts';
import { EtcdError } from '../../src/etcd/etcd-error.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { campaign, type LeaderTerm } from '../../src/replication/election.ts';
import { keysBelow } from '../../src/replication/keys.ts';
import { RepositoryLog } from '../../src/replication/repository-log.ts';
import { TermEndedError } from '../../src/replication/term.ts';
import { toStatusError } from '../../src/server/errors.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';

const codec = sealingCodec(Buffer.alloc(32, 7), () => true);
/** A busy etcd answers within this time; moves that it takes come last in these tests. */
const PATIENCE_MS = 2_000;
/** Between two attempts; timers may be a millisecond early. */
const RETRY_MS = 49;

describe.skipIf(ETCD_MISSING !== undefined)(
  `the log of the repository ${ETCD_MISSING ?? ''}`,
  () => {
    let cluster: EtcdCluster;
    let etcd: Etcd;
    let count = 0;
    let lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });

    beforeAll(async () => {
      cluster = await startEtcd({ noFsync: true });
      etcd = await openEtcd({ endpoints: cluster.endpoints });
    });

    beforeEach(() => {
      lines = [];
    });

    afterAll(async () => {
      await etcd?.close();
      await cluster?.stop();
    });

    /** `fail`: what becomes of a transaction of the log; undefined: etcd does it. */
    async function open(
      fail: (request: TxnRequest) => Promise<never> | undefined,
      timeoutMs = PATIENCE_MS,
    ): Promise<{ log: RepositoryLog; term: LeaderTerm }> {
      const keys = keysBelow(`/t${count++}/`);
      const lease = await etcd.grant(60);
      const data = { id: 'a', peer: '', url: '', version: '', ready: true };
      const term = await campaign({ etcd, key: keys.leader, lease, data });
      if (term === undefined) throw new Error('somebody else leads');
      const client: Etcd = {
        place: etcd.place,
        range: (request) => etcd.range(request),
        scan: (request) => etcd.scan(request),
        watch: (request) => etcd.watch(request),
        grant: (seconds) => etcd.grant(seconds),
        compact: (revision) => etcd.compact(revision),
        close: () => etcd.close(),
        txn: (request) => fail(request) ?? etcd.txn(request),
      };
      const of = { etcd: client, keys, codec, term, logger, timeoutMs };
      return { log: await RepositoryLog.open(of), term };
    }

    function move(from: string | undefined, to: string) {
      return { from, to: to.repeat(40), pack: Buffer.from('p'), index: undefined };
    }

    test.each([
      ['EFULL', 507, 'etcdctl alarm disarm'],
      ['EREFUSED', 503, 'etcd refuses: nothing was written'],
    ] as const)(
      'ends a move at once that etcd certainly refuses (%s), and takes the next',
      async (code, status, text) => {
        let isRefusing = false;
        let tries = 0;
        const { log, term } = await open((request) => {
          if (!isRefusing || !request.operations.some((each) => 'put' in each)) return undefined;
          tries += 1;
          return Promise.reject(new EtcdError('no', { code }));
        }, 60_000);
        isRefusing = true;
        const ended = await Promise.allSettled([
          log.append(move(undefined, 'a')),
          log.append(move(undefined, 'b')),
        ]);
        for (const one of ended) {
          const told = toStatusError(one.status === 'rejected' ? one.reason : undefined).status;
          expect(told.toStatus().code).toBe(status);
          expect(told.message).toContain(text);
        }
        expect(tries).toBe(2);
        expect(term.isHeld()).toBe(true);
        isRefusing = false;
        await log.append(move(undefined, 'c'));
        expect(log.head?.commit).toBe('c'.repeat(40));
      },
    );

    test('ends a move that etcd cannot be given, keeps the term, and takes the next', async () => {
      let isAway = false;
      let tries = 0;
      const { log, term } = await open(() => {
        if (!isAway) return undefined;
        tries += 1;
        return Promise.reject(new EtcdError('away', { code: 'EUNREACH' }));
      });
      isAway = true;
      const error = await log.append(move(undefined, 'a')).catch((err: unknown) => err);
      expect(toStatusError(error).status.message).toContain(
        'etcd cannot be reached: nothing was written',
      );
      expect(term.isHeld()).toBe(true);
      expect(tries).toBeGreaterThan(1);
      expect(tries).toBeLessThanOrEqual(PATIENCE_MS / RETRY_MS + 1);
      expect(lines.filter((line) => line.includes('trying again'))).toHaveLength(1);
      isAway = false;
      await log.append(move(undefined, 'b'));
      expect(log.head?.sequence).toBe(1);
    });

    test.each(['never answers', 'says that it does not know'])(
      'ends the term with a move of which etcd %s, and all that wait behind it',
      async (which) => {
        let isOpen = false;
        const { log, term } = await open(() => {
          if (!isOpen) return undefined;
          if (which === 'never answers') return new Promise(() => undefined);
          return Promise.reject(new EtcdError('who knows', { unknown: true, code: 'EUNREACH' }));
        });
        isOpen = true;
        const begun = performance.now();
        const ended = await Promise.allSettled(
          ['a', 'b', 'c'].map((to) => log.append(move(undefined, to))),
        );
        expect(performance.now() - begun).toBeLessThan(PATIENCE_MS * 3);
        expect(ended.map((one) => one.status === 'rejected' && one.reason)).toEqual(
          ended.map(() => expect.any(TermEndedError)),
        );
        expect(term.isHeld()).toBe(false);
        expect(lines.join('')).toContain('did not say in time whether it took a commit');
        expect(log.head).toBeUndefined();
      },
    );
  },
);

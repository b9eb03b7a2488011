/** A takeover that makes no progress: its replica gives the term up, and another one leads. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Leader } from '../../../src/daemon/replicated/leader.ts';
import { Role, type RoleOptions } from '../../../src/daemon/replicated/role.ts';
import { openEtcd } from '../../../src/etcd/open-etcd.ts';
import { keysBelow } from '../../../src/replication/keys.ts';
import {
  openReplicaCoordination,
  type ReplicaCoordination,
} from '../../../src/replication/replica-coordination.ts';
import { aborted } from '../../../src/replication/session.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../../support/etcd.ts';

const LONG = { timeout: 20_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });
const LIMITS = { stallMs: 1, closeMs: 60_000 };

describe.skipIf(ETCD_MISSING !== undefined)(
  `a takeover without progress ${ETCD_MISSING ?? ''}`,
  () => {
    let cluster: EtcdCluster;
    let count = 0;

    beforeAll(async () => {
      cluster = await startEtcd({ members: 1, noFsync: true });
    });
    afterAll(async () => await cluster.stop());

    const closed: string[] = [];
    const exits: string[] = [];
    const leader = (id: string): Leader =>
      ({ close: async () => void closed.push(id), handle: () => undefined }) as unknown as Leader;

    async function replica(prefix: string, id: string, of: Partial<RoleOptions>) {
      const lines: string[] = [];
      const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
      const etcd = await openEtcd({ endpoints: cluster.endpoints });
      const link: ReplicaCoordination = openReplicaCoordination({
        etcd,
        keys: keysBelow(prefix),
        self: { id, peer: `${id}:1`, url: `https://${id}`, version: '1' },
        leaseSeconds: 2,
        logger,
        onRejoin: () => undefined,
      });
      const role = new Role({
        logger,
        eligible: async () => undefined,
        found: async () => undefined,
        open: async () => leader(id),
        exit: (reason) => void exits.push(reason),
        limits: LIMITS,
        ...of,
      });
      onTestFinished(async () => {
        await link.close();
        await etcd.close();
      });
      return { link, role, lines };
    }

    test('another replica leads, and this one takes part again when its steps have ended', async () => {
      const prefix = `/s${count++}/`;
      let attempts = 0;
      const a = await replica(prefix, 'a', {
        open: async (term, steps) => {
          attempts += 1;
          steps.begin('the log in etcd');
          await aborted(term.signal);
          return leader('late');
        },
      });
      a.link.lead(a.role);
      await vi.waitFor(() => expect(attempts).toBe(1), LONG);
      const b = await replica(prefix, 'b', {});
      b.link.lead(b.role);
      await vi.waitFor(() => expect(a.link.leader).toMatchObject({ id: 'b', ready: true }), LONG);

      expect(closed).toEqual(['late']);
      expect(exits).toEqual([]);
      expect(a.lines.join('')).toContain('no progress for 0.001 s: the log in etcd, for');
      await b.link.close();
      await vi.waitFor(() => expect(attempts).toBe(2), LONG);
    });

    test('steps that do not end with the term end the process', async () => {
      const { link, role } = await replica(`/s${count++}/`, 'c', {
        open: async (_term, steps) => {
          steps.begin('a process that hangs');
          return await new Promise<Leader>(() => undefined);
        },
        limits: { stallMs: 1, closeMs: 1 },
      });
      link.lead(role);
      await vi.waitFor(
        () => expect(exits).toEqual(['A takeover without progress did not end']),
        LONG,
      );
      await vi.waitFor(() => expect(link.leader).toBeUndefined(), LONG);
    });
  },
);

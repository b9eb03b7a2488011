/**
 * Clients of old versions, which are in use for years: the programs of the newest client-go and controller-runtime
 * built with controller-runtime 0.16, and a leader election of client-go 0.23 by ConfigMaps.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { failedClaims, failedClaimsOf, goProgram, type Running, start } from './program.ts';

const LIMIT = 1_800_000;
const SOON = { timeout: 60_000, interval: 50 };
const DEFAULTS = '/kubernetes/management/api/v1/namespaces/default';
const HOLDER = 'control-plane.alpha.kubernetes.io/leader';

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('old Go clients', () => {
  const running: Running[] = [];
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    for (const one of running) one.kill();
    await daemon?.stop();
  });

  const kubeconfig = (): string => join(daemon.dataDir, 'kubeconfig');

  function launch(program: string, ...args: string[]): Running {
    const one = start(program, args);
    running.push(one);
    return one;
  }

  test.each(['writes', 'typed'])(
    'client-go 0.28 %s',
    async (what) => {
      const program = older();
      if (program === undefined) return;
      expect(await failedClaims(program, [what, kubeconfig()])).toEqual([]);
    },
    LIMIT,
  );

  test(
    'controller-runtime 0.16 reconciles with finalizers, owners and indexes, and follows with informers',
    async (context) => {
      const program = older();
      if (program === undefined) return context.skip();
      const informers = launch(program, 'informers', kubeconfig());
      await informers.until((verdict) => verdict.following !== undefined);
      const controller = launch(program, 'controller', kubeconfig());
      await controller.until((verdict) => verdict.waiting !== undefined);
      controller.tell('go on');
      expect(await failedClaimsOf(controller, 'controller')).toEqual([]);
      informers.tell('after the controller');
      await informers.until(({ claim }) => claim === 'after the controller');
      expect(await failedClaimsOf(informers, 'informers')).toEqual([]);
    },
    LIMIT,
  );

  test(
    'leader election of controller-runtime 0.16 hands over from one manager to the other',
    async (context) => {
      const program = older();
      if (program === undefined) return context.skip();
      await expectHandover(['one', 'two'].map(() => launch(program, 'elected', kubeconfig())));
    },
    LIMIT,
  );

  test.each(['configmaps', 'configmapsleases'])(
    'client-go 0.23 elects a leader by %s',
    async (kind) => {
      const program = goProgram({ folder: join(import.meta.dirname, 'configmap-lock') });
      if (program === undefined) return;
      const [lock, path] = [`lock-${kind}`, `${DEFAULTS}/configmaps/lock-${kind}`];
      const holder = async (): Promise<string> => {
        const { metadata } = (await daemon.call('GET', path)).json();
        return JSON.parse(metadata.annotations[HOLDER]).holderIdentity;
      };
      const last = await expectHandover(
        ['one', 'two'].map((name) => launch(program, kind, kubeconfig(), lock, name)),
        async ({ leading }) => expect(await holder()).toBe(leading),
      );
      last.kill('SIGTERM');
      expect(await failedClaimsOf(last, kind)).toEqual([]);
      // A client that is stopped in the middle of a renewal cannot let go: its lease ends then.
      const third = launch(program, kind, kubeconfig(), lock, 'three');
      await third.until(({ leading }) => leading === 'three');
      // Its recorder tells of the ConfigMap, and of the Lease beside it.
      await vi.waitFor(async () => {
        const { items } = (await daemon.call('GET', `${DEFAULTS}/events`)).json();
        const about = (
          items as { reason: string; involvedObject: { kind: string; name: string } }[]
        )
          .filter(({ involvedObject }) => involvedObject.name === lock)
          .map(({ reason, involvedObject }) => `${involvedObject.kind} ${reason}`);
        expect(about).toContain('ConfigMap LeaderElection');
      }, SOON);
    },
    LIMIT,
  );

  /** Kills the process that leads; the other one has to lead then. Returns it. */
  async function expectHandover(
    [one, two]: readonly Running[],
    check: (verdict: { leading?: string }) => Promise<void> = async () => undefined,
  ): Promise<Running> {
    if (one === undefined || two === undefined) throw new Error('There are two candidates');
    const leads = ({ leading }: { leading?: string }): boolean => leading !== undefined;
    const first = await Promise.any([
      one.until(leads).then(() => one),
      two.until(leads).then(() => two),
    ]);
    const other = first === one ? two : one;
    await check(await first.until(leads));
    expect(other.verdicts).toEqual([]);
    first.kill();
    await check(await other.until(leads));
    return other;
  }
});

function older(): string | undefined {
  return goProgram({ requirements: '0.16.mod', tags: 'older' });
}

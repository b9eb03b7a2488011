/**
 * client-go and controller-runtime, as they are, against the real daemon: informers with and without
 * streamed lists through restarts, a kill and lost state; writers who retry, applies, typed clients in
 * protobuf; a controller with finalizers, owners, indexes and predicates; managers of which one leads.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { failedClaims, goProgram, type Running, start } from './program.ts';

const BUILD_LIMIT = 300_000;
/** Reflectors wait for up to half a minute after a server was away. */
const PATIENCE = 300_000;
const WAIT = { timeout: 60_000, interval: 50 };
/** True if a run of the clients was requested. */
const isLong = process.env['GITPLANE_CLIENTS'] !== undefined;
/** Restarts after the kill. Reflectors wait twice as long after each, and forget it in two minutes. */
const ROUNDS = isLong ? 6 : 0;

const ROOT = '/kubernetes/management';
const LEASE = `${ROOT}/apis/coordination.k8s.io/v1/namespaces/default/leases/witnesses`;

let program: string | undefined;
let daemon: Daemon;
let informers: readonly Running[] = [];
let managers: readonly Running[] = [];
const running: Running[] = [];

beforeAll(async () => {
  program = goProgram();
  if (program === undefined) return;
  daemon = await startDaemon();
  informers = ['informers', 'metadata'].flatMap((what) =>
    ['true', 'false'].map((streamed) =>
      launch(what, {
        KUBE_FEATURE_WatchListClient: streamed,
        // client-go compares what was streamed with a list, and panics. (Of metadata it reads the
        // kind in lists alone, unless they are protobuf: there it would find that.)
        KUBE_WATCHLIST_INCONSISTENCY_DETECTOR: String(what === 'informers'),
      }),
    ),
  );
  managers = [launch('elected'), launch('elected')];
}, BUILD_LIMIT);
afterAll(async () => {
  for (const one of running) one.kill();
  await daemon?.stop();
});

const kubeconfig = (): string => join(daemon.dataDir, 'kubeconfig');

/** On the port that clients know. */
async function startAgain(): Promise<void> {
  const { dataDir, port } = daemon;
  daemon = await startDaemon({ dataDir, args: ['--listen', `127.0.0.1:${port}`] });
}

async function loseState(): Promise<void> {
  await rm(join(daemon.dataDir, 'state'), { recursive: true });
}

function launch(what: string, env: Readonly<Record<string, string>> = {}): Running {
  const one = start(program ?? '', [what, kubeconfig()], env);
  running.push(one);
  return one;
}

async function expectInStep(claim: string): Promise<void> {
  for (const one of informers) one.tell(claim);
  for (const one of informers) {
    expect(await one.until((verdict) => verdict.claim === claim)).toEqual({ claim });
  }
}

/** Objects that are made, changed, selected or not, and deleted, in namespaces and outside. */
async function churn(round: number): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const name = `churned-${i}`;
    const labels = { churn: (i + round) % 3 === 0 ? 'off' : 'on' };
    const body = { metadata: { name, labels }, spec: { displayName: `Round ${round}` } };
    for (const place of ['teams', `namespaces/churn-${i % 3}/sharedsecrets`]) {
      const path = `${API}/${place}/${name}`;
      const there = (await daemon.call('GET', path)).code === 200;
      const { code, text } = !there
        ? await daemon.call('POST', `${API}/${place}`, { body })
        : (i + round) % 4 === 0
          ? await daemon.call('DELETE', path)
          : await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' });
      expect([200, 201], text).toContain(code);
    }
  }
}

interface EventBody {
  readonly reason: string;
  readonly message?: string;
  readonly note?: string;
}

/** What a manager that leads records of a team, in each of the two APIs. */
async function expectSeen(by: string, team: string): Promise<void> {
  const body = { metadata: { name: team, labels: { witnessed: 'yes' } } };
  expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
  const told = async (path: string): Promise<string[]> => {
    const { items } = (await daemon.call('GET', `${ROOT}${path}`)).json();
    return (items as EventBody[]).map(
      ({ reason, message, note }) => `${reason}: ${message ?? note}`,
    );
  };
  const all = [`Seen: seen by ${by}`, `Witnessed: witnessed by ${by}`];
  const aboutIt = encodeURIComponent(`regarding.name=${team}`);
  await vi.waitFor(async () => {
    expect(await told('/api/v1/namespaces/default/events')).toEqual(expect.arrayContaining(all));
    const newer = `/apis/events.k8s.io/v1/events?fieldSelector=${aboutIt}`;
    expect((await told(newer)).sort()).toEqual(all);
  }, WAIT);
}

/** The manager that leads, and its number. */
async function leading(among: readonly Running[]): Promise<{ manager: Running; id: string }> {
  return await Promise.any(
    among.map(async (manager) => {
      const { leading: id = '' } = await manager.until((verdict) => verdict.leading !== undefined);
      return { manager, id };
    }),
  );
}

describe('client-go', () => {
  test(
    'informers follow all that discovery offers',
    async (context) => {
      if (program === undefined) return context.skip();
      for (const one of informers) {
        const { following } = await one.until((verdict) => verdict.following !== undefined);
        expect(following).toBeGreaterThan(12);
      }
      await churn(0);
      await expectInStep('after changes');
    },
    PATIENCE,
  );

  test('writes, applies, pages and watches with the dynamic client', async (context) => {
    if (program === undefined) return context.skip();
    expect(await failedClaims(program, ['writes', kubeconfig()])).toEqual([]);
  });

  test('the leader election of two managers picks one, which records events', async (context) => {
    if (program === undefined) return context.skip();
    const { manager, id } = await leading(managers);
    await expectSeen(id, 'seen-first');
    // The other one is left; what is in between now is the time that its lease has to run.
    managers = managers.filter((one) => one !== manager);
    manager.kill();
  });

  test('writes and reads with Go types, in protobuf where it has them', async (context) => {
    if (program === undefined) return context.skip();
    expect(await failedClaims(program, ['typed', kubeconfig()])).toEqual([]);
  });
});

test('the other manager takes over, and releases the lease when it ends', async (context) => {
  if (program === undefined) return context.skip();
  const [other] = managers;
  const { id } = await leading(managers);
  await expectSeen(id, 'seen-second');
  const { spec } = (await daemon.call('GET', LEASE)).json();
  expect(spec.leaseTransitions).toBeGreaterThan(0);
  expect(spec.holderIdentity).not.toBe('');
  other?.kill('SIGTERM');
  await vi.waitFor(async () => {
    expect((await daemon.call('GET', LEASE)).json().spec.holderIdentity).toBe('');
  }, WAIT);
});

test(
  'a controller of controller-runtime does its work, through a kill of the daemon',
  async (context) => {
    if (program === undefined) return context.skip();
    const controller = launch('controller');
    await controller.until((verdict) => verdict.waiting !== undefined);
    const lease = (await daemon.call('GET', LEASE)).json();
    await daemon.stop('SIGKILL');
    // It is the one restart then: what is new to informers afterwards has to be in it.
    if (!isLong) await loseState();
    await startAgain();
    expect((await daemon.call('GET', LEASE)).json()).toEqual(lease);
    controller.tell('go on');
    expect(await controller.end()).toBe(0);
    expect(controller.verdicts.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(controller.verdicts.length).toBeGreaterThan(8);
  },
  PATIENCE,
);

test(
  'informers end with what lists say, through restarts and lost state',
  async (context) => {
    if (program === undefined) return context.skip();
    await churn(1);
    await expectInStep('after the kill');
    for (let round = 1; round <= ROUNDS; round++) {
      await daemon.stop(round % 3 === 0 ? 'SIGKILL' : 'SIGTERM');
      if (round % 2 === 1) await loseState();
      await startAgain();
      await churn(round + 1);
      await expectInStep(`after restart ${round}`);
    }
    for (const one of informers) expect(await one.end()).toBe(0);
  },
  PATIENCE,
);

/** Pull requests that are planned, and what is enqueued about them. */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/object.ts';
import type { PullOutcome } from '../../../src/daemon/outgoing/pull-planner.ts';
import { PullPlans, type PullPlansParts } from '../../../src/daemon/outgoing/pull-plans.ts';
import type { Pull } from '../../../src/forges/forge.ts';
import type { Plan } from '../../../src/history/plan.ts';
import type { NewDelivery } from '../../../src/outbox/delivery.ts';

const [HEAD, NEXT, BASE, LATER] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
  string,
];
const pull = (number: number, more: Partial<Pull> = {}): Pull => {
  return { number, url: '', head: 'topic', commit: HEAD, isFork: false, ...more };
};

const plan: Plan = {
  from: BASE,
  to: HEAD,
  verdict: 'accepted',
  summary: { create: 0, update: 0, delete: 0, recreate: 0, move: 0 },
  changes: [],
  problems: [],
  warnings: [],
  objections: [],
};
const planned: PullOutcome = { is: 'planned', plan, prunes: 0, encrypted: new Set() };

/** A forge and a state that tests change. */
function looking(given: Partial<PullPlansParts> = {}) {
  const world = {
    pulls: [pull(7)] as Pull[],
    outcome: planned as PullOutcome | Error,
    base: BASE as string | undefined,
    suspended: false,
    now: 0,
    asked: 0,
    documents: new Map<string, JsonObject>(),
    errors: [] as unknown[],
  };
  const enqueued: NewDelivery[] = [];
  const tried: string[] = [];
  const open = (more: Partial<PullPlansParts> = {}): PullPlans =>
    new PullPlans({
      outbox: {
        enqueue: async (deliveries, documents = {}) => {
          enqueued.push(...deliveries);
          for (const [name, document] of Object.entries(documents)) {
            if (document === undefined) world.documents.delete(name);
            else world.documents.set(name, document);
          }
        },
      },
      store: {
        document: (name) => world.documents.get(name),
        documents: (prefix) =>
          [...world.documents].filter(([name]) => name.startsWith(prefix)).values(),
      },
      forge: {
        openPulls: async () => {
          world.asked += 1;
          return world.pulls;
        },
      },
      plan: async ({ number, commit }, base) => {
        tried.push(`${number} ${commit[0]} ${base[0]}`);
        if (world.outcome instanceof Error) throw world.outcome;
        return world.outcome;
      },
      base: async () => world.base,
      isSuspended: () => world.suspended,
      includesForks: false,
      branch: 'main',
      context: 'gitplane',
      place: 'here',
      url: () => undefined,
      clock: { now: () => world.now },
      onError: (error) => world.errors.push(error),
      restMs: 0,
      ...given,
      ...more,
    });
  /** Topics that a look enqueues. */
  const look = async (plans: PullPlans): Promise<(string | undefined)[]> => {
    await plans.check();
    return enqueued.splice(0).map(({ topic }) => topic);
  };
  return { world, tried, open, look };
}

const REPORTED = [`plan status ${HEAD}`, 'plan 7'];

test('a plan is reported once, also over a restart, and again for a new head', async () => {
  const { world, tried, open, look } = looking();
  const plans = open();
  expect(await look(plans)).toEqual(REPORTED);
  expect(await look(plans)).toEqual([]);
  expect(tried).toEqual(['7 a c']);
  const restarted = open();
  expect(await look(restarted)).toEqual([]);
  expect(restarted.planOf(7)).toEqual(plan);
  world.pulls = [pull(7, { commit: NEXT })];
  expect(await look(restarted)).toEqual([`plan status ${NEXT}`, 'plan 7']);
});

test('a move of the followed branch is planned after a while, and the same plan is no news', async () => {
  const { world, tried, open, look } = looking();
  const plans = open();
  await look(plans);
  world.base = LATER;
  expect(await look(plans)).toEqual([]);
  expect(tried).toHaveLength(1);
  world.now = 5 * 60_000;
  expect(await look(plans)).toEqual([]);
  expect(tried).toEqual(['7 a c', '7 a d']);
  world.base = BASE;
  world.now *= 2;
  world.outcome = { is: 'conflict', paths: ['teams/a.yaml'] };
  expect(await look(plans)).toEqual(REPORTED);
  expect(plans.planOf(7)).toBeUndefined();
});

test.each<[string, Partial<PullPlansParts>, Pull[], string[]]>([
  ['no fork', {}, [pull(1, { isFork: true }), pull(2)], ['2 a c']],
  ['forks where they are wanted', { includesForks: true }, [pull(1, { isFork: true })], ['1 a c']],
  [
    'the first 50',
    {},
    Array.from({ length: 60 }, (_, at) => pull(at)),
    Array.from({ length: 50 }, (_, at) => `${at} a c`),
  ],
])(
  'plans %s',
  async (_title, given, pulls, expected) => {
    const { world, tried, open, look } = looking(given);
    world.pulls = pulls;
    await look(open());
    expect(tried).toEqual(expected);
  },
  30_000,
);

test('a suspension asks the forge nothing, and a branch that moves is waited for', async () => {
  const { world, tried, open, look } = looking();
  const plans = open();
  world.suspended = true;
  await look(plans);
  world.suspended = false;
  world.base = undefined;
  expect(await plans.check()).toBe(false);
  expect([world.asked, tried]).toEqual([0, []]);
  world.base = BASE;
  world.outcome = { is: 'outdated' };
  expect(await plans.check()).toBe(false);
  world.outcome = planned;
  expect(await look(plans)).toEqual(REPORTED);
});

test('a pull request that cannot be planned delays no other, and is tried again after a while', async () => {
  const { world, tried, open, look } = looking();
  const plans = open();
  world.pulls = [pull(7), pull(8)];
  world.outcome = new Error('the remote is away');
  expect(await look(plans)).toEqual([]);
  expect(tried).toEqual(['7 a c', '8 a c']);
  expect(world.errors).toHaveLength(2);
  expect(await look(plans)).toEqual([]);
  expect(tried).toHaveLength(2);
  world.now = 5 * 60_000;
  world.outcome = planned;
  expect(await look(plans)).toHaveLength(4);
});

test('records of closed pull requests are removed', async () => {
  const { world, open, look } = looking();
  const plans = open();
  await look(plans);
  expect([...world.documents.keys()]).toEqual(['forge:pull:7']);
  world.pulls = [];
  expect(await look(plans)).toEqual([]);
  expect(world.documents.size).toBe(0);
  expect(plans.planOf(7)).toBeUndefined();
});

test('a commit that the branch has is not reported', async () => {
  const { world, open, look } = looking();
  world.outcome = { is: 'merged' };
  expect(await look(open())).toEqual([]);
});

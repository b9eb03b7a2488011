/**
 * Acknowledged means durable (design, invariant 1), over the whole daemon: it is killed at each of
 * its operations on files and at any instant, alone and with its children, while clients write and
 * push. `npm run faults` goes on for as long as it is told.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { API, scratchDir } from '../support/daemon.ts';
import { killGroup, startFaultyDaemon } from '../support/faults/fault-daemon.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { budget, SEED, say, timeoutMs } from './budget.ts';
import { Campaign, type Ending } from './campaign.ts';
import { repositoryOf } from './history.ts';
import { Sites } from './sites.ts';

const CAMPAIGN_SECONDS = 20;
const FIRST_STARTS_SECONDS = 6;
/** Then another daemon begins anew: checking a history costs what it is long. */
const ROUNDS = 25;

function nextEnding(sites: Sites, random: Random, round: number): Ending {
  const after = 1 + random.below(40);
  if (round === 0) return { how: 'stop', after };
  // This one shows which operations there are.
  if (round === 1) return { how: 'instant', after: 25, group: true };
  const roll = random.next();
  if (roll < 0.6) return { how: 'site', kill: sites.next(random) };
  if (roll < 0.9) return { how: 'instant', after, group: roll < 0.8 };
  return { how: 'stop', after };
}

test(
  `a daemon that is killed anywhere keeps what it acknowledged (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const goOn = budget(CAMPAIGN_SECONDS);
    const sites = new Sites();
    const totals = new Map<string, number>();
    const violations: string[] = [];
    do {
      const campaign = new Campaign({ seed: random.below(2 ** 31) });
      for (let round = 0; round < 2 || (round < ROUNDS && goOn()); round++) {
        const ending = nextEnding(sites, random, round);
        // One a round: how often an operation comes is counted in the life of one daemon.
        const trace = join(scratchDir(), 'trace');
        // A first start does things that are never done again; they have a test of their own.
        const { ended } = await campaign.round(ending, round === 0 ? undefined : trace);
        if (round > 0) sites.take(trace);
        const met = ended === 'while it started' || ended === 'in the round';
        if (met && ending.how === 'site') sites.met(ending.kill);
        count(totals, { [`ended ${ended}`]: 1, rounds: 1 });
        if (campaign.journal.violations.length > violations.length) say(JSON.stringify(ending));
      }
      await campaign.finish();
      count(totals, summaryOf(campaign));
      violations.push(...campaign.journal.violations);
      const refusals = [...campaign.journal.refusals].map(([text, times]) => `${times} ${text}`);
      say([JSON.stringify(Object.fromEntries(totals)), sites.coverage, ...refusals].join('\n  '));
      // However slow the machine: until the mix had a push.
    } while ((goOn() || totals.get('pushes') === 0) && violations.length === 0);
    expect(violations).toEqual([]);
    expect(totals.get('pushes')).toBeGreaterThan(0);
  },
  timeoutMs(CAMPAIGN_SECONDS),
);

function summaryOf(campaign: Campaign): Record<string, number> {
  const { journal, landed, fscks, rebuilds, watchEvents, watchesResumed } = campaign;
  const { watchesExpired, watchesRecalled } = campaign;
  const inFlight = { 'in flight: done': landed.done, 'in flight: not done': landed.not };
  return {
    ...journal.counts,
    ...inFlight,
    fscks,
    rebuilds,
    watchEvents,
    watchesResumed,
    watchesExpired,
    watchesRecalled,
  };
}

function count(totals: Map<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, number] of Object.entries(more)) {
    totals.set(name, (totals.get(name) ?? 0) + number);
  }
}

test(
  'a first start that is killed anywhere is made up for by the next',
  async () => {
    const random = randomFrom(SEED);
    const goOn = budget(FIRST_STARTS_SECONDS);
    const sites = new Sites();
    const trace = join(scratchDir(), 'trace');
    await firstStart(trace, undefined);
    sites.take(trace);
    do {
      const kill = { ...sites.next(random), nth: 1 };
      const { found, leftovers } = await firstStart(undefined, kill);
      sites.met(kill);
      expect(found, JSON.stringify(kill)).toEqual(['payments', 'platform', 'storefront']);
      expect(leftovers, JSON.stringify(kill)).toEqual([]);
    } while (goOn());
    say(`first starts: ${sites.coverage}`);
  },
  timeoutMs(FIRST_STARTS_SECONDS),
);

/** Starts on nothing, is killed when told to, starts again: the names of the teams that are there. */
async function firstStart(
  trace: string | undefined,
  kill: Parameters<typeof startFaultyDaemon>[0]['kill'],
): Promise<{ found: string[]; leftovers: string[] }> {
  const dataDir = join(scratchDir(), 'data');
  await startFaultyDaemon({ dataDir, trace, kill }).then(killGroup, () => undefined);
  const daemon = await startFaultyDaemon({ dataDir });
  try {
    const { items } = (await daemon.call('GET', `${API}/teams`)).json();
    const git = repositoryOf(dataDir);
    const damage = await git.damage();
    const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
    return {
      found: items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      leftovers: [
        ...(await git.leftovers()),
        ...(damage === undefined ? [] : [damage]),
        ...(token === daemon.token ? [] : ['another token']),
      ],
    };
  } finally {
    killGroup(daemon);
  }
}

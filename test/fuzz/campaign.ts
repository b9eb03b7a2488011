/** Steps in their weights, run one after the other, and what is left of a run that found something. */
import type { Random } from '../support/random.ts';
import { type Act, Episode } from './episode.ts';
import { askFor, GIT_PATH } from './judge.ts';
import { allowedTargets, type Player } from './player.ts';
import { pushStep } from './push-steps.ts';
import {
  fetchStep,
  getStep,
  historyStep,
  listStep,
  overviewStep,
  reviewStep,
  watchStep,
} from './read-steps.ts';
import { copyStep, remoteStep } from './remote-steps.ts';
import { ReviewEpisode } from './review-episode.ts';
import { type Ask, askPath } from './rights-model.ts';
import {
  createStep,
  deleteStep,
  endpointTokenStep,
  keyStep,
  patchStep,
  putStep,
  rightsStep,
  rollbackStep,
} from './write-steps.ts';

type Step = readonly [weight: number, make: (player: Player) => Act, verb?: string];

/** With the verb that a key should have, where it has one. */
const ALWAYS: readonly Step[] = [
  [20, getStep, 'get'],
  [20, listStep, 'list'],
  [6, watchStep, 'watch'],
  [5, historyStep, 'get'],
  [4, overviewStep, 'get'],
  [4, rollbackStep, 'update'],
  [3, reviewStep],
  [2, fetchStep, 'fetch'],
  [13, createStep, 'create'],
  [4, putStep, 'update'],
  [8, patchStep, 'patch'],
  [7, deleteStep, 'delete'],
  [3, endpointTokenStep, 'token'],
  [4, keyStep, 'key'],
  [2, rightsStep],
];
/** The two ways to run a daemon. */
export interface Mode {
  /** Its words in a title and in the command that repeats a failure. */
  readonly title: string;
  readonly mix: readonly Step[];
  /** As many as `npm test` takes. */
  readonly steps: number;
  /** As slow as a step may be on a busy machine, on average. */
  readonly msPerStep: number;
  begin(seed: number): Promise<Episode>;
}

export const HOSTED: Mode = {
  title: 'pushes and writes of a hosted repository',
  mix: [...ALWAYS, [24, pushStep, 'push']],
  steps: 300,
  msPerStep: 200,
  begin: (seed) => Episode.begin(seed),
};

export const REVIEWED: Mode = {
  title: 'writes that wait for a review',
  mix: [...ALWAYS, [14, remoteStep], [12, copyStep, 'patch']],
  steps: 20,
  msPerStep: 3000,
  begin: (seed) => ReviewEpisode.begin(seed),
};

const MOST_TRIES = 6;
const STEP_DEADLINE_MS = 90_000;

export interface Found {
  readonly step: number;
  readonly label: string;
  readonly findings: readonly string[];
}

export interface Report {
  readonly found: Found | undefined;
  /** Counts of each kind of step: made, answered, changed something. */
  readonly counts: Readonly<Record<string, Count>>;
  readonly surprises: readonly string[];
  /** Every step as text, with what it came to. */
  readonly trail: readonly string[];
}

export interface Count {
  all: number;
  answered: number;
  changed: number;
}

export interface Run {
  readonly mode: Mode;
  readonly seed: number;
  ignored(finding: string): boolean;
}

/** Runs steps of a seed, by number, until one of them finds something that is not to be ignored. */
export async function runSteps(
  { mode, seed, ignored }: Run,
  steps: readonly number[],
): Promise<Report> {
  const episode = await mode.begin(seed);
  const counts: Record<string, Count> = {};
  const surprises: string[] = [];
  const trail: string[] = [];
  try {
    for (const step of steps) {
      const random = episode.random(step);
      const { make, player } = pickPlayer(episode, mode, random);
      const act = make(player);
      const outcome = await withDeadline(episode.act(act)).catch((error: unknown) =>
        thrown(act, error),
      );
      const count = counts[make.name] ?? { all: 0, answered: 0, changed: 0 };
      counts[make.name] = count;
      count.all++;
      if (outcome.code < 300) count.answered++;
      if (outcome.changed !== '') count.changed++;
      if (outcome.isSurprise) surprises.push(outcome.label);
      trail.push(`${step} ${outcome.label} → ${outcome.code} ${outcome.changed}`);
      const findings = outcome.findings.filter((finding) => !ignored(finding));
      if (findings.length > 0) {
        const found = { step, label: outcome.label, findings };
        return { found, counts, surprises, trail };
      }
    }
    const findings = await episode.lookEverywhere();
    const found = findings.length === 0 ? undefined : { step: -1, label: 'at the end', findings };
    return { found, counts, surprises, trail };
  } finally {
    await episode.end();
  }
}

/** A step and who takes it: most of the time a user who may do something of the kind. */
function pickPlayer(
  episode: Episode,
  mode: Mode,
  random: Random,
): { make: (player: Player) => Act; player: Player } {
  let picked = pickAnyPlayer(episode, mode, random);
  const isTried = random.chance(0.85);
  for (let tries = 0; isTried && tries < MOST_TRIES; tries++) {
    const { verb, player } = picked;
    if (verb === undefined || maySomewhere(player, verb)) break;
    picked = pickAnyPlayer(episode, mode, random);
  }
  return picked;
}

/** Context of a step beside its object. */
const OWN_RIGHTS: Readonly<Record<string, Ask>> = {
  push: askPath('update', GIT_PATH),
  fetch: askPath('get', GIT_PATH),
  key: askFor('create', { plural: 'ownedaccesskeys', namespace: '', name: '' }),
  token: {
    ...askFor('create', { plural: 'ownedaccesskeys', namespace: '', name: '' }),
    resource: 'directclusterendpointtokens',
  },
};

function maySomewhere(player: Player, verb: string): boolean {
  const own = OWN_RIGHTS[verb];
  if (own === undefined) return allowedTargets(player, verb).length > 0;
  return player.episode.world.rightsOf(player.key)?.allows(own) === true;
}

function pickStep(mix: readonly Step[], random: Random): Step {
  let left = random.below(mix.reduce((sum, [weight]) => sum + weight, 0));
  for (const step of mix) {
    left -= step[0];
    if (left < 0) return step;
  }
  return [0, getStep, 'get'];
}

function pickAnyPlayer(episode: Episode, { mix }: Mode, random: Random) {
  const [, make, verb] = pickStep(mix, random);
  const people = episode.people.filter(({ name }) => name !== 'boss' || random.chance(0.5));
  const person = random.pick(people);
  const working = person.keys.filter((key) => episode.world.rightsOf(key) !== undefined);
  const keys = working.length > 0 && random.chance(0.97) ? working : person.keys;
  return { make, verb, player: { episode, random, person, key: random.pick(keys) } };
}

async function withDeadline<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('A step does not end')), STEP_DEADLINE_MS);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function thrown({ label }: Act, error: unknown) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { label, code: 0, findings: [text], changed: '', isSurprise: false };
}

/** The fewest of the steps that still find the same kind of thing, as far as time goes. */
export async function shrink(run: Run, report: Report, until: number): Promise<Report> {
  const { found } = report;
  if (found === undefined || found.step < 0) return report;
  let best = report;
  // Most steps change nothing, and the last one is what finds it.
  const changing = report.trail.filter(
    (line, index) => index === report.trail.length - 1 || /→ 20\d \S/.test(line),
  );
  const first = await runSteps(run, numbersIn(changing));
  if (kindOf(first.found) === kindOf(found)) best = first;
  let steps = numbersIn(best.trail);
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < steps.length - 1; ) {
      if (Date.now() > until) return best;
      // The last step is the one that finds it.
      const end = Math.min(at + size, steps.length - 1);
      const fewer = [...steps.slice(0, at), ...steps.slice(end)];
      const tried = await runSteps(run, fewer);
      if (kindOf(tried.found) === kindOf(found)) {
        best = tried;
        steps = numbersIn(tried.trail);
      } else at = end;
    }
  }
  return best;
}

function numbersIn(trail: readonly string[]): number[] {
  return trail.map((line) => Number(line.split(' ')[0]));
}

/** Findings of one kind differ in names and values only. */
export function kindOf(found: Found | undefined): string {
  return (
    (found?.findings[0] ?? '').replaceAll(/[\w-]*\d[\w-]*|\S+\/\S*/g, '#').split('\n')[0] ?? ''
  );
}

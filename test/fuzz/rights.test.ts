/**
 * Nothing is read, changed or granted beyond what was granted, whatever users with random rights do in
 * whatever order. `npm run fuzz` takes 100,000 steps; CONTRIBUTING.md has the variables.
 */
import { test } from 'vitest';
import {
  type Count,
  HOSTED,
  kindOf,
  type Mode,
  REVIEWED,
  type Report,
  type Run,
  runSteps,
  shrink,
} from './campaign.ts';

const MOST_EPISODE_STEPS = 1000;
const LEAST_EPISODE_STEPS = 50;
const SHRINK_MS = 1000 * Number(process.env['GITPLANE_FUZZ_SHRINK_SECONDS'] ?? 120);
const SHOWN_STEPS = 30;
/** Episodes at the same time: a daemon waits for its disk and for git much of the time. */
const LANES = 3;

const wantedSteps = process.env['GITPLANE_FUZZ_STEPS'];
const wantedReviewSteps = process.env['GITPLANE_FUZZ_REVIEW_STEPS'];
/** A step with two branches takes as long as this number of others. */
const STEPS_PER_REVIEW_STEP = 20;
const wanted = process.env['GITPLANE_TEST_SEED'] ?? '2026';
const seed = wanted === 'random' ? Math.floor(Math.random() * 1_000_000_000) : Number(wanted);

/** Findings that are known already, while others are looked for. */
const known = process.env['GITPLANE_FUZZ_IGNORE'];
const ignored = (finding: string): boolean =>
  known !== undefined && new RegExp(known).test(finding);

class Campaign {
  readonly totals: Record<string, Count> = {};
  readonly failures = new Map<string, string>();
  readonly #begun = Date.now();
  #done = 0;
  #surprises = 0;
  readonly #mode: Mode;
  readonly #steps: number;
  readonly #length: number;

  constructor(mode: Mode, steps: number) {
    this.#mode = mode;
    this.#steps = steps;
    // An episode begins with some 60 writes, so that few steps are better taken in one.
    this.#length = Math.min(
      MOST_EPISODE_STEPS,
      Math.max(LEAST_EPISODE_STEPS, Math.ceil(steps / LANES)),
    );
  }

  async run(): Promise<void> {
    const episodes = Array.from({ length: Math.ceil(this.#steps / this.#length) }, (_, at) => at);
    const lane = async (): Promise<void> => {
      for (let next = episodes.shift(); next !== undefined; next = episodes.shift()) {
        await this.#runEpisode(next);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    this.#sumUp();
  }

  sum(field: keyof Count): number {
    return Object.values(this.totals).reduce((total, count) => total + count[field], 0);
  }

  async #runEpisode(episode: number): Promise<void> {
    const own = seed + episode * 7919;
    const length = Math.min(this.#length, this.#steps - episode * this.#length);
    const numbers = Array.from({ length }, (_, index) => index);
    const run = { mode: this.#mode, seed: own, ignored };
    const report = await runSteps(run, numbers);
    this.#add(report);
    const kind = kindOf(report.found);
    if (report.found !== undefined && !this.failures.has(kind)) {
      this.failures.set(kind, describeFailure(run, report, report));
      const least = await shrink(run, report, Date.now() + SHRINK_MS);
      this.failures.set(kind, describeFailure(run, report, least));
      say(this.failures.get(kind) ?? '');
    }
    this.#done += report.trail.length;
    say(`${this.#done} steps, ${this.#rate()} a second`);
  }

  #add({ counts, surprises }: Report): void {
    this.#surprises += surprises.length;
    for (const label of surprises.slice(0, 1)) say(`refused, and allowed by the oracle: ${label}`);
    for (const [name, { all, answered, changed }] of Object.entries(counts)) {
      const total = this.totals[name] ?? { all: 0, answered: 0, changed: 0 };
      this.totals[name] = total;
      total.all += all;
      total.answered += answered;
      total.changed += changed;
    }
  }

  #rate(): number {
    return Math.round((1000 * this.#done) / (Date.now() - this.#begun));
  }

  #sumUp(): void {
    const seconds = Math.round((Date.now() - this.#begun) / 1000);
    say(`seed ${seed}: ${this.#done} steps in ${seconds} s, ${this.#rate()} a second`);
    say(`refused, and allowed by the oracle: ${this.#surprises}`);
    for (const [name, { all, answered, changed }] of Object.entries(this.totals)) {
      say(`${name}: ${all}, of them ${answered} were answered and ${changed} changed something`);
    }
  }
}

for (const mode of [HOSTED, REVIEWED]) {
  const steps = stepsOf(mode);
  const timeout = 60_000 + 2 * SHRINK_MS + steps * mode.msPerStep;
  const title = `nothing is read, changed or granted beyond what was granted: ${mode.title}`;
  // Daemons wait for git much of the time. One way at a time where the steps are many.
  const run = wantedSteps === undefined ? test.concurrent : test;
  run(title, { timeout }, async ({ expect }) => {
    const campaign = new Campaign(mode, steps);
    await campaign.run();
    expect.soft([...campaign.failures.values()].join('\n\n')).toBe('');
    // People who are refused everything would prove nothing.
    if (campaign.failures.size > 0) return;
    expect(campaign.sum('answered')).toBeGreaterThan(steps / 5);
    expect(campaign.sum('changed')).toBeGreaterThan(steps / 25);
  });
}

function stepsOf(mode: Mode): number {
  if (mode === HOSTED) return Number(wantedSteps ?? mode.steps);
  if (wantedReviewSteps !== undefined) return Number(wantedReviewSteps);
  return wantedSteps === undefined
    ? mode.steps
    : Math.ceil(Number(wantedSteps) / STEPS_PER_REVIEW_STEP);
}

function describeFailure({ mode, seed }: Run, report: Report, least: Report): string {
  const { findings = [] } = report.found ?? {};
  const variable = mode === HOSTED ? 'GITPLANE_FUZZ_STEPS' : 'GITPLANE_FUZZ_REVIEW_STEPS';
  return [
    `GITPLANE_TEST_SEED=${seed} ${variable}=${LANES * report.trail.length} (${mode.title}):`,
    ...findings,
    `The fewest steps that were found (${least.trail.length}), the last ${SHOWN_STEPS} of them:`,
    ...least.trail.slice(-SHOWN_STEPS),
    ...(least.found?.findings ?? []),
  ].join('\n');
}

function say(line: string): void {
  if (wantedSteps !== undefined) process.stderr.write(`fuzz: ${line}\n`);
}

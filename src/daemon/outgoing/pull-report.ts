/**
 * A plan in the words of a comment, a status and annotations. Readers of the forge see the files as git
 * has them, and no right of gitplane counts there: so no value of a field is shown, and no name or
 * right that was read from an encrypted file.
 */
import { describeKey, shownPath } from '../../apimachinery/index.ts';
import { type Annotation, codeBlock, type StatusState } from '../../forges/index.ts';
import { describeAccess, type PlanChange, type PlanVerb } from '../../history/index.ts';
import { formatProblem, type Problem } from '../../manifests/index.ts';
import type { PullOutcome } from './pull-planner.ts';

export interface PullReport {
  readonly state: StatusState;
  /** Of the status: one sentence. */
  readonly description: string;
  /** Markdown of the comment. */
  readonly body: string;
  readonly annotations: readonly Annotation[];
}

export interface PullReportContext {
  readonly head: string;
  readonly base: string;
  /** The followed branch. */
  readonly branch: string;
  /** Page of the console with the whole plan; undefined: people have no address of it. */
  readonly url: string | undefined;
}

/** The outcomes that are reported. */
export type ReportedOutcome = Exclude<PullOutcome, { is: 'merged' | 'outdated' }>;
type Planned = Extract<PullOutcome, { is: 'planned' }>;

/** The comment stays below 65,536 characters, the limit of GitHub. */
const LONGEST_LINE = 200;
const MOST_CHANGES = 100;
const MOST_LINES = 40;
const MOST_ANNOTATIONS = 50;
const MARKS: Readonly<Record<PlanVerb, string>> = {
  create: '+',
  update: '!',
  delete: '-',
  recreate: '!',
  move: '>',
};

export function reportOn(outcome: ReportedOutcome, context: PullReportContext): PullReport {
  if (outcome.is === 'planned') return ofPlan(outcome, context);
  const isConflict = outcome.is === 'conflict';
  const lines = isConflict ? outcome.paths.map(shownPath) : outcome.reasons;
  const [first = '', ...others] = lines;
  const word = isConflict ? 'Conflict' : 'Not planned';
  const sections = [
    isConflict ? 'These files changed on both sides:' : 'The change is beyond a limit:',
    block(lines, MOST_LINES),
  ];
  return {
    state: 'failure',
    description: `${word}: ${first}${more(others.length)}`,
    body: bodyOf({ title: word, sections }, context),
    annotations: [],
  };
}

function ofPlan(planned: Planned, context: PullReportContext): PullReport {
  const { plan, prunes } = planned;
  // Their messages repeat no encrypted value.
  const { changes, verdict, problems, warnings } = plan;
  // The approval of a push is not that of a merge.
  const objections = verdict === 'held' ? [] : plan.objections;
  const access = firstAccessLines(planned, changes);
  const { state, title, why } = verdictOf({
    problems,
    objections,
    prunes,
    isHeld: verdict === 'held',
  });
  const counts = summaryOf(plan.summary);
  const held = `The merge removes ${count(prunes, 'object')}, more than the prune budget allows. It is held, unless its commit message ends with the trailer \`Gitplane-Allow-Prune: ${prunes}\`, until it is approved.`;
  const sections = [
    ...(verdict === 'held' ? [held] : []),
    ...section('Problems', problems.map(formatProblem)),
    ...section('Objections', objections),
    counts === '' ? 'No object changes.' : '',
    block(
      changes.map((change) => changeLine(planned, change)),
      MOST_CHANGES,
      { language: 'diff' },
    ),
    ...section('Access', access.lines, access.more),
    ...section('Warnings', warnings.map(formatProblem)),
  ];
  return {
    state,
    description: why === '' ? `${title}: ${counts || 'no object changes'}` : `${title}: ${why}`,
    body: bodyOf({ title: counts === '' ? title : `${title}: ${counts}`, sections }, context),
    annotations: [
      ...problems.map((one) => annotationOf(one, true)),
      ...warnings.map((one) => annotationOf(one, false)),
    ].slice(0, MOST_ANNOTATIONS),
  };
}

function verdictOf(of: {
  readonly problems: readonly Problem[];
  readonly objections: readonly string[];
  readonly prunes: number;
  readonly isHeld: boolean;
}): { readonly state: StatusState; readonly title: string; readonly why: string } {
  const [problem, ...others] = of.problems;
  if (problem !== undefined) {
    const why = `${formatProblem(problem)}${more(others.length)}`;
    return { state: 'failure', title: 'Not valid', why };
  }
  const [objection] = of.objections;
  if (objection !== undefined) {
    const why = `${objection}${more(of.objections.length - 1)}`;
    return { state: 'failure', title: 'Refused', why };
  }
  if (!of.isHeld) return { state: 'success', title: 'Validated', why: '' };
  return { state: 'pending', title: 'Held', why: `it removes ${count(of.prunes, 'object')}` };
}

function summaryOf({
  create,
  update,
  recreate,
  move,
  ...more
}: Readonly<Record<PlanVerb, number>>) {
  return [
    [create, 'created'],
    [update, 'changed'],
    [more.delete, 'removed'],
    [recreate, 'made anew'],
    [move, 'moved'],
  ]
    .filter(([number]) => number !== 0)
    .map(([number, word]) => `${number} ${word}`)
    .join(', ');
}

function changeLine({ encrypted }: Planned, change: PlanChange): string {
  const { verb, kind, path, previousPath, fields, degraded } = change;
  const from = previousPath === undefined ? '' : `${shownPath(previousPath)} → `;
  const paths = fields.map((field) => `${field.path}${field.masked ? ' (secret)' : ''}`).join(', ');
  const what = verb === 'update' && paths !== '' ? `: ${paths}` : '';
  const anew = verb === 'recreate' ? ', made anew' : '';
  const state = degraded ? ', not valid: the last good version stays' : '';
  // Even a name may have been encrypted.
  const object = isIn(encrypted, change)
    ? kind
    : describeKey({ namespace: '', group: '', ...change });
  return `${MARKS[verb]} ${object} (${from}${shownPath(path)})${anew}${state}${what}`;
}

/** As many as are shown: all together may be gigabytes. */
function firstAccessLines(
  planned: Planned,
  changes: readonly PlanChange[],
): { readonly lines: readonly string[]; readonly more: number } {
  const lines: string[] = [];
  let more = 0;
  for (const change of changes) {
    if (lines.length < MOST_LINES) lines.push(...accessLines(planned, change));
    else if (change.access !== undefined)
      more += isIn(planned.encrypted, change) ? 1 : change.access.length;
  }
  return { lines, more };
}

function accessLines({ encrypted }: Planned, change: PlanChange): readonly string[] {
  if (change.access === undefined) return [];
  const place = shownPath(change.path);
  if (isIn(encrypted, change)) return [`changes, see the file: ${place}`];
  return change.access.map((one) => `${describeAccess(one)} (${place})`);
}

function isIn(
  encrypted: ReadonlySet<string>,
  { path, previousPath }: Pick<PlanChange, 'path' | 'previousPath'>,
): boolean {
  return encrypted.has(path) || (previousPath !== undefined && encrypted.has(previousPath));
}

function annotationOf({ path, line, message }: Problem, isError: boolean): Annotation {
  return { path, line, message, isError };
}

function bodyOf(
  { title, sections }: { readonly title: string; readonly sections: readonly string[] },
  { head, base, branch, url }: PullReportContext,
): string {
  const whole = url === undefined ? '' : `[The whole plan](${url}). `;
  return [
    `### ${title}`,
    ...sections.filter((one) => one !== ''),
    `${whole}Commit ${head}, merged into \`${branch}\` at ${base}. gitplane updates this comment.`,
  ].join('\n\n');
}

function section(title: string, lines: readonly string[], unlisted = 0): readonly string[] {
  return lines.length === 0 ? [] : [`**${title}**`, block(lines, MOST_LINES, { unlisted })];
}

/** `unlisted`: number of further lines. */
function block(
  lines: readonly string[],
  most: number,
  { language = '', unlisted = 0 }: { readonly language?: string; readonly unlisted?: number } = {},
): string {
  if (lines.length === 0) return '';
  const shown = lines
    .slice(0, most)
    .map((line) => (line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE - 1)}…`));
  const rest = lines.length - shown.length + unlisted;
  return codeBlock(rest > 0 ? [...shown, `… and ${rest} more`] : shown, language);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function more(number: number): string {
  return number <= 0 ? '' : ` (and ${number} more)`;
}

/** A plan as people read it in a terminal and in the log of a pipeline. */
import type { FieldChange } from '../history/field-changes.ts';
import type { Plan, PlanChange, PlanVerb } from '../history/plan.ts';
import { formatProblem } from '../manifests/manifest.ts';

const MARKS: Readonly<Record<PlanVerb, string>> = {
  create: '+',
  update: '~',
  delete: '-',
  recreate: '±',
  move: '>',
};
const LONGEST_VALUE = 120;

export function formatPlan(plan: Plan): string {
  const { from, to, changes, problems, warnings, objections } = plan;
  const head = from === null ? `${short(to)} on an empty branch` : `${short(from)} → ${short(to)}`;
  return [
    head,
    ...changes.flatMap(changeLines),
    ...problems.map(formatProblem),
    ...objections,
    ...warnings.map((warning) => `warning: ${formatProblem(warning)}`),
    `${plan.verdict}: ${summary(plan)}`,
  ].join('\n');
}

function short(revision: string): string {
  return revision.slice(0, 12);
}

function changeLines(change: PlanChange): string[] {
  const { verb, kind, namespace, name, path, previousPath, fields, degraded } = change;
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  const place = previousPath === undefined ? path : `${previousPath} → ${path}`;
  const state = degraded ? ', not valid: the last good version stays' : '';
  const shown = verb === 'create' ? [] : fields.map((field) => `    ${fieldLine(field)}`);
  return [`${MARKS[verb]} ${kind} "${full}" (${place})${state}`, ...shown];
}

function fieldLine({ path, before, after, masked }: FieldChange): string {
  if (masked === true) return `${path}: changed, secret`;
  return `${path}: ${valueText(before)} → ${valueText(after)}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return 'none';
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

function summary({ summary, problems }: Plan): string {
  const { create, update, recreate, move } = summary;
  const parts = [
    `${create} created`,
    `${update} changed`,
    `${summary.delete} removed`,
    ...(recreate === 0 ? [] : [`${recreate} made anew`]),
    ...(move === 0 ? [] : [`${move} moved`]),
    ...(problems.length === 0 ? [] : [`${problems.length} problems`]),
  ];
  return parts.join(', ');
}

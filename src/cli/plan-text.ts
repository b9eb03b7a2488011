/** A plan as people read it in a terminal and in the log of a pipeline. */
import { valueAt } from '../apimachinery/index.ts';
import {
  describeAccess,
  type FieldChange,
  type Plan,
  type PlanChange,
  type PlanEffect,
  type PlanEffects,
  type PlanVerb,
} from '../history/index.ts';
import { formatProblem } from '../manifests/index.ts';
import { yamlDiff } from './yaml-diff.ts';

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
  const elsewhere = change.effects === undefined ? [] : effectLines(change.effects);
  const access = change.access?.map((one) => `    access ${describeAccess(one)}`) ?? [];
  return [`${MARKS[verb]} ${kind} "${full}" (${place})${state}`, ...shown, ...access, ...elsewhere];
}

/** As a diff of each object that becomes another one. */
function effectLines({
  objects,
  changed,
  items,
  unseen,
  warnings,
  unknown,
}: PlanEffects): string[] {
  if (unknown !== undefined) return [`    what its patches do is not known: ${unknown}`];
  const rest = changed - items.length;
  return [
    `    ${changed} of ${objects} objects become others on the control-plane cluster`,
    ...items.flatMap(effectOf),
    ...(rest > 0 ? [`    … and ${rest} more`] : []),
    ...(unseen > 0 ? [`    ${unseen} more were not looked at`] : []),
    ...warnings.map((text) => `    warning: ${text}`),
  ];
}

const EFFECT_MARKS = { create: '+', update: '~', delete: '-', fail: '!' } as const;

function effectOf({ verb, kind, source, before, after, message }: PlanEffect): string[] {
  const head = `    ${EFFECT_MARKS[verb]} ${kind} ${source.namespace}/${source.name}`;
  if (verb === 'fail') return [`${head}: fails and stays as it is: ${message}`];
  const name = nameOf(before ?? after);
  if (verb !== 'update') return [`${head}: ${name} ${verb === 'create' ? 'is made' : 'goes'}`];
  return [head, ...yamlDiff(before, after).map((line) => `      ${line}`)];
}

function nameOf(object: unknown): string {
  const at = (field: string): string => String(valueAt(object, ['metadata', field]));
  return `${at('namespace')}/${at('name')}`;
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

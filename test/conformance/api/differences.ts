/**
 * Where our verdicts are meant to be others than those of Kubernetes: by the heading of
 * docs/api-differences.md that gives the reason.
 */
import type { Judged, Verdicts } from './case.ts';

/** A step of a case on which the servers do not agree. */
export interface Step {
  /** `<case> › <request>`. */
  readonly id: string;
  readonly theirs: Verdicts[string] | undefined;
  readonly ours: Verdicts[string] | undefined;
}

interface Difference {
  readonly heading: string;
  is(step: Step): boolean;
}

const of =
  (...parts: readonly string[]) =>
  ({ id }: Step): boolean =>
    parts.some((part) => id.includes(part));

/** The first that fits. */
export const DIFFERENCES: readonly Difference[] = [
  {
    heading: 'Unknown fields are refused when the client says nothing',
    is: of(
      'unknown and duplicate fields › POST /apis/management.gitplane.dev/v1/teams?dryRun=All',
      'an apply can be written as YAML › ',
    ),
  },
  {
    heading: 'PUT without `resourceVersion` depends on the kind',
    is: (step) =>
      of('a put without a version › PUT /apis/management.gitplane.dev/v1/teams/unversioned')(
        step,
      ) ||
      (of('what metadata holds in a patch')(step) && codes(step, 422, 200)),
  },
  { heading: 'An empty status is shown', is: of('table&includeObject=Object') },
  {
    heading: 'Git owns what nobody else does',
    is: of('the record can be reset, replaced and left alone › '),
  },
  { heading: 'An empty list is `[]`', is: of('rules-empty') },
  { heading: 'DELETE commits first', is: of('policies become finalizers › ') },
  { heading: 'A grace period is kept', is: of('a grace period › ') },
  {
    heading: 'Status is read',
    is: (step) =>
      of('/status')(step) || (of('is discovered in aggregated form')(step) && isSuccess(step)),
  },
  {
    heading: 'Errors name their method and their path',
    is: (step) =>
      of('methods that a path does not have')(step) ||
      (isFailure(step) &&
        step.theirs?.headers?.['content-type']?.startsWith('text/plain') === true) ||
      of('selfsubjectaccessreviews')(step),
  },
  {
    heading: '`kind` and `apiVersion` may be left out',
    is: (step) => of('an object has to say what it is')(step) && codes(step, 400, 201),
  },
  { heading: '`generateName` is not kept', is: of('a generated name ends in five letters') },
  {
    heading: 'A form with `q=0` is not accepted',
    is: of('application/json;q=0'),
  },
  {
    heading: 'Mistakes of the client are 4xx',
    is: ({ theirs, ours }) => theirs?.code === 500 && Math.floor((ours?.code ?? 0) / 100) === 4,
  },
  {
    heading: 'Null in an apply is no value',
    is: (step) =>
      of('a struct is owned by its fields')(step) ||
      (JSON.stringify(step.theirs?.body ?? null).includes('must be of type') && isSuccess(step)),
  },
  {
    heading: 'JSON patches are those of RFC 6902',
    is: (step) => of('a JSON patch is applied in order')(step) && codes(step, 200, 422),
  },
  {
    heading: 'One owner, one reference',
    is: (step) => of('owner references are whole')(step) && codes(step, 201, 422),
  },
  {
    heading: 'Events are kept in memory',
    is: (step) => of('form can be read in both')(step) && isSuccess(step),
  },
  {
    heading: 'Errors name the field, and the object',
    is: (step) => isFailure(step) && sameButForFields(step),
  },
  { heading: 'Texts of errors and warnings are our own', is: sameButForWords },
];

function codes({ theirs, ours }: Step, kubernetes: number, gitplane: number): boolean {
  return theirs?.code === kubernetes && ours?.code === gitplane;
}

function isSuccess({ ours }: Step): boolean {
  return ours !== undefined && ours.code < 300;
}

function isFailure({ theirs, ours }: Step): boolean {
  return theirs?.code === ours?.code && (ours?.code ?? 0) >= 400;
}

export function differenceOf(step: Step): string | undefined {
  return DIFFERENCES.find(({ is }) => is(step))?.heading;
}

export function differingSteps(theirs: Judged, ours: Judged): Step[] {
  return Object.entries(theirs).flatMap(([name, steps]) => {
    const found = ours[name] ?? {};
    return Object.keys({ ...steps, ...found })
      .filter((step) => JSON.stringify(steps[step]) !== JSON.stringify(found[step]))
      .map((step) => ({ id: `${name} › ${step}`, theirs: steps[step], ours: found[step] }));
  });
}

/** Whether two answers say the same, in other words. */
function sameButForWords(step: Step): boolean {
  return sameWithout(step, ['message', 'warning']);
}

/** Whether two failures are of one kind, about more or less exact places. */
function sameButForFields(step: Step): boolean {
  const place = ['field', 'name', 'group', 'kind', 'reason', 'causes'];
  return (
    reasonOf(step.theirs) === reasonOf(step.ours) &&
    sameWithout(step, ['message', 'warning', ...place]) &&
    !sameButForWords(step)
  );
}

function reasonOf(verdict: Verdicts[string] | undefined): unknown {
  return (verdict?.body as { reason?: unknown } | undefined)?.reason;
}

function sameWithout({ theirs, ours }: Step, keys: readonly string[]): boolean {
  return JSON.stringify(without(theirs, keys)) === JSON.stringify(without(ours, keys));
}

function without(value: unknown, keys: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, keys));
  if (typeof value !== 'object' || value === null) {
    // A Status in YAML is all words.
    return typeof value === 'string' && value.includes('kind: Status') ? '' : value;
  }
  const entries = Object.entries(value).filter(([key]) => !keys.includes(key));
  return Object.fromEntries(entries.map(([key, item]) => [key, without(item, keys)]));
}

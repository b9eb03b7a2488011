/** Query parameters and headers of the fuzz, good and bad, by the verbs that read them. */
import type { Random } from '../../support/random.ts';

interface Parameter {
  /** Probability that a request has it. */
  readonly chance: number;
  readonly values: readonly string[];
}

type Parameters = Readonly<Record<string, Parameter>>;

const EVERY: Parameters = {
  pretty: { chance: 0.02, values: ['true', 'false', 'x'] },
  timeout: { chance: 0.05, values: ['10s', '5', 'x', '-1s', '0', '1h', ''] },
  unknown: { chance: 0.03, values: ['x'] },
};

const WRITES: Parameters = {
  ...EVERY,
  dryRun: { chance: 0.25, values: ['All', 'All', 'All', 'Some', '', 'all'] },
  fieldManager: { chance: 0.25, values: ['me', 'you', '', 'x'.repeat(129), 'a\u0007'] },
  fieldValidation: { chance: 0.15, values: ['Warn', 'Ignore', '', 'strict', 'x'] },
};

const LIST: Parameters = {
  ...EVERY,
  limit: { chance: 0.3, values: ['1', '2', '0', '-1', 'x', '500', '1.5', ''] },
  continue: { chance: 0.15, values: ['{continue}', '{continue}', 'garbage', 'e30', ''] },
  resourceVersion: { chance: 0.25, values: ['0', '{listed}', '{version}', 'abc', '', '-1', '1.5'] },
  resourceVersionMatch: { chance: 0.15, values: ['Exact', 'NotOlderThan', 'Sometime', ''] },
  labelSelector: {
    chance: 0.25,
    values: [
      'a=b',
      'a!=b',
      '!a',
      'a',
      'a in (b,c)',
      'a notin (b)',
      'a in',
      'a b',
      '=',
      'a=b,,',
      'a=-x',
    ],
  },
  fieldSelector: {
    chance: 0.2,
    values: [
      'metadata.name={name}',
      'metadata.name!={name}',
      'metadata.namespace=default',
      'metadata.name=a,metadata.name=b',
      'spec.displayName=Data',
      'metadata.uid=1',
      'metadata.name',
      'metadata.name>1',
      'metadata.name=',
    ],
  },
};

const WATCH: Parameters = {
  ...LIST,
  continue: { chance: 0.03, values: ['garbage'] },
  limit: { chance: 0.1, values: ['1', 'x'] },
  resourceVersion: { chance: 0.8, values: ['0', '{listed}', '{version}', 'abc', '', '-1'] },
  allowWatchBookmarks: { chance: 0.2, values: ['true', 'false', 'x'] },
  sendInitialEvents: { chance: 0.2, values: ['true', 'false', 'x'] },
};

const DELETE: Parameters = {
  ...EVERY,
  dryRun: { chance: 0.2, values: ['All', 'Some', ''] },
  gracePeriodSeconds: { chance: 0.1, values: ['0', '-1', 'x', '0x5', ''] },
  propagationPolicy: { chance: 0.15, values: ['Background', 'Foreground', 'Orphan', 'x', ''] },
  orphanDependents: { chance: 0.05, values: ['true', 'false', 'x'] },
};

const APPLY: Parameters = {
  ...WRITES,
  fieldManager: { chance: 0.95, values: ['me', 'me', 'you', '', 'x'.repeat(129)] },
  force: { chance: 0.3, values: ['true', 'false', 'x', ''] },
};

const PARAMETERS = {
  get: EVERY,
  list: LIST,
  watch: WATCH,
  write: WRITES,
  delete: DELETE,
  apply: APPLY,
};
export type QueryOf = keyof typeof PARAMETERS;

/**
 * Begins with `?` where there is any. `usual`: parameters that are there unless others of their name are
 * drawn. `label`: a selector that is always there, before the one that is drawn.
 */
export function drawQuery(
  random: Random,
  of: QueryOf,
  { usual = {}, label = '' }: { usual?: Readonly<Record<string, string>>; label?: string } = {},
): string {
  const drawn = Object.entries<Parameter>(PARAMETERS[of])
    .filter(([, { chance }]) => random.chance(chance))
    .map(([name, { values }]): [string, string] => [name, random.pick(values)]);
  // Twice the same, of which servers read the first.
  const again = random.chance(0.02) ? drawn.slice(0, 1) : [];
  const all = Object.entries({ ...usual, ...Object.fromEntries(drawn) });
  const { labelSelector, ...rest } = Object.fromEntries(all);
  const selectors = [label, labelSelector ?? ''].filter((part) => part !== '');
  const selecting = selectors.length === 0 ? [] : [['labelSelector', selectors.join(',')]];
  const pairs = [...Object.entries(rest), ...again.filter(([name]) => name in rest), ...selecting];
  const query = pairs.map(([name, value = '']) => `${name}=${escaped(value)}`);
  return query.length === 0 ? '' : `?${query.join('&')}`;
}

/** What stands in braces is filled in later. */
function escaped(value: string): string {
  return value
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? part : encodeURIComponent(part)))
    .join('');
}

const ACCEPTED = [
  '*/*',
  'application/json, */*',
  'application/*',
  'application/yaml',
  'text/html',
  'application/xml',
  'application/json;q=0.1,application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf,application/json',
  'application/cbor',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=Table;v=v9;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'garbage',
  '',
];

export function drawAccept(random: Random): { accept?: string } {
  return random.chance(0.15) ? { accept: random.pick(ACCEPTED) } : {};
}

const TYPES = [
  'application/json',
  'application/yaml',
  'application/json; charset=utf-8',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
  'text/plain',
  'application/vnd.kubernetes.protobuf',
  'garbage',
  'application/json;',
  '',
];

/** Content-Type of a body, `usual` most times. */
export function drawType(random: Random, usual: string): string {
  return random.chance(0.06) ? random.pick(TYPES) : usual;
}

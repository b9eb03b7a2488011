/** Rules of pulls of whole paths from a secret store that the schema cannot express. */
import {
  dnsLabelProblems,
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  labelValueProblems,
  linearRegExp,
  parseGoDuration,
  qualifiedNameProblems,
  required,
} from '../../apimachinery/index.ts';
import { mountPathProblem, pathProblem } from '../secrets/store-link.ts';

export interface PullShape {
  readonly name: string;
  readonly mount: string;
  readonly path?: string;
  readonly match?: string;
  readonly exclude?: string;
  readonly namespace: string;
  readonly nameTemplate?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly interval?: string;
}

const OWN_LABELS = 'gitplane.dev/';
const SHORTEST_INTERVAL_MS = 1_000;

/** Problems of `pulls`. */
export function storePullProblems(pulls: readonly PullShape[], path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return pulls.flatMap((pull, index) => {
    const at = [...path, index];
    const isTwice = seen.has(pull.name);
    seen.add(pull.name);
    return [
      ...(isTwice ? [duplicate([...at, 'name'], pull.name)] : []),
      ...Object.entries(RULES).flatMap(([field, rule]) => {
        const value = pull[field as keyof typeof RULES];
        const problem = value === undefined ? undefined : rule(value);
        return problem === undefined ? [] : [invalid([...at, field], value, problem)];
      }),
      ...(pull.mount === '' ? [required([...at, 'mount'])] : []),
      ...labelProblems(pull.labels ?? {}, [...at, 'labels']),
    ];
  });
}

const RULES: Readonly<
  Record<Exclude<keyof PullShape, 'labels'>, (value: string) => string | undefined>
> = {
  name: (name) => dnsLabelProblems(name)[0],
  mount: (mount) => (mount === '' ? undefined : mountPathProblem(mount)),
  path: (path) => (path === '' ? undefined : pathProblem(path)),
  namespace: (namespace) => dnsLabelProblems(namespace)[0],
  match: expressionProblem,
  exclude: expressionProblem,
  nameTemplate: (template) => {
    const isTemplate =
      /\{(path|name)\}/.test(template) &&
      /^[-.a-z0-9]*$/.test(template.replace(/\{(path|name)\}/g, ''));
    return isTemplate
      ? undefined
      : 'must have {path} or {name}, and beside them lower case letters, digits, "-" and "." alone';
  },
  interval: (interval) =>
    (parseGoDuration(interval) ?? 0) >= SHORTEST_INTERVAL_MS
      ? undefined
      : 'must be a duration of at least one second, as in "30s" or "10m"',
};

function expressionProblem(source: string): string | undefined {
  try {
    linearRegExp(source);
    return undefined;
  } catch (error) {
    return `must be a regular expression of RE2: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function labelProblems(labels: Readonly<Record<string, string>>, path: FieldPath): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const at = [...path, key];
    if (key.startsWith(OWN_LABELS))
      return [forbidden(at, `labels below ${OWN_LABELS} are reserved for the platform`)];
    const problem = qualifiedNameProblems(key)[0] ?? labelValueProblems(value)[0];
    return problem === undefined ? [] : [invalid(at, value, problem)];
  });
}

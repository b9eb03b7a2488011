/**
 * Problems of `sync.toHost.namespaces` of a vcluster.yaml, as far as it decides the place of
 * Endpoints. The rules are those of the product: a push is refused if the product would refuse to
 * start with the file.
 */
import {
  dnsLabelProblems,
  type FieldError,
  invalid,
  isRecord,
  required,
  typeInvalid,
  valueAt,
} from '../apimachinery/index.ts';
import { HASHED_SETTING, NAMESPACES_SETTING } from './tenant.ts';
import { withTenantName } from './translate.ts';

const MAPPINGS = [...NAMESPACES_SETTING, 'mappings', 'byName'] as const;
/** Of the part before `*`, so that there is room for what it stands for. */
const LONGEST_PREFIX = 32;
/** Each namespace of a tenant is looked up among them. */
const MOST_MAPPINGS = 1000;

export interface NamespacesOf {
  /** Of the tenant cluster. */
  readonly name: string;
  /** Namespace for objects of namespaces without a mapping. */
  readonly namespace: string;
}

/** Paths of the errors count from the root of the file. */
export function checkNamespacesSetting(config: unknown, of: NamespacesOf): FieldError[] {
  const setting = valueAt(config, NAMESPACES_SETTING);
  if (!isRecord(setting) || setting['enabled'] !== true) return [];
  if (valueAt(config, HASHED_SETTING) === true) {
    const why = 'sync.toHost.namespaces has taken its place; enable one of them';
    return [invalid(HASHED_SETTING, true, why)];
  }
  const byName = valueAt(config, MAPPINGS) ?? undefined;
  if (byName === undefined) return [required(MAPPINGS, 'it says where namespaces go')];
  if (!isRecord(byName)) return [typeInvalid(MAPPINGS, byName, 'must be a map')];
  const mappings = Object.entries(byName);
  if (mappings.length === 0) return [required(MAPPINGS, 'it says where namespaces go')];
  if (mappings.length > MOST_MAPPINGS) {
    return [invalid(MAPPINGS, mappings.length, `must have at most ${MOST_MAPPINGS} mappings`)];
  }
  const errors = mappings.flatMap(([from, to]) => mappingProblems(from, to, of));
  return errors.length > 0 ? errors : doubleTargets(mappings, of);
}

function mappingProblems(from: string, to: unknown, of: NamespacesOf): FieldError[] {
  const at = [...MAPPINGS, from];
  if (typeof to !== 'string') return [typeInvalid(at, to, 'must be a string')];
  const problem =
    partProblem(from, 'the namespace of the tenant', of) ??
    partProblem(to, 'the namespace on the control-plane cluster', of) ??
    pairProblem(from, to, of);
  return problem === undefined ? [] : [invalid(at, to, problem)];
}

function partProblem(part: string, what: string, of: NamespacesOf): string | undefined {
  const [start = '', ...rest] = part.split('*');
  if (rest.length > 1 || (rest[0] ?? '') !== '') return `${what} may have one * at its end`;
  if ((start.match(/\$\{name\}/g)?.length ?? 0) > 1) return `${what} has \${name} more than once`;
  const name = withTenantName(start, of);
  if (name.includes('${')) return `${what} has a placeholder that is not \${name}`;
  if (rest.length === 0) return dnsLabelProblems(name)[0];
  if (name.length > LONGEST_PREFIX) {
    return `${what} has more than ${LONGEST_PREFIX} characters before *`;
  }
  // The `*` may match more characters, so an end that is invalid for a whole name is allowed.
  const [problem] = name === '' ? [] : dnsLabelProblems(`${name}x`);
  return problem;
}

function pairProblem(from: string, to: string, of: NamespacesOf): string | undefined {
  const isPattern = to.includes('*');
  if (from.includes('*') !== isPattern) return 'either both have a * or none';
  const name = withTenantName(to, of);
  const own = isPattern ? of.namespace.startsWith(name.slice(0, -1)) : name === of.namespace;
  return own ? `${JSON.stringify(of.namespace)} is for namespaces without a mapping` : undefined;
}

function doubleTargets(mappings: readonly [string, unknown][], of: NamespacesOf): FieldError[] {
  const seen = new Map<string, string>();
  return mappings.flatMap(([from, to]) => {
    if (typeof to !== 'string') return [];
    const name = withTenantName(to, of);
    const other = seen.get(name);
    seen.set(name, other ?? from);
    if (other === undefined) return [];
    return [invalid([...MAPPINGS, from], to, `${JSON.stringify(other)} is mapped to it as well`)];
  });
}

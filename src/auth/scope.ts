/**
 * The scope of an access key or an endpoint token (spec section 2.5): what narrows the rights of
 * its holder. Compiled once per version of a key; afterwards a question costs a walk over a few
 * permits. It never grants: the right to do something is that of the user and of the scope.
 */
import type { Attributes, JsonObject, Narrowing, User } from '../apimachinery/index.ts';
import type { PolicyRule } from './policy-rules.ts';
import { hasUnclearPartsOf } from './scope-clarity.ts';
import { compilePermits } from './scope-compile.ts';
import {
  MANAGEMENT,
  namespaceAllowed,
  namespaceMatches,
  type Permit,
  type PermitContext,
  permitAllows,
  permitCovers,
  type ResourcePermit,
  type Some,
  type Target,
  targetCovers,
} from './scope-permits.ts';
import { roleCovers, rolesOf, type ScopeRole } from './scope-roles.ts';

/** What `verbs: []` of a scope comes to as a rule: unknown verbs are left out to be on the safe side. */
const PLAIN_VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
];

/**
 * Comparisons that `covers` makes before it gives up and says no: far more than honest scopes need,
 * and few enough that a hostile one cannot hold up the event loop.
 */
const MOST_COMPARISONS = 200_000;

export class Scope implements Narrowing {
  /** As it was written. */
  readonly source: JsonObject;
  readonly #permits: readonly Permit[];
  readonly #roles: readonly ScopeRole[];
  readonly #context: PermitContext;

  /** `scope` as it stands in the object; one that is no object permits nothing. */
  constructor(scope: JsonObject, context: PermitContext) {
    this.source = scope;
    this.#roles = rolesOf(scope);
    this.#permits = compilePermits(scope, this.#roles, context);
    this.#context = context;
  }

  /** `target`: the door that the request came through; this daemon's own when absent. */
  allows(attributes: Attributes, target: Target = MANAGEMENT): boolean {
    const request = { target, attributes };
    return this.#permits.some((permit) => permitAllows(permit, request, this.#context));
  }

  /** True if it lets anything through at a door. */
  reaches(target: Target): boolean {
    return this.#permits.some(({ targets }) =>
      targets.some((pattern) => targetCovers(pattern, target)),
    );
  }

  /**
   * Whether another scope is within this one, whatever the platform looks like now or later. False
   * when that cannot be told from the two alone. Roles count by name as well as by what they permit
   * here, since they may mean more to those who verify a token elsewhere. The same goes for parts
   * that match nothing here.
   */
  covers(other: Scope): boolean {
    if (!hasUnclearPartsOf(this.source, other.source, this.#context.group)) return false;
    let comparisons = 0;
    for (const permit of other.#permits) {
      for (const part of partsOf(permit)) {
        comparisons += this.#permits.length;
        if (comparisons > MOST_COMPARISONS) return false;
        if (!this.#permits.some((own) => permitCovers(own, part))) return false;
      }
    }
    return other.#roles.every((role) => this.#roles.some((own) => roleCovers(own, role)));
  }

  /** The same for a scope as it stands in an object; an absent one is wider than any scope. */
  coversJson(other: JsonObject | undefined): boolean {
    return other !== undefined && this.covers(new Scope(other, this.#context));
  }

  /**
   * Rules that hold for whatever a role in `namespace` reaches; with an empty one, everywhere.
   * Never more than the scope permits, sometimes less.
   */
  rulesIn(namespace: string): PolicyRule[] {
    const here = this.#permits.filter((permit) =>
      permit.targets.some((target) => targetCovers(target, MANAGEMENT)),
    );
    return here.flatMap((permit) => {
      if (permit.on === 'resources') {
        return this.#reaches(permit, namespace) ? resourceRules(permit) : [];
      }
      const verbs = permit.verbs === 'all' ? ['*'] : [...permit.verbs];
      return [{ ...NO_RULE, verbs, nonResourceURLs: permit.paths }];
    });
  }

  /** Rules for one kind at one place; `namespace` is empty for a kind that has none. */
  rulesAt(on: { group: string; resource: string; namespace: string }): PolicyRule[] {
    return this.#permits.flatMap((permit) => {
      const here = permit.targets.some((target) => targetCovers(target, MANAGEMENT));
      if (!here || permit.on !== 'resources') return [];
      return namespaceAllowed(permit.namespaces, on, this.#context) ? resourceRules(permit) : [];
    });
  }

  #reaches({ namespaces }: ResourcePermit, namespace: string): boolean {
    if (namespaces === 'all') return true;
    if (namespace === '') return false;
    return namespaces.some((it) => namespaceMatches(it, namespace, this.#context));
  }
}

/** The scope of a request; undefined where nothing narrows it. Throws for a narrowing of another
 * make, whose limits nobody here could tell. */
export function scopeOf({ scope }: User): Scope | undefined {
  if (scope === undefined || scope instanceof Scope) return scope;
  throw new TypeError('The rights of this user are narrowed by something other than a scope');
}

const NO_RULE: PolicyRule = {
  verbs: [],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
};

function resourceRules({ verbs, resources, names }: ResourcePermit): PolicyRule[] {
  const common = {
    ...NO_RULE,
    verbs: verbs === 'all' ? PLAIN_VERBS : [...verbs],
    resourceNames: names === 'all' ? [] : [...names],
  };
  // Names that nothing can have would read as "every name" in a rule.
  if (common.verbs.length === 0 || (names !== 'all' && names.size === 0)) return [];
  if (resources === 'all') return [{ ...common, apiGroups: ['*'], resources: ['*'] }];
  return resources.map(({ group, resource }) => ({
    ...common,
    apiGroups: [group],
    resources: [resource],
  }));
}

/** A permit in its single parts, since each may be within another permit of the same scope. */
function* partsOf(permit: Permit): Iterable<Permit> {
  for (const target of permit.targets) {
    for (const verbs of oneByOne(permit.verbs)) {
      const part = { ...permit, targets: [target], verbs };
      if (part.on === 'paths') for (const path of part.paths) yield { ...part, paths: [path] };
      else yield* resourceParts(part);
    }
  }
}

function* resourceParts(permit: ResourcePermit): Iterable<ResourcePermit> {
  for (const resources of eachOf(permit.resources)) {
    for (const namespaces of eachOf(permit.namespaces)) {
      for (const names of oneByOne(permit.names)) {
        yield { ...permit, resources, namespaces, names };
      }
    }
  }
}

function eachOf<T>(list: Some<readonly T[]>): Some<readonly T[]>[] {
  return list === 'all' ? ['all'] : list.map((one) => [one]);
}

function oneByOne(names: Permit['verbs']): Permit['verbs'][] {
  return names === 'all' ? ['all'] : [...names].map((name) => new Set([name]));
}

/**
 * Scope of an access key or an endpoint token (spec section 2.5): it narrows the rights of the holder and
 * never grants any. It is compiled once per version of a key; a decision then walks over a few permits.
 */
import type { Attributes, JsonObject, Narrowing, User } from '../../apimachinery/index.ts';
import type { PolicyRule } from '../rbac/policy-rules.ts';
import { compilePermits } from './compile-scope.ts';
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
} from './permits.ts';
import { hasUnclearPartsOf } from './scope-clarity.ts';
import { roleCovers, rolesOf, type ScopeRole } from './scope-roles.ts';

/** Rule form of `verbs: []` in a scope; unknown verbs are left out, which is the safe side. */
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
 * Limit of comparisons in `covers`, which then returns false: far more than an honest scope needs, and few
 * enough that a hostile one cannot block the event loop.
 */
const MOST_COMPARISONS = 200_000;
/** Limit of rules of a scope that are listed: each is compared for every kind. */
const MOST_LISTED = 1_000;

export class Scope implements Narrowing {
  /** The scope as written. */
  readonly source: JsonObject;
  readonly #permits: readonly Permit[];
  readonly #roles: readonly ScopeRole[];
  readonly #context: PermitContext;

  /** `scope` as in the object; a value that is not an object permits nothing. */
  constructor(scope: JsonObject, context: PermitContext) {
    this.source = scope;
    this.#roles = rolesOf(scope);
    this.#permits = compilePermits(scope, this.#roles, context);
    this.#context = context;
  }

  /** `target`: API root of the request; absent: that of this daemon. */
  allows(attributes: Attributes, target: Target = MANAGEMENT): boolean {
    const request = { target, attributes };
    return this.#permits.some((permit) => permitAllows(permit, request, this.#context));
  }

  /** True if any request to the target is permitted. */
  reaches(target: Target): boolean {
    return this.#permits.some(({ targets }) =>
      targets.some((pattern) => targetCovers(pattern, target)),
    );
  }

  /**
   * True if another scope is within this one, whatever the current or future objects of the platform. False
   * if the two scopes alone cannot tell. Roles count by name as well as by their permissions here, because
   * other verifiers of a token may give them more. The same holds for parts that match nothing here.
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

  /** The same for a scope in an object; an absent scope is wider than any scope. */
  coversJson(other: JsonObject | undefined): boolean {
    return other !== undefined && this.covers(new Scope(other, this.#context));
  }

  /**
   * Rules for everything that a role in `namespace` applies to; with an empty one, everywhere. Never more
   * than the scope permits, sometimes less.
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

  /** False for a scope with too many parts to list its rules for each kind. */
  get isListable(): boolean {
    const sizes = this.#permits.map((permit) =>
      permit.on === 'resources' && permit.resources !== 'all' ? permit.resources.length : 1,
    );
    return sizes.reduce((sum, size) => sum + size, 0) <= MOST_LISTED;
  }

  /** Rules for one kind in one namespace; `namespace` is empty for a cluster-scoped kind. */
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

/** Scope of a request; undefined: unrestricted. Throws for another implementation of `Narrowing`. */
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
  // An empty list of names in a rule would mean "every name".
  if (common.verbs.length === 0 || (names !== 'all' && names.size === 0)) return [];
  if (resources === 'all') return [{ ...common, apiGroups: ['*'], resources: ['*'] }];
  return resources.map(({ group, resource }) => ({
    ...common,
    apiGroups: [group],
    resources: [resource],
  }));
}

/** Splits a permit into single parts, since different permits of a scope may cover them. */
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

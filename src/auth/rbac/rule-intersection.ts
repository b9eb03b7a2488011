/** Rules that two sets both allow: the rights of a user within the scope of a key. */
import { anyOrAll, anyResourceCovers, type PolicyRule, pathCovers } from './policy-rules.ts';

/**
 * Limit of comparisons per call. Larger sets count as disjoint, which is the safe side, so that a hostile
 * set cannot block the event loop.
 */
const MOST_COMPARISONS = 5_000_000;

/** Intersects each pair of rules; the union of these intersections is what both sets allow. */
export function intersectRules(
  some: readonly PolicyRule[],
  others: readonly PolicyRule[],
): PolicyRule[] {
  if (size(some) * size(others) > MOST_COMPARISONS) return [];
  return some.flatMap((a) =>
    others.flatMap((b) => [...resourcesOfBoth(a, b), ...pathsOfBoth(a, b)]),
  );
}

function size(rules: readonly PolicyRule[]): number {
  const sizes = rules.map(({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }) => {
    const lists = [verbs, apiGroups, resources, resourceNames, nonResourceURLs];
    return lists.reduce((sum, list) => sum + list.length, 0);
  });
  return sizes.reduce((sum, one) => sum + one, 0);
}

function resourcesOfBoth(a: PolicyRule, b: PolicyRule): PolicyRule[] {
  const verbs = meet(a.verbs, b.verbs, sameOrAll);
  const apiGroups = meet(a.apiGroups, b.apiGroups, sameOrAll);
  const resources = meet(a.resources, b.resources, resourceOfBoth);
  const resourceNames = namesOfBoth(a.resourceNames, b.resourceNames);
  if (resourceNames === undefined) return [];
  if (verbs.length === 0 || apiGroups.length === 0 || resources.length === 0) return [];
  return [{ verbs, apiGroups, resources, resourceNames, nonResourceURLs: [] }];
}

function pathsOfBoth(a: PolicyRule, b: PolicyRule): PolicyRule[] {
  const verbs = meet(a.verbs, b.verbs, sameOrAll);
  const nonResourceURLs = meet(a.nonResourceURLs, b.nonResourceURLs, pathOfBoth);
  if (verbs.length === 0 || nonResourceURLs.length === 0) return [];
  return [{ verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs }];
}

function meet(
  some: readonly string[],
  others: readonly string[],
  ofBoth: (a: string, b: string) => string | undefined,
): readonly string[] {
  // The usual cases, without a set: a scope may have thousands of rules.
  if (some.length === 0 || isAll(others)) return some;
  if (others.length === 0 || isAll(some)) return others;
  const found = some.flatMap((a) => others.flatMap((b) => ofBoth(a, b) ?? []));
  return [...new Set(found)];
}

function isAll(list: readonly string[]): boolean {
  return list.length === 1 && list[0] === '*';
}

function sameOrAll(a: string, b: string): string | undefined {
  if (anyOrAll([a], b)) return b;
  return b === '*' ? a : undefined;
}

function resourceOfBoth(a: string, b: string): string | undefined {
  if (anyResourceCovers([a], b)) return b;
  if (anyResourceCovers([b], a)) return a;
  const [mainA = '', subA] = split(a);
  const [mainB = '', subB] = split(b);
  if (subA === undefined || subB === undefined) return undefined;
  const main = sameOrAll(mainA, mainB);
  const sub = sameOrAll(subA, subB);
  return main === undefined || sub === undefined ? undefined : `${main}/${sub}`;
}

function split(resource: string): [string, string | undefined] {
  const at = resource.indexOf('/');
  return at < 0 ? [resource, undefined] : [resource.slice(0, at), resource.slice(at + 1)];
}

function pathOfBoth(a: string, b: string): string | undefined {
  if (pathCovers(a, b)) return b;
  return pathCovers(b, a) ? a : undefined;
}

/** Undefined: no name is in both. */
function namesOfBoth(a: readonly string[], b: readonly string[]): readonly string[] | undefined {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const both = a.filter((name) => b.includes(name));
  return both.length === 0 ? undefined : both;
}

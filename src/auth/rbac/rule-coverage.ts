/**
 * Coverage of one set of rules by another: the core of escalation prevention, as in Kubernetes
 * (component-helpers `auth/rbac/validation`). Wanted rules are split into atoms (group, resource, name,
 * verb), and one owned rule must cover each atom.
 */
import { anyOrAll, anyResourceCovers, type PolicyRule, pathCovers } from './policy-rules.ts';

/**
 * Limit of comparisons (atoms times owned rules) per call. A larger wanted rule, far beyond any honest
 * role, counts as not covered, so that a hostile one cannot block the event loop.
 */
const COMPARISON_LIMIT = 2_000_000;

/** The one name of an atom; undefined, without resourceNames: every name. */
type Name = string | undefined;

export function covers(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): boolean {
  return uncoveredRules(owned, wanted).length === 0;
}

/** Rights of `wanted` beyond `owned`, one rule per group, resource and name. */
export function uncoveredRules(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] {
  const missing: PolicyRule[] = [];
  let comparisons = 0;
  for (const rule of wanted) {
    if (owned.some((candidate) => coversWhole(candidate, rule))) continue;
    comparisons += atoms(rule) * owned.length;
    if (comparisons > COMPARISON_LIMIT) missing.push(rule);
    else {
      for (const part of uncoveredResources(owned, rule)) missing.push(part);
      for (const part of uncoveredPaths(owned, rule)) missing.push(part);
    }
  }
  return missing;
}

function atoms(rule: PolicyRule): number {
  const names = Math.max(1, rule.resourceNames.length);
  const things = rule.apiGroups.length * rule.resources.length * names;
  return (things + rule.nonResourceURLs.length) * rule.verbs.length;
}

function coversWhole(owned: PolicyRule, wanted: PolicyRule): boolean {
  return (
    wanted.verbs.every((verb) => anyOrAll(owned.verbs, verb)) &&
    wanted.apiGroups.every((group) => anyOrAll(owned.apiGroups, group)) &&
    wanted.resources.every((resource) => anyResourceCovers(owned.resources, resource)) &&
    namesOf(wanted).every((name) => coversName(owned, name)) &&
    wanted.nonResourceURLs.every((path) => coversPath(owned, path))
  );
}

function uncoveredResources(owned: readonly PolicyRule[], wanted: PolicyRule): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const group of new Set(wanted.apiGroups)) {
    const ofGroup = owned.filter((rule) => anyOrAll(rule.apiGroups, group));
    for (const resource of new Set(wanted.resources)) {
      const ofResource = ofGroup.filter((rule) => anyResourceCovers(rule.resources, resource));
      for (const name of new Set(namesOf(wanted))) {
        const candidates = ofResource.filter((rule) => coversName(rule, name));
        const verbs = uncoveredVerbs(candidates, wanted);
        if (verbs.length === 0) continue;
        const resourceNames = name === undefined ? [] : [name];
        const [apiGroups, resources] = [[group], [resource]];
        missing.push({ verbs, apiGroups, resources, resourceNames, nonResourceURLs: [] });
      }
    }
  }
  return missing;
}

function uncoveredPaths(owned: readonly PolicyRule[], wanted: PolicyRule): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const path of new Set(wanted.nonResourceURLs)) {
    const candidates = owned.filter((rule) => coversPath(rule, path));
    const verbs = uncoveredVerbs(candidates, wanted);
    if (verbs.length === 0) continue;
    missing.push({
      verbs,
      apiGroups: [],
      resources: [],
      resourceNames: [],
      nonResourceURLs: [path],
    });
  }
  return missing;
}

function uncoveredVerbs(candidates: readonly PolicyRule[], wanted: PolicyRule): string[] {
  const verbs = [...new Set(wanted.verbs)];
  return verbs.filter((verb) => !candidates.some((rule) => anyOrAll(rule.verbs, verb)));
}

function namesOf(rule: PolicyRule): readonly Name[] {
  return rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
}

function coversName(owned: PolicyRule, name: Name): boolean {
  if (owned.resourceNames.length === 0) return true;
  return name !== undefined && owned.resourceNames.includes(name);
}

function coversPath(owned: PolicyRule, path: string): boolean {
  return owned.nonResourceURLs.some((pattern) => pathCovers(pattern, path));
}

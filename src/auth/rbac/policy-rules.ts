/**
 * Policy rules of `rbac.authorization.k8s.io/v1`: parsing, matching requests, and coverage of patterns.
 * Matching a request is covering a pattern without wildcards, so that authorization and the escalation
 * check (`rule-coverage.ts`) can never disagree.
 *
 * One extension of Kubernetes: `teams/*` covers every subresource of teams (in Kubernetes it matches
 * nothing), because access rules with `subresources: ["*"]` become such rules.
 */
import { type Attributes, isRecord } from '../../apimachinery/index.ts';
import { texts } from '../fields.ts';

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty: every name. Otherwise the rule does not allow requests without a name. */
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

const ALL = '*';

/** Parses `rules` of a Role or ClusterRole. */
export function policyRules(value: unknown): PolicyRule[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isRecord).map((rule) => ({
    verbs: texts(rule['verbs']),
    apiGroups: texts(rule['apiGroups']),
    resources: texts(rule['resources']),
    resourceNames: texts(rule['resourceNames']),
    nonResourceURLs: texts(rule['nonResourceURLs']),
  }));
}

export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!anyOrAll(rule.verbs, attributes.verb)) return false;
  if ('path' in attributes) {
    return rule.nonResourceURLs.some((pattern) => pathCovers(pattern, attributes.path));
  }
  if (!anyOrAll(rule.apiGroups, attributes.group)) return false;
  if (rule.resourceNames.length > 0 && !rule.resourceNames.includes(attributes.name)) return false;
  const { resource, subresource = '' } = attributes;
  return anyResourceCovers(
    rule.resources,
    subresource === '' ? resource : `${resource}/${subresource}`,
  );
}

/** True for the value itself, or for `*`. Used for verbs and API groups. */
export function anyOrAll(patterns: readonly string[], wanted: string): boolean {
  return patterns.includes(wanted) || patterns.includes(ALL);
}

/** Patterns: `*`, `teams`, `teams/status`, and `*` on either side of the slash. */
export function anyResourceCovers(patterns: readonly string[], wanted: string): boolean {
  if (anyOrAll(patterns, wanted)) return true;
  const slash = wanted.indexOf('/');
  if (slash < 0) return false;
  const [main, sub] = [wanted.slice(0, slash), wanted.slice(slash + 1)];
  return patterns.some((pattern) => {
    const at = pattern.indexOf('/');
    return (
      at >= 0 && partCovers(pattern.slice(0, at), main) && partCovers(pattern.slice(at + 1), sub)
    );
  });
}

function partCovers(pattern: string, wanted: string): boolean {
  return pattern === ALL || pattern === wanted;
}

/** Patterns: `/apis`, `/apis/*`, `*`. A star counts only at the end, where it matches any text. */
export function pathCovers(pattern: string, wanted: string): boolean {
  if (pattern === wanted) return true;
  if (!pattern.endsWith(ALL)) return false;
  let end = pattern.length - 1;
  while (pattern[end - 1] === ALL) end--;
  return wanted.startsWith(pattern.slice(0, end));
}

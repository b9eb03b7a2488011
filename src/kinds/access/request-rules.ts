/**
 * Resources and URLs of a rule: the same in scopes of keys (spec section 2.5) and in the audit policy
 * (spec section 2.8.9).
 */
import { type FieldError, type FieldPath, invalid, required } from '../../apimachinery/index.ts';

export interface RequestRule {
  readonly resources?: readonly {
    readonly group?: string;
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly resourceNames?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** A rule has resources or URLs, its wildcards do not overlap its names, and names need a resource. */
export function requestRuleProblems(rule: RequestRule, path: FieldPath): FieldError[] {
  const errors = urlProblems(rule.nonResourceURLs ?? [], [...path, 'nonResourceURLs']);
  const forResources = ['resources', 'resourceNames', 'namespaces'] as const;
  const both = forResources.filter((field) => (rule[field] ?? []).length > 0);
  if ((rule.nonResourceURLs ?? []).length > 0 && both.length > 0) {
    errors.push(
      invalid(
        [...path, 'nonResourceURLs'],
        rule.nonResourceURLs,
        `a rule is for resources or for URLs, not for both; this one also has ${both.join(', ')}`,
      ),
    );
  }
  for (const [index, entry] of (rule.resources ?? []).entries()) {
    const at = [...path, 'resources', index, 'resources'];
    errors.push(...overlaps(entry.resources ?? [], at));
    if ((entry.resourceNames ?? []).length > 0 && (entry.resources ?? []).length === 0) {
      errors.push(required(at, 'resourceNames needs the resources they belong to'));
    }
  }
  const named = (rule.resources ?? []).some(({ resources }) => (resources ?? []).length > 0);
  if ((rule.resourceNames ?? []).length > 0 && !named) {
    errors.push(
      required([...path, 'resources'], 'resourceNames needs the resources they belong to'),
    );
  }
  return errors;
}

function urlProblems(urls: readonly string[], path: FieldPath): FieldError[] {
  return urls.flatMap((url, index) => {
    const at = [...path, index];
    if (url === '*') return [];
    if (!url.startsWith('/')) return [invalid(at, url, 'must be "*" or begin with "/"')];
    const star = url.indexOf('*');
    return star < 0 || (star === url.length - 1 && url.endsWith('/*'))
      ? []
      : [invalid(at, url, 'may have "*" only as the whole last step, as in "/healthz/*"')];
  });
}

/** Entries that a wider one covers: anything beside `*`, `pods/log` beside `pods/*`. */
function overlaps(resources: readonly string[], path: FieldPath): FieldError[] {
  const all = new Set(resources);
  return resources.flatMap((name, index) => {
    const wider = widerThan(name).find((other) => other !== name && all.has(other));
    return wider === undefined
      ? []
      : [invalid([...path, index], name, `is covered by ${JSON.stringify(wider)} already`)];
  });
}

function widerThan(name: string): string[] {
  const [resource, subresource] = name.split('/');
  return subresource === undefined ? ['*'] : ['*', `${resource}/*`, '*/*', `*/${subresource}`];
}

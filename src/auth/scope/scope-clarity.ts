/**
 * Parts of a scope that match nothing here: a `*` that is a name, a rule without a target, an entry
 * without a name. Such a part permits nothing, so that every scope would cover it. Another verifier of
 * endpoint tokens may read it as everything: it is therefore covered only by a scope that has the same
 * part.
 */
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../../apimachinery/index.ts';
import { texts } from '../fields.ts';
import { compilePermits, entries, pathsOf } from './compile-scope.ts';

const ALL = '*';
const LISTS = ['projects', 'spaces', 'virtualClusters', 'clusters', 'rules'] as const;
/** Compared by their names (`roleCovers`). */
const ROLES = ['roles', 'allowPlatformCli'];
const KNOWN: ReadonlySet<string> = new Set([...LISTS, ...ROLES]);

/** Limit of comparisons of entries; beyond it, the part counts as not covered, as in `Scope.covers`. */
const MOST_COMPARISONS = 10_000;

/** True if each part of `inner` that matches nothing here is also in `outer`. */
export function hasUnclearPartsOf(outer: JsonObject, inner: JsonObject, group: string): boolean {
  if (jsonEqual(outer, inner)) return true;
  if (Object.keys(inner).length === 0) return false;
  const isKnown = Object.keys(inner).every((field) => KNOWN.has(field));
  return isKnown && LISTS.every((list) => hasUnclearEntries(list));

  function hasUnclearEntries(list: (typeof LISTS)[number]): boolean {
    const { [list]: value = [] } = inner;
    if (!Array.isArray(value)) return false;
    const unclear = value.filter((entry) => !matchesSomething(list, entry, group));
    if (unclear.length === 0) return true;
    const own: readonly unknown[] = Array.isArray(outer[list]) ? outer[list] : [];
    if (unclear.length * own.length > MOST_COMPARISONS) return false;
    return unclear.every((entry) => own.some((one) => jsonEqual(one, entry)));
  }
}

function matchesSomething(list: string, entry: JsonValue, group: string): boolean {
  if (!isRecord(entry)) return false;
  const permits = compilePermits({ [list]: [entry] }, [], { group });
  if (permits.length === 0 || permits.some(({ targets }) => targets.length === 0)) return false;
  return list !== 'rules' || ruleMatchesSomething(entry);
}

function ruleMatchesSomething(rule: Readonly<Record<string, unknown>>): boolean {
  const { nonResourceURLs, requestTargets, resources } = rule;
  const names = [rule['verbs'], rule['resourceNames'], rule['namespaces']];
  return (
    [...names, nonResourceURLs, requestTargets].every(isListOfTexts) &&
    names.every((list) => !texts(list).includes(ALL)) &&
    !texts(requestTargets).includes(ALL) &&
    (texts(nonResourceURLs).length === 0 ||
      pathsOf(texts(nonResourceURLs)).length === texts(nonResourceURLs).length) &&
    (resources === undefined || Array.isArray(resources)) &&
    entries(resources).every(({ group = '', resources: names }) => {
      return typeof group === 'string' && group !== ALL && isListOfTexts(names);
    })
  );
}

function isListOfTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && texts(value).length === value.length);
}

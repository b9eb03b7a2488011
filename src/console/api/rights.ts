/**
 * Rights of the person, from the rules of a SelfSubjectRulesReview and from the owner and the access rules of an
 * object. They decide what the pages offer; the server decides again when it is done.
 */
import type { SelfSubjectRulesReview } from '../../client/index.ts';
import type { KubeObject, Resource } from './objects.ts';

type Rules = NonNullable<SelfSubjectRulesReview['status']>;
type ResourceRule = NonNullable<Rules['resourceRules']>[number];

export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Path whose rights are those to clone (`get`) and to push (`update`). */
const GIT_PATH = '/git/platform.git';
const ALL = '*';

export class Rights {
  readonly #rules: Rules;
  readonly #person: Person;

  constructor(rules: Rules, person: Person) {
    this.#rules = rules;
    this.#person = person;
  }

  /** `on`: the object, or its name. Undefined: any object of the kind. */
  may(verb: string, kind: Pick<Resource, 'group' | 'name'>, on?: KubeObject | string): boolean {
    const { resourceRules = [], incomplete } = this.#rules;
    const name = typeof on === 'string' ? on : on?.metadata.name;
    if (resourceRules.some((rule) => allows(rule, { verb, kind, name }))) return true;
    // The scope of an access key may exclude the object.
    if (typeof on !== 'object' || incomplete === true) return false;
    return verbsOn(on, this.#person).some((own) => own === ALL || own === verb);
  }

  mayRequest(verb: string, path: string): boolean {
    return (this.#rules.nonResourceRules ?? []).some(
      ({ verbs = [], nonResourceURLs = [] }) =>
        covers(verbs, verb) && nonResourceURLs.some((pattern) => pathCovers(pattern, path)),
    );
  }

  get mayClone(): boolean {
    return this.mayRequest('get', GIT_PATH);
  }

  get mayPush(): boolean {
    return this.mayClone && this.mayRequest('update', GIT_PATH);
  }
}

/** In force while the rights are not known: the server refuses what it must. */
export const ANY_RIGHTS = new Rights(
  {
    resourceRules: [{ verbs: [ALL], apiGroups: [ALL], resources: [ALL] }],
    nonResourceRules: [{ verbs: [ALL], nonResourceURLs: [ALL] }],
  },
  { user: '', groups: [] },
);

function covers(patterns: readonly string[], wanted: string): boolean {
  return patterns.includes(wanted) || patterns.includes(ALL);
}

/** Patterns: `*`, `tenants`, `tenants/status`, and `*` on either side of the slash. */
function resourceCovers(patterns: readonly string[], wanted: string): boolean {
  const [main = '', sub] = wanted.split('/');
  const forms = sub === undefined ? [] : [`${main}/*`, `*/${sub}`, '*/*'];
  return covers(patterns, wanted) || forms.some((form) => patterns.includes(form));
}

/** A star counts at the end alone. */
function pathCovers(pattern: string, path: string): boolean {
  return (
    pattern === path || (pattern.endsWith(ALL) && path.startsWith(pattern.replace(/\*+$/, '')))
  );
}

function allows(
  { verbs = [], apiGroups = [], resources = [], resourceNames = [] }: ResourceRule,
  asked: {
    readonly verb: string;
    readonly kind: Pick<Resource, 'group' | 'name'>;
    readonly name: string | undefined;
  },
): boolean {
  const { verb, kind, name } = asked;
  const isNamed =
    resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
  return (
    isNamed &&
    covers(verbs, verb) &&
    covers(apiGroups, kind.group) &&
    resourceCovers(resources, kind.name)
  );
}

interface AccessRule {
  readonly verbs?: readonly string[];
  readonly users?: readonly string[];
  readonly teams?: readonly string[];
}

/** Verbs that the owner and the access rules of an object give to a person. */
function verbsOn({ spec = {} }: KubeObject, { user, groups }: Person): readonly string[] {
  const owner = spec['owner'] as { readonly user?: string; readonly team?: string } | undefined;
  const access = spec['access'];
  const rules: readonly AccessRule[] = Array.isArray(access) ? access : [];
  const isIn = (team: string): boolean => groups.includes(`gitplane:team:${team}`);
  const isOwner = owner?.user === user || (owner?.team !== undefined && isIn(owner.team));
  const own = rules.filter(
    ({ users = [], teams = [] }) =>
      [...users, ...teams].includes(ALL) || users.includes(user) || teams.some(isIn),
  );
  return [...(isOwner ? [ALL] : []), ...own.flatMap(({ verbs = [] }) => verbs)];
}

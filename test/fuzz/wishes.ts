/** Objects, rights and changes as people of the campaign come to wish for them. */
import type { Random } from '../support/random.ts';
import { MANAGEMENT, RBAC, type Rule, type Scope, type ScopeRule } from './rights-model.ts';
import type { TraceSource } from './traces.ts';
import { KINDS } from './world.ts';

export const NAMESPACES = ['n0', 'n1', 'p-a'];
export const PEOPLE = ['p0', 'p1', 'p2', 'p3'];
const USERS = [...PEOPLE, 'boss', 'x0', 'x1'];
const TEAMS = ['t0', 't1', 't2'];

/** The names that objects of the campaign have. */
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  sharedsecrets: ['s0', 's1', 's2'],
  projectsecrets: ['s0', 's1'],
  teams: TEAMS,
  users: USERS,
  ownedaccesskeys: ['k0', 'k1', 'k2', 'k3', 'k4', 'k5'],
  clusterroles: ['r0', 'r1', 'boss', ...PEOPLE],
  clusterrolebindings: ['b0', 'b1', ...PEOPLE],
  roles: ['r0', 'r1'],
  rolebindings: ['b0', 'b1'],
};

/** Secrets are what it is about. */
const PLURAL_WEIGHTS: readonly string[] = [
  ...Array<string>(9).fill('sharedsecrets'),
  ...Array<string>(3).fill('projectsecrets'),
  'teams',
  'teams',
  'users',
  'users',
  'ownedaccesskeys',
  'ownedaccesskeys',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
];

const VERB_SETS: readonly (readonly string[])[] = [
  ['get'],
  ['get', 'list'],
  ['get', 'list', 'watch'],
  ['list'],
  ['watch'],
  ['create'],
  ['create', 'delete'],
  ['create', 'get'],
  ['update', 'patch'],
  ['update', 'patch'],
  ['patch'],
  ['delete', 'deletecollection'],
  ['create', 'update', 'patch', 'delete', 'deletecollection'],
  ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
];
const RARE_VERB_SETS: readonly (readonly string[])[] = [
  ['*'],
  ['bind'],
  ['escalate'],
  ['makeowner'],
  ['get', '*'],
];

export function pickPlural(random: Random): string {
  return random.pick(PLURAL_WEIGHTS);
}

export function pickName(random: Random, plural: string): string {
  return random.pick(NAMES[plural] ?? ['a']);
}

function someOf<T>(random: Random, items: readonly T[]): T[] {
  const some = items.filter(() => random.chance(0.35));
  return some.length === 0 ? [random.pick(items)] : some;
}

export function pickRule(random: Random): Rule {
  if (random.chance(0.12)) {
    const verbs = random.pick([['get'], ['get', 'update'], ['get', 'update']]);
    return { nonResourceURLs: [random.pick(['/git/*', '/git/platform.git'])], verbs };
  }
  if (random.chance(0.03)) {
    const resources = [random.pick(['users', 'groups'])];
    return { apiGroups: [''], resources, verbs: ['impersonate'] };
  }
  const verbs = random.chance(0.06) ? random.pick(RARE_VERB_SETS) : random.pick(VERB_SETS);
  const plural = random.chance(0.04) ? '*' : pickPlural(random);
  const names = random.chance(0.2) && plural !== '*' ? [pickName(random, plural)] : [];
  return {
    verbs,
    apiGroups: [plural === '*' ? '*' : (KINDS[plural]?.group ?? MANAGEMENT)],
    resources: [plural],
    ...(names.length === 0 ? {} : { resourceNames: names }),
  };
}

/** The right to push, and to write some kinds without the right to read them. */
export function pickPusher(random: Random): Rule[] {
  const verbs = ['create', 'update', 'delete'];
  const resources = [pickPlural(random), random.pick(Object.keys(KINDS))];
  return [
    { nonResourceURLs: ['/git/*'], verbs: ['get', 'update'] },
    { apiGroups: ['*'], resources, verbs },
  ];
}

function pickScopeRule(random: Random): ScopeRule {
  if (random.chance(0.25)) return { nonResourceURLs: ['/git/*'] };
  const verbs = random.chance(0.15) ? random.pick(RARE_VERB_SETS) : random.pick(VERB_SETS);
  const plural = pickPlural(random);
  const group = KINDS[plural]?.group ?? MANAGEMENT;
  return {
    ...(random.chance(0.3) ? {} : { verbs }),
    ...(random.chance(0.3)
      ? {}
      : { resources: [{ group, ...(random.chance(0.3) ? {} : { resources: [plural] }) }] }),
    ...(random.chance(0.25) ? { namespaces: [random.pick(['', ...NAMESPACES])] } : {}),
  };
}

export function pickScope(random: Random): Scope {
  if (random.chance(0.12)) return { projects: [{ project: random.pick(['a', 'b', '*']) }] };
  const rules = [pickScopeRule(random)];
  if (random.chance(0.4)) {
    const resources = ['ownedaccesskeys', 'directclusterendpointtokens'];
    rules.push({ verbs: ['create'], resources: [{ group: MANAGEMENT, resources }] });
  }
  while (random.chance(0.5)) rules.push(pickScopeRule(random));
  return { rules };
}

function pickOwner(random: Random): object {
  return random.chance(0.7) ? { user: random.pick(PEOPLE) } : { team: random.pick(TEAMS) };
}

function pickAccess(random: Random): object[] {
  const verbs = random.chance(0.2)
    ? random.pick(RARE_VERB_SETS)
    : random.pick(VERB_SETS.filter((set) => !set.includes('create')));
  const users = random.chance(0.05) ? ['*'] : someOf(random, PEOPLE);
  const names = random.chance(0.6) ? { users } : { teams: [random.pick(TEAMS)] };
  return [{ verbs, ...names }];
}

export interface Wisher {
  readonly random: Random;
  readonly traces: TraceSource;
  /** Who wishes, for owners: most want what they make for themselves. */
  readonly self: string;
}

/** What an object of a kind is to be, but for its metadata. */
export function pickContent(wisher: Wisher, plural: string): Record<string, unknown> {
  const { random, traces, self } = wisher;
  switch (plural) {
    case 'clusterroles':
    case 'roles': {
      const rules = [pickRule(random)];
      if (random.chance(0.4)) rules.push(pickRule(random));
      const within = rules.filter((rule) => rule.nonResourceURLs === undefined);
      return { rules: plural === 'roles' ? within : rules };
    }
    case 'clusterrolebindings':
    case 'rolebindings':
      return pickBinding(random, plural, self);
    case 'ownedaccesskeys':
      return { spec: pickKey(random, self) };
    case 'users': {
      const groups = random.chance(0.3) ? { groups: [random.pick(['wheel', 'g0'])] } : {};
      const disabled = random.chance(0.1) ? { disabled: true } : {};
      return { spec: { displayName: traces.mark(), ...groups, ...disabled, ...shared(wisher) } };
    }
    case 'teams': {
      const users = someOf(random, USERS);
      const groups = random.chance(0.2) ? { groups: [random.pick(['wheel', 'g0'])] } : {};
      return { spec: { displayName: traces.mark(), users, ...groups, ...shared(wisher) } };
    }
    default:
      return { spec: { displayName: traces.mark(), data: pickData(wisher), ...shared(wisher) } };
  }
}

export function pickData({ random, traces }: Pick<Wisher, 'random' | 'traces'>): object {
  const keys = random.chance(0.7) ? ['a'] : ['a', 'b'];
  return Object.fromEntries(keys.map((key) => [key, traces.canary()]));
}

function shared({ random, self }: Wisher): object {
  const owner = random.chance(0.35)
    ? { owner: random.chance(0.6) ? { user: self } : pickOwner(random) }
    : {};
  return { ...owner, ...(random.chance(0.2) ? { access: pickAccess(random) } : {}) };
}

function pickBinding(random: Random, plural: string, self: string): Record<string, unknown> {
  const isCluster = plural === 'clusterrolebindings' || random.chance(0.4);
  const kind = isCluster ? 'ClusterRole' : 'Role';
  const role = random.pick(NAMES[isCluster ? 'clusterroles' : 'roles'] ?? []);
  const subject = random.pick([
    { kind: 'User', name: self },
    { kind: 'User', name: random.pick(USERS) },
    { kind: 'Group', name: `gitplane:team:${random.pick(TEAMS)}` },
    { kind: 'Group', name: random.pick(['wheel', 'g0']) },
  ]);
  return {
    roleRef: { apiGroup: RBAC, kind, name: role },
    subjects: [{ apiGroup: RBAC, ...subject }],
  };
}

function pickKey(random: Random, self: string): Record<string, unknown> {
  const owner = random.chance(0.75)
    ? { user: random.chance(0.7) ? self : random.pick(USERS) }
    : { team: random.pick(TEAMS) };
  const server = random.chance(0.06)
    ? random.pick([{ type: 'Login' }, { parent: 'k0' }, { oidcProvider: { clientId: 'x' } }])
    : {};
  const groups = random.chance(0.1) ? { groups: [random.pick(['wheel', 'g0'])] } : {};
  const scope = random.chance(0.6) ? { scope: pickScope(random) } : {};
  return { ...owner, ...server, ...groups, ...scope };
}

/** References to an owner of a kind that the platform does not know, so that it never goes. */
export function pickOwners(random: Random): object[] {
  const name = random.pick(['o0', 'o1']);
  const owner = { apiVersion: 'example.com/v1', kind: 'Owner', name, uid: name };
  return random.chance(0.2) ? [] : [owner];
}

/** The labels that make a project secret follow a shared one. */
export function followLabels(random: Random): Record<string, string> {
  return {
    'gitplane.dev/sharedsecret-name': pickName(random, 'sharedsecrets'),
    'gitplane.dev/sharedsecret-namespace': random.pick(NAMESPACES),
  };
}

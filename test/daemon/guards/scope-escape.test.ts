/**
 * Invariant 10 as a game. An attacker holds a key with a scope, of an administrator, and a key of a
 * friend with few rights, and every key that either makes. Whatever they ask for in whatever order,
 * by the API or by pushes: none of their keys ever does what neither of the first two could.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import '../../support/properties.ts';
import {
  fileOf,
  filesOf,
  type GuardedPlatform,
  grant,
  MANAGEMENT,
  object,
  openGuardedPlatform,
  RBAC,
} from '../../support/guarded-platform.ts';

/** When commits of the operator are made. */
const NOW = 1_700_000_000_000;

/** Every verb on a few kinds, but for those that lift guards. */
const kindsRule = (...resources: string[]): object => ({
  resources: [{ group: MANAGEMENT, resources }],
});
const GIT = { nonResourceURLs: ['/git/*'] };
const SCOPES: readonly object[] = [
  { rules: [{ resources: [{ group: MANAGEMENT }] }, GIT] },
  {
    rules: [kindsRule('teams', 'users', 'ownedaccesskeys'), { resources: [{ group: RBAC }] }, GIT],
  },
  { rules: [{ verbs: ['get', 'create', 'update', 'patch'] }] },
  { rules: [kindsRule('ownedaccesskeys', 'config'), { namespaces: ['p-a'] }, GIT] },
  { rules: [kindsRule('ownedaccesskeys')], projects: [{ project: 'a' }] },
  {
    rules: [
      { verbs: ['get'] },
      { verbs: ['create'], ...kindsRule('ownedaccesskeys', 'teams') },
      GIT,
    ],
  },
];

const scope = fc.option(
  fc.constantFrom(...SCOPES, { rules: [{}] }, { roles: [{ role: 'agent' }] }),
  {
    nil: undefined,
  },
);
const who = fc.constantFrom('root', 'friend');
const fresh = fc.constantFrom('n1', 'n2');
const rule = fc.constantFrom(
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { apiGroups: [MANAGEMENT], resources: ['*'], verbs: ['get', 'delete'] },
  { apiGroups: [MANAGEMENT], resources: ['teams'], verbs: ['get', 'update'] },
  { apiGroups: [RBAC], resources: ['clusterroles'], verbs: ['escalate'] },
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
);
const roleName = fc.constantFrom('root', 'n1', 'n2');
const subject = fc.constantFrom(
  { kind: 'User', name: 'friend' },
  { kind: 'Group', name: 'gitplane:team:friends' },
  { kind: 'Group', name: 'club' },
);
const access = fc.constantFrom([], [{ verbs: ['*'], users: ['friend'] }]);

/** Objects as the attacker would like to have them: new ones, or what is there with a difference. */
const wish: fc.Arbitrary<object> = fc.oneof(
  fc
    .tuple(fresh, who, scope)
    .map(([name, user, of]) =>
      object('OwnedAccessKey', name, { spec: { user, ...(of ? { scope: of } : {}) } }),
    ),
  fc
    .constantFrom('first', 'friend')
    .chain((name) =>
      fc
        .tuple(who, scope)
        .map(([user, of]) =>
          object('OwnedAccessKey', name, { spec: { user, ...(of ? { scope: of } : {}) } }),
        ),
    ),
  fc
    .tuple(fresh, scope)
    .map(([name, of]) =>
      object('OwnedAccessKey', name, { spec: { team: 'ops', ...(of ? { scope: of } : {}) } }),
    ),
  fc.tuple(roleName, rule).map(([name, one]) => object('ClusterRole', name, { rules: [one] })),
  fc.tuple(fresh, roleName, subject).map(([name, role, to]) =>
    object('ClusterRoleBinding', name, {
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: RBAC, ...to }],
    }),
  ),
  fc
    .tuple(fc.constantFrom('ops', 'friends', 'planned'), access)
    .map(([name, rules]) =>
      object('Team', name, { spec: { users: ['root', 'friend'], access: rules } }),
    ),
  fc
    .tuple(fresh, who, access)
    .map(([name, user, rules]) =>
      object('Team', name, { spec: { owner: { user }, users: ['friend'], access: rules } }),
    ),
  fc
    .constantFrom([], ['club'], ['wheel'])
    .map((groups) => object('User', 'friend', { spec: { groups } })),
  fc.constant(object('User', 'gone', { spec: { disabled: false } })),
  fc.constant(object('Config', 'platform', { spec: { raw: 'projectNamespacePrefix: ""' } })),
);

const step = fc.record({
  /** Which of the keys that the attacker has. */
  key: fc.nat(7),
  way: fc.constantFrom('api', 'api', 'push', 'delete'),
  wishes: fc.array(wish, { minLength: 1, maxLength: 2 }),
});

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Record<string, unknown>;
}

const PLURALS: Readonly<Record<string, string>> = {
  OwnedAccessKey: 'ownedaccesskeys',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Team: 'teams',
  User: 'users',
  Config: 'config',
};

/** Questions about what was there before, so that making something new is no gain. */
function probes(): (readonly [verb: string, plural: string, name: string, namespace: string])[] {
  const verbs = [
    'get',
    'list',
    'create',
    'update',
    'delete',
    'bind',
    'escalate',
    'deletecollection',
  ];
  const things = [...Object.values(PLURALS), 'projectsecrets', 'sharedsecrets'];
  return verbs.flatMap((verb) =>
    things.flatMap((plural) => {
      const namespaced = plural.endsWith('secrets');
      const names = ['list', 'create', 'deletecollection'].includes(verb)
        ? ['']
        : ['ops', 'root', 'zzz'];
      const namespaces = namespaced ? ['p-a', 'other'] : [''];
      return names.flatMap((name) =>
        namespaces.map((where) => [verb, plural, name, where] as const),
      );
    }),
  );
}

class Attack {
  readonly at: GuardedPlatform;
  readonly #keys: string[];
  readonly #before: Set<string>;
  allowed = 0;

  constructor(at: GuardedPlatform, keys: string[]) {
    this.at = at;
    this.#keys = keys;
    this.#before = new Set(keys.flatMap((token) => this.rights(token)));
  }

  rights(token: string): string[] {
    const works = 'user' in this.at.access.authenticate(token);
    if (!works) return [];
    return probes()
      .filter(([verb, plural, name, where]) => this.at.may(token, verb, plural, name, where))
      .map((probe) => probe.join(' '));
  }

  gained(): string[] {
    const now = new Set(this.#keys.flatMap((token) => this.rights(token)));
    return [...now].filter((right) => !this.#before.has(right));
  }

  async play({ key, way, wishes }: { key: number; way: string; wishes: object[] }): Promise<void> {
    const token = this.#keys[key % this.#keys.length] ?? '';
    if (!('user' in this.at.access.authenticate(token))) return;
    if (way === 'push') await this.#push(token, wishes as Named[]);
    else for (const one of wishes as Named[]) await this.#ask(token, way, one);
  }

  async #ask(token: string, way: string, wanted: Named): Promise<void> {
    // It may have replaced its own text a moment ago.
    if (!('user' in this.at.access.authenticate(token))) return;
    const { metadata, ...fields } = wanted;
    const plural = PLURALS[wanted.kind] ?? '';
    const { name } = metadata;
    if (way === 'delete') {
      this.#count((await this.at.delete(token, plural, name)).code);
      return;
    }
    const text = mintAccessKey('gpu');
    const isKey = plural === 'ownedaccesskeys';
    if (isKey) this.#keys.push(text);
    const wish = isKey ? { ...fields, spec: { ...fields.spec, key: text } } : fields;
    const there = this.at.platform.find(plural, name) !== undefined;
    const outcome = there
      ? await this.at.patch(token, plural, name, (it) => Object.assign(it, structuredClone(wish)))
      : await this.at.create(token, plural, { ...wish, metadata });
    this.#count(outcome.code);
  }

  async #push(token: string, wishes: readonly Named[]): Promise<void> {
    const objects = wishes.map((one) => {
      if (one.kind !== 'OwnedAccessKey') return one;
      const text = mintAccessKey('gpu');
      this.#keys.push(text);
      return { ...one, spec: { ...one.spec, key: concealAccessKey(text) } };
    });
    const files = { ...filesOf(objects) };
    // What was made by the API is where the platform put it.
    for (const one of wishes) {
      const plural = PLURALS[one.kind] ?? '';
      const here = this.at.platform.find(plural, one.metadata.name) === undefined;
      if (!here && /^n\d/.test(one.metadata.name)) delete files[fileOf(one)];
    }
    if (Object.keys(files).length > 0) this.#count((await this.at.push(token, files)).code);
  }

  #count(code: number): void {
    if (code === 200) this.allowed++;
  }
}

async function begin(of: object): Promise<Attack> {
  const at = await openGuardedPlatform({ now: () => NOW });
  await at.give(
    object('User', 'root', { spec: {} }),
    object('User', 'friend', { spec: {} }),
    object('User', 'gone', { spec: { disabled: true } }),
    object('Team', 'ops', { spec: { users: ['root'] } }),
    object('Team', 'friends', { spec: { users: ['friend'] } }),
    object('Config', 'platform', { spec: { raw: '' } }),
    ...grant('root', '* *', 'User:root'),
    ...grant('ops', 'delete *', 'Group:gitplane:team:ops'),
    ...grant('planned', 'update *', 'Group:gitplane:team:planned'),
    ...grant('wheel', 'deletecollection *', 'Group:wheel'),
    ...grant('gone', 'delete *', 'User:gone'),
    ...grant(
      'friend',
      'get,list,create,update,patch teams,users,ownedaccesskeys,clusterroles,clusterrolebindings',
      'User:friend',
    ),
  );
  const first = await at.giveKey('first', { user: 'root', scope: of });
  return new Attack(at, [first, await at.giveKey('friend', { user: 'friend' })]);
}

test('no sequence of allowed requests raises what the keys of an attacker can do', async () => {
  let allowed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...SCOPES),
      fc.array(step, { minLength: 6, maxLength: 14 }),
      async (of, steps) => {
        const attack = await begin(of);
        for (const one of steps) {
          await attack.play(one);
          expect(attack.gained(), JSON.stringify(one)).toEqual([]);
        }
        allowed += attack.allowed;
      },
    ),
    { numRuns: 6 },
  );
  // An attacker who is refused everything would prove nothing.
  expect(allowed).toBeGreaterThan(3);
});

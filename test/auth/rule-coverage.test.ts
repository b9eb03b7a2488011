import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Attributes } from '../../src/apimachinery/request.ts';
import { type PolicyRule, ruleAllows } from '../../src/auth/rbac/policy-rules.ts';
import { covers, uncoveredRules } from '../../src/auth/rbac/rule-coverage.ts';
import { processorMs } from '../support/calls.ts';
import { runs } from '../support/properties.ts';
import { path, type RuleInput, request, rule } from './builders.ts';

function on(verbs: string, resources: string, apiGroups = 'g', names = ''): RuleInput {
  const split = (text: string): string[] => (text === '' ? [] : text.split(','));
  return {
    verbs: split(verbs),
    resources: split(resources),
    apiGroups: split(apiGroups),
    resourceNames: split(names),
  };
}

function urls(verbs: string, ...nonResourceURLs: string[]): RuleInput {
  return { verbs: verbs.split(','), nonResourceURLs };
}

describe('owned rules cover', () => {
  test.each<[string, RuleInput[], RuleInput[]]>([
    ['the same rule', [on('get', 'builds')], [on('get', 'builds')]],
    [
      'a rule that several of them make up',
      [on('delete', 'deploys'), on('delete', 'builds'), on('update', 'builds,deploys')],
      [on('delete,update', 'builds,deploys')],
    ],
    [
      'rules that one of them takes together',
      [on('delete,update', 'builds,deploys', 'g1,g2')],
      [on('delete', 'deploys', 'g1'), on('update', 'builds,deploys', 'g2')],
    ],
    ['groups by *', [on('get', 'roles', '*')], [on('get', 'roles', 'g1,g2')]],
    ['* of groups by *', [on('get', 'roles', '*')], [on('get', 'roles', '*')]],
    ['verbs by *', [on('*', 'roles')], [on('watch,list', 'roles')]],
    ['* of verbs by *', [on('*', 'roles')], [on('*', 'roles')]],
    ['resources by *', [on('get', '*')], [on('get', 'roles,roles/status,*/scale,roles/*')]],
    ['a subresource by */sub', [on('get', '*/scale')], [on('get', 'pods/scale')]],
    ['*/sub by */sub', [on('get', '*/scale')], [on('get', '*/scale')]],
    ['subresources by resource/*', [on('get', 'pods/*')], [on('get', 'pods/log,pods/exec')]],
    ['names by no names', [on('get', 'pods')], [on('get', 'pods', 'g', 'a,b')]],
    ['some names by more names', [on('get', 'pods', 'g', 'a,b')], [on('get', 'pods', 'g', 'a')]],
    ['paths by *', [urls('*', '*')], [urls('*', '/apis', '/apis/v1', '/')]],
    ['paths by a prefix', [urls('*', '/apis/*')], [urls('get', '/apis/v1/foo', '/apis/v1')]],
    ['a rule that grants nothing', [], [on('', 'pods'), on('get', '')]],
    [
      'a rule with resources and paths',
      [{ ...on('get', 'builds'), nonResourceURLs: ['/apis'] }],
      [{ ...on('get', 'builds'), nonResourceURLs: ['/apis'] }],
    ],
  ])('%s', (_claim, owned, wanted) => {
    expect(uncoveredRules(owned.map(rule), wanted.map(rule))).toEqual([]);
    expect(covers(owned.map(rule), wanted.map(rule))).toBe(true);
  });
});

describe('owned rules do not cover', () => {
  test.each<[string, RuleInput[], RuleInput[], RuleInput[]]>([
    [
      'a single missing combination',
      [on('delete,update', 'builds,deploys'), on('delete', 'pods')],
      [on('delete,update', 'builds,deploys,pods')],
      [on('update', 'pods')],
    ],
    [
      '* of groups by some',
      [on('get', 'roles', 'x')],
      [on('get', 'roles', '*')],
      [on('get', 'roles', '*')],
    ],
    [
      '* of verbs by a list',
      [on('get,list,watch', 'roles')],
      [on('*', 'roles')],
      [on('*', 'roles')],
    ],
    ['* of resources by a list', [on('get', 'a,b')], [on('get', '*')], [on('get', '*')]],
    ['a resource by its subresource', [on('get', 'a/*')], [on('get', 'a')], [on('get', 'a')]],
    ['a subresource by its resource', [on('get', 'a')], [on('get', 'a/b')], [on('get', 'a/b')]],
    ['every name by some', [on('get', 'a', 'g', 'x,y')], [on('get', 'a')], [on('get', 'a')]],
    [
      'another name',
      [on('get', 'a', 'g', 'x')],
      [on('get', 'a', 'g', 'x,y')],
      [on('get', 'a', 'g', 'y')],
    ],
    [
      'the path before a prefix',
      [urls('*', '/apis/*')],
      [urls('get', '/apis', '/apis/v1')],
      [urls('get', '/apis')],
    ],
    [
      'paths by resources',
      [on('get', 'builds')],
      [{ ...on('get', 'builds'), nonResourceURLs: ['/apis'] }],
      [urls('get', '/apis')],
    ],
  ])('%s', (_claim, owned, wanted, missing) => {
    expect(uncoveredRules(owned.map(rule), wanted.map(rule))).toEqual(missing.map(rule));
    expect(covers(owned.map(rule), wanted.map(rule))).toBe(false);
  });
});

/*
 * The model: a set of rules covers another when every request that the other allows is allowed.
 * Over a universe with a value that no rule names in each place, that decides wildcards as well.
 */
const VERBS = ['get', 'list', 'fresh'];
const GROUPS = ['g1', 'g2', 'fresh'];
const NAMES = ['', 'a', 'b', 'fresh'];
const RESOURCES = ['x', 'y', 'fresh', 'x/s', 'x/t', 'x/fresh', 'y/s', 'fresh/s', 'fresh/fresh2'];
const PATHS = ['/', '/a', '/afresh', '/a/', '/a/b', '/a/b/c', '/a/fresh', '/fresh'];

const universe: Attributes[] = [
  ...VERBS.flatMap((verb) =>
    GROUPS.flatMap((group) =>
      RESOURCES.flatMap((what) =>
        NAMES.map((name) => request(`${verb} ${what} ${name}`, '', group)),
      ),
    ),
  ),
  ...VERBS.flatMap((verb) => PATHS.map((url) => path(verb, url))),
];

function allows(rules: readonly PolicyRule[], attributes: Attributes): boolean {
  return rules.some((candidate) => ruleAllows(candidate, attributes));
}

function some(...values: string[]): fc.Arbitrary<string[]> {
  return fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
}

const anyRule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verbs: some('get', 'list', '*'),
    apiGroups: some('g1', 'g2', '*'),
    resources: some('x', 'y', 'x/s', 'x/t', 'x/*', '*/s', '*/*', '*'),
    resourceNames: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, some('a', 'b')),
    nonResourceURLs: fc.constant([]),
  }),
  fc.record({
    verbs: some('get', 'list', '*'),
    apiGroups: fc.constant([]),
    resources: fc.constant([]),
    resourceNames: fc.constant([]),
    nonResourceURLs: some('/', '/a', '/a/*', '/a*', '/a/b', '/a/b/*', '*'),
  }),
);
const anyRules = fc.array(anyRule, { maxLength: 4 });

test('rules cover others exactly when every request allowed by those is allowed by them', () => {
  let covered = 0;
  fc.assert(
    fc.property(anyRules, anyRules, (owned, wanted) => {
      const expected = universe.every((asked) => !allows(wanted, asked) || allows(owned, asked));
      covered += expected ? 1 : 0;
      expect(covers(owned, wanted)).toBe(expected);
    }),
    { numRuns: runs(2000) },
  );
  expect(covered).toBeGreaterThan(100);
});

test('the missing rules are all that has to be added', () => {
  fc.assert(
    fc.property(anyRules, anyRules, (owned, wanted) => {
      const missing = uncoveredRules(owned, wanted);
      expect(covers([...owned, ...missing], wanted)).toBe(true);
      expect(covers(wanted, missing)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test('a rule too large to compare is refused, soon', () => {
  const many = (prefix: string): string[] =>
    Array.from({ length: 2000 }, (_, i) => `${prefix}${i}`);
  const huge = rule({
    verbs: many('v'),
    apiGroups: many('g'),
    resources: many('r'),
    resourceNames: many('n'),
  });
  const owned = [rule(on('get', '*', '*')), rule(on('list', '*', '*'))];
  const ms = processorMs(() => {
    expect(uncoveredRules(owned, [huge])).toEqual([huge]);
  });
  expect(ms).toBeLessThan(1000);
  expect(covers([rule({ ...huge, resources: ['*'] })], [huge])).toBe(true);
});

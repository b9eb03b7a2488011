import { describe, expect, test } from 'vitest';
import { pathCovers, policyRules, ruleAllows } from '../../src/auth/rbac/policy-rules.ts';
import { processorMs } from '../support/calls.ts';
import { path, request, rule } from './builders.ts';

const verbs = ['v1', 'v2'];
const groups = ['g1', 'g2'];
const resources = ['r1', 'r2', 'r1/s1', 'r1/s2', 'r2/s1'];

/** Every request of the small universe that a rule allows, as `verb group resource`. */
function allowed(input: Parameters<typeof rule>[0]): string[] {
  return verbs.flatMap((verb) =>
    groups.flatMap((group) =>
      resources
        .filter((what) => ruleAllows(rule(input), request(`${verb} ${what}`, 'ns', group)))
        .map((what) => `${verb} ${group} ${what}`),
    ),
  );
}

describe('a rule allows', () => {
  test.each([
    ['the verb, group and resource it names', ['v1'], ['g1'], ['r1'], ['v1 g1 r1']],
    ['every verb by *', ['*'], ['g1'], ['r1'], ['v1 g1 r1', 'v2 g1 r1']],
    ['every group by *', ['v1'], ['*'], ['r1'], ['v1 g1 r1', 'v1 g2 r1']],
    [
      'every resource and subresource by *',
      ['v1'],
      ['g1'],
      ['*'],
      ['v1 g1 r1', 'v1 g1 r2', 'v1 g1 r1/s1', 'v1 g1 r1/s2', 'v1 g1 r2/s1'],
    ],
    ['a subresource without its resource', ['v1'], ['g1'], ['r1/s1'], ['v1 g1 r1/s1']],
    ['one subresource of every resource', ['v1'], ['g1'], ['*/s1'], ['v1 g1 r1/s1', 'v1 g1 r2/s1']],
    [
      'every subresource of one resource, but not the resource',
      ['v1'],
      ['g1'],
      ['r1/*'],
      ['v1 g1 r1/s1', 'v1 g1 r1/s2'],
    ],
    [
      'each combination of what it lists',
      ['v1', 'v2'],
      ['g1', 'g2'],
      ['r1', 'r2'],
      verbs.flatMap((v) => groups.flatMap((g) => [`${v} ${g} r1`, `${v} ${g} r2`])),
    ],
    ['nothing without verbs', [], ['g1'], ['r1'], []],
    ['nothing without groups', ['v1'], [], ['r1'], []],
    ['nothing without resources', ['v1'], ['g1'], [], []],
  ])('%s', (_claim, ruleVerbs, apiGroups, ruleResources, expected) => {
    const input = { verbs: ruleVerbs, apiGroups, resources: ruleResources };
    expect(allowed(input).sort()).toEqual([...expected].sort());
  });
});

test.each([
  ['the name it lists', ['a', 'b'], 'get r a', true],
  ['no other name', ['a', 'b'], 'get r c', false],
  ['no request without a name, so no list and no create', ['a'], 'list r', false],
  ['every name when it lists none', [], 'get r c', true],
  ['requests without a name when it lists none', [], 'list r', true],
])('a rule with resourceNames allows %s', (_claim, resourceNames, text, expected) => {
  const input = rule({ verbs: ['*'], apiGroups: ['g'], resources: ['r'], resourceNames });
  expect(ruleAllows(input, request(text, '', 'g'))).toBe(expected);
});

test.each([
  ['*', '/foo', true],
  ['*', '/', true],
  ['/foo', '/foo', true],
  ['/foo', '/foo/bar', false],
  ['/foo/*', '/foo', false],
  ['/foo/*', '/foo/', true],
  ['/foo/*', '/foo/bar', true],
  ['/foo/*', '/foo/bar/one', true],
  ['/foo/*', '/notfoo', false],
  ['/api*', '/apis', true],
  ['/api/*/x', '/api/v1/x', false],
  ['/*/v1/*', '/api/v1', false],
])('the path pattern %s on %s: %s', (pattern, url, expected) => {
  expect(pathCovers(pattern, url)).toBe(expected);
  const paths = rule({ verbs: ['get'], nonResourceURLs: [pattern] });
  expect(ruleAllows(paths, path('get', url))).toBe(expected);
  expect(ruleAllows(paths, path('post', url))).toBe(false);
});

test('a rule for resources allows no path, and one for paths no resource', () => {
  const resourcesOnly = rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
  const pathsOnly = rule({ verbs: ['*'], nonResourceURLs: ['*'] });
  expect(ruleAllows(resourcesOnly, path('get', '/metrics'))).toBe(false);
  expect(ruleAllows(pathsOnly, request('get teams'))).toBe(false);
});

test('a question about all verbs or all resources is answered by a wildcard only', () => {
  const some = rule({ verbs: ['get', 'list'], apiGroups: ['g'], resources: ['r', 's'] });
  expect(ruleAllows(some, request('* r', '', 'g'))).toBe(false);
  expect(ruleAllows(some, request('get *', '', 'g'))).toBe(false);
  const all = rule({ verbs: ['*'], apiGroups: ['g'], resources: ['*'] });
  expect(ruleAllows(all, request('* *', '', 'g'))).toBe(true);
});

test.each([[undefined], [null], ['*'], [{}], [[null, 'x', 3]], [[{ verbs: '*' }]]])(
  'rules of a wrong shape grant nothing: %j',
  (value) => {
    for (const read of policyRules(value)) {
      expect(ruleAllows(read, request('get teams'))).toBe(false);
      expect(ruleAllows(read, path('get', '/'))).toBe(false);
    }
  },
);

test('a pattern of very many stars does not hold up the server', () => {
  const ms = processorMs(() => {
    pathCovers(`/${'*'.repeat(200_000)}x`, '/y');
    pathCovers(`/${'*a'.repeat(100_000)}${'*'.repeat(200_000)}`, '/y');
  });
  // Backtracking would take years.
  expect(ms).toBeLessThan(10_000);
});

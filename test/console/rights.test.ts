/** Rights in the browser agree with those of the server. */
import { expect, test } from 'vitest';
import { ruleAllows } from '../../src/auth/rbac/policy-rules.ts';
import { Rights } from '../../src/console/api/rights.ts';

const GROUP = 'management.gitplane.dev';
const ANN = { user: 'ann', groups: ['system:authenticated', 'gitplane:team:bakers'] };
const VERBS = [['get'], ['update', 'patch'], ['*']];
const GROUPS = [[GROUP], ['*'], ['apps']];
const RESOURCES = [
  ['teams'],
  ['*'],
  ['teams/status'],
  ['teams/*'],
  ['*/status'],
  ['*/*'],
  ['users'],
];
const NAMES = [[], ['bakers']];

test('a rule allows in the browser what it allows at the server', () => {
  let allowed = 0;
  for (const verbs of VERBS) {
    for (const apiGroups of GROUPS) {
      for (const resources of RESOURCES) {
        for (const resourceNames of NAMES) {
          const rule = { verbs, apiGroups, resources, resourceNames };
          const rights = new Rights({ resourceRules: [rule] }, ANN);
          for (const verb of ['get', 'patch', 'delete']) {
            for (const resource of ['teams', 'teams/status']) {
              for (const name of ['', 'bakers', 'other']) {
                const [main = '', subresource = ''] = resource.split('/');
                const asked = {
                  verb,
                  group: GROUP,
                  resource: main,
                  subresource,
                  namespace: '',
                  name,
                };
                const expected = ruleAllows({ ...rule, nonResourceURLs: [] }, asked);
                const kind = { group: GROUP, name: resource };
                expect(rights.may(verb, kind, name === '' ? undefined : name)).toBe(expected);
                if (expected) allowed++;
              }
            }
          }
        }
      }
    }
  }
  expect(allowed).toBeGreaterThan(100);
});

test.each([
  ['/git/platform.git', true],
  ['/git', false],
  ['/sync', true],
  ['/sync/approve', false],
])('rules of paths: %s is %s', (path, isAllowed) => {
  const rule = { verbs: ['get'], nonResourceURLs: ['/git/*', '/sync'] };
  const rights = new Rights({ nonResourceRules: [rule] }, ANN);
  expect(rights.mayRequest('get', path)).toBe(isAllowed);
  expect(rights.mayRequest('post', path)).toBe(false);
});

test.each([
  ['the owner', { owner: { user: 'ann' } }, true],
  ['a member of the team that owns it', { owner: { team: 'bakers' } }, true],
  ['another person', { owner: { user: 'bob', team: 'sales' } }, false],
  ['a person in a rule', { access: [{ verbs: ['update'], users: ['ann'] }] }, true],
  ['a team in a rule', { access: [{ verbs: ['*'], teams: ['bakers'] }] }, true],
  ['everyone', { access: [{ verbs: ['update'], teams: ['*'] }] }, true],
  ['a rule of another verb', { access: [{ verbs: ['get'], users: ['ann'] }] }, false],
  ['a rule of another person', { access: [{ verbs: ['update'], users: ['bob'] }] }, false],
])('the access rules of an object count for %s', (_name, spec, isAllowed) => {
  const object = { apiVersion: `${GROUP}/v1`, kind: 'Team', metadata: { name: 'x' }, spec };
  const kind = { group: GROUP, name: 'teams' };
  expect(new Rights({}, ANN).may('update', kind, object)).toBe(isAllowed);
  // The scope of a key may exclude the object.
  expect(new Rights({ incomplete: true }, ANN).may('update', kind, object)).toBe(false);
  expect(new Rights({}, ANN).may('update', kind, 'x')).toBe(false);
});

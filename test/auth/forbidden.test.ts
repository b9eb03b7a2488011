import { expect, test } from 'vitest';
import { forbidden, forbiddenMessage } from '../../src/auth/rbac/forbidden.ts';
import { path, request, someone } from './builders.ts';

const u = someone('u');

test.each([
  [
    request('get teams t1'),
    'teams.management.gitplane.dev "t1" is forbidden: User "u" cannot get resource "teams" in API group "management.gitplane.dev" at the cluster scope',
  ],
  [
    request('list teams'),
    'teams.management.gitplane.dev is forbidden: User "u" cannot list resource "teams" in API group "management.gitplane.dev" at the cluster scope',
  ],
  [
    request('get sharedsecrets s', 'x'),
    'sharedsecrets.management.gitplane.dev "s" is forbidden: User "u" cannot get resource "sharedsecrets" in API group "management.gitplane.dev" in the namespace "x"',
  ],
  [
    request('create sharedsecrets', 'x'),
    'sharedsecrets.management.gitplane.dev is forbidden: User "u" cannot create resource "sharedsecrets" in API group "management.gitplane.dev" in the namespace "x"',
  ],
  [
    request('update teams/status t1'),
    'teams.management.gitplane.dev "t1" is forbidden: User "u" cannot update resource "teams/status" in API group "management.gitplane.dev" at the cluster scope',
  ],
  [
    request('impersonate users bob', '', ''),
    'users "bob" is forbidden: User "u" cannot impersonate resource "users" in API group "" at the cluster scope',
  ],
  [path('get', '/metrics'), 'forbidden: User "u" cannot get path "/metrics"'],
])('%j is denied in the words of Kubernetes', (attributes, message) => {
  expect(forbiddenMessage(u, attributes)).toBe(message);
  expect(forbidden(u, attributes).toStatus()).toMatchObject({
    status: 'Failure',
    code: 403,
    reason: 'Forbidden',
    message,
  });
});

test('the reason of the decision follows the message', () => {
  expect(forbiddenMessage(u, path('get', '/x'), 'RBAC: role "r" not found')).toBe(
    'forbidden: User "u" cannot get path "/x": RBAC: role "r" not found',
  );
});

test('the details name the resource by its plural, and the object', () => {
  expect(forbidden(u, request('get teams t1')).details).toEqual({
    name: 't1',
    group: 'management.gitplane.dev',
    kind: 'teams',
  });
  expect(forbidden(u, path('get', '/x')).details).toBeUndefined();
});

test('names with quotes cannot forge a message', () => {
  expect(forbiddenMessage(someone('a" or "b'), path('get', '/'))).toBe(
    'forbidden: User "a\\" or \\"b" cannot get path "/"',
  );
});

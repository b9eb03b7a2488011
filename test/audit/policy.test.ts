import { describe, expect, test } from 'vitest';
import { type AuditedRequest, auditPolicy } from '../../src/audit/policy.ts';
import type { AuditConfig, AuditRule } from '../../src/config/sections/audit.ts';

const BASE: AuditConfig = { enabled: true, maxSize: 100, compress: false };

function request(changes: Partial<AuditedRequest> = {}): AuditedRequest {
  return {
    user: 'ann',
    groups: ['system:authenticated', 'ops'],
    verb: 'update',
    resource: { group: 'g', resource: 'teams', subresource: '', namespace: '', name: 'a' },
    path: '/apis/g/v1/teams/a',
    target: 'Management',
    cluster: undefined,
    ...changes,
  };
}

const at = (subresource = '', more: object = {}): AuditedRequest =>
  request({
    resource: { group: '', resource: 'pods', subresource, namespace: 'n', name: 'p', ...more },
  });
const path = (to: string): AuditedRequest =>
  request({ resource: undefined, path: to, verb: 'get' });

function levelOf(rules: readonly AuditRule[], asked: AuditedRequest): string {
  return auditPolicy({ ...BASE, policy: { rules } })(asked).level;
}

const pods = (...resources: string[]): Partial<AuditRule> => ({
  resources: [{ group: '', resources }],
});

// covers: audit.policy.rules[].users audit.policy.rules[].userGroups audit.policy.rules[].verbs
// covers: audit.policy.rules[].resources audit.policy.rules[].resources[].group
// covers: audit.policy.rules[].resources[].resources audit.policy.rules[].resources[].resourceNames
// covers: audit.policy.rules[].namespaces audit.policy.rules[].nonResourceURLs
// covers: audit.policy.rules[].requestTargets audit.policy.rules[].clusters audit.policy.rules[].level
describe('a rule', () => {
  test.each<[string, Partial<AuditRule>, AuditedRequest, boolean]>([
    ['without fields matches everything', {}, request(), true],
    ['without fields matches URLs', {}, path('/healthz'), true],
    ['with the user', { users: ['bob', 'ann'] }, request(), true],
    ['with another user', { users: ['bob'] }, request(), false],
    ['has no wildcard for users', { users: ['*'] }, request(), false],
    ['with one of the groups', { userGroups: ['ops'] }, request(), true],
    ['with none of the groups', { userGroups: ['dev'] }, request(), false],
    ['with the verb', { verbs: ['get', 'update'] }, request(), true],
    ['has no wildcard for verbs', { verbs: ['*'] }, request(), false],
    ['where one field does not fit', { users: ['ann'], verbs: ['get'] }, request(), false],
    ['for a namespace', { namespaces: ['n'] }, at(), true],
    ['for another namespace', { namespaces: ['m'] }, at(), false],
    ['for objects in no namespace', { namespaces: [''] }, request(), true],
    ['for a namespace is not for URLs', { namespaces: [''] }, path('/metrics'), false],
    ['for a group', { resources: [{ group: 'g' }] }, request(), true],
    ['for another group', { resources: [{ group: 'h' }] }, request(), false],
    ['for the core group', { resources: [{}] }, at(), true],
    ['for every group', { resources: [{ group: '*' }] }, request(), true],
    ['for resources is not for URLs', { resources: [{ group: '*' }] }, path('/x'), false],
    ['for a resource', pods('pods'), at(), true],
    ['for a resource is not for its subresources', pods('pods'), at('log'), false],
    ['for a subresource', pods('pods/log'), at('log'), true],
    ['for a subresource is not for the resource', pods('pods/log'), at(), false],
    ['for all subresources', pods('pods/*'), at('log'), true],
    ['for all subresources is for the resource as well', pods('pods/*'), at(), true],
    ['for a subresource of everything', pods('*/log'), at('log'), true],
    ['for another subresource of everything', pods('*/scale'), at('log'), false],
    ['for everything of the group', pods('*'), at('log'), true],
    ['for the name', { resources: [{ resources: ['pods'], resourceNames: ['p'] }] }, at(), true],
    [
      'for another name',
      { resources: [{ resources: ['pods'], resourceNames: ['q'] }] },
      at(),
      false,
    ],
    ['for a URL', { nonResourceURLs: ['/metrics'] }, path('/metrics'), true],
    ['for another URL', { nonResourceURLs: ['/metrics'] }, path('/healthz'), false],
    ['for URLs below', { nonResourceURLs: ['/healthz/*'] }, path('/healthz/ping'), true],
    [
      'for URLs below is not for the one above',
      { nonResourceURLs: ['/healthz/*'] },
      path('/healthz'),
      false,
    ],
    ['for every URL', { nonResourceURLs: ['*'] }, path('/x/y'), true],
    ['for every URL is not for resources', { nonResourceURLs: ['*'] }, request(), false],
    ['for the target', { requestTargets: ['Management'] }, request(), true],
    ['for another target', { requestTargets: ['Cluster', 'VCluster'] }, request(), false],
    ['for a cluster', { clusters: ['c'] }, request({ target: 'Cluster', cluster: 'c' }), true],
    [
      'for another cluster',
      { clusters: ['c'] },
      request({ target: 'Cluster', cluster: 'd' }),
      false,
    ],
    ['for a cluster is not for the platform', { clusters: ['c'] }, request(), false],
  ])('%s', (_, rule, asked, isMatch) => {
    const level = levelOf([{ level: 'Metadata', ...rule }], asked);
    expect(level).toBe(isMatch ? 'Metadata' : 'None');
  });
});

describe('the policy', () => {
  // covers: audit.policy audit.policy.rules
  test('takes the first rule that matches, and records nothing without one', () => {
    const rules: AuditRule[] = [
      { level: 'None', users: ['ann'], verbs: ['get'] },
      { level: 'Request', users: ['ann'] },
      { level: 'Metadata' },
    ];
    const got = [{ verb: 'get' }, { verb: 'create' }, { user: 'bob', verb: 'get' }];
    expect(got.map((one) => levelOf(rules, request(one)))).toEqual(['None', 'Request', 'Metadata']);
    expect(levelOf([], request())).toBe('None');
  });

  // covers: audit.enabled
  test('records nothing where it is not enabled', () => {
    const rules: AuditRule[] = [{ level: 'Metadata' }];
    expect(auditPolicy({ ...BASE, enabled: false, policy: { rules } })(request()).level).toBe(
      'None',
    );
  });

  // covers: audit.policy.omitStages audit.policy.rules[].omitStages
  test('leaves out the stages of the policy and of the rule', () => {
    const policy = auditPolicy({
      ...BASE,
      policy: {
        omitStages: ['RequestReceived'],
        rules: [{ level: 'Metadata', omitStages: ['Panic'] }],
      },
    });
    expect([...policy(request()).omitStages].sort()).toEqual(['Panic', 'RequestReceived']);
  });

  // covers: audit.level
  test.each([
    [0, 'None', 'None', 'None', 'None', 'None'],
    [1, 'None', 'Request', 'Metadata', 'None', 'Metadata'],
    [2, 'Metadata', 'Request', 'Metadata', 'Metadata', 'Metadata'],
    [3, 'Request', 'Request', 'Request', 'Metadata', 'Metadata'],
    [4, 'RequestResponse', 'RequestResponse', 'RequestResponse', 'Metadata', 'Metadata'],
  ])('a rule has level %i', (level, read, create, update, readSecret, writeSecret) => {
    const policy = auditPolicy({ ...BASE, level });
    const secret = {
      resource: {
        group: 'g',
        resource: 'sharedsecrets',
        subresource: '',
        namespace: 'n',
        name: 's',
      },
    };
    const asked = [
      request({ verb: 'get' }),
      request({ verb: 'create' }),
      request(),
      request({ ...secret, verb: 'get' }),
      request({ ...secret, verb: 'patch' }),
    ];
    expect(asked.map((one) => policy(one).level)).toEqual([
      read,
      create,
      update,
      readSecret,
      writeSecret,
    ]);
    const question = request({
      verb: 'create',
      resource: {
        group: 'h',
        resource: 'subjectaccessreviews',
        subresource: '',
        namespace: '',
        name: '',
      },
    });
    expect(policy(question).level).toBe('None');
  });
});

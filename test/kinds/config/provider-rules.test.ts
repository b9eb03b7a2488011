/** What the configuration refuses and warns of in the blocks of providerA to providerE, and where. */
import { describe, expect, test } from 'vitest';
import { parseConfigRaw } from '../../../src/kinds/config/config-raw.ts';

const CLIENT = 'clientId: a, clientSecret: b';
const NOT_PEM = '-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n';
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad';

function inBlock(block: string, fields: string): string {
  return `${block}: {${block === 'providerE' ? '' : `${CLIENT}, `}${fields}}`;
}

describe('refused', () => {
  test.each<[string, string, string]>([
    ['providerA', 'hostName', 'hostName: "https://git.example.com"'],
    ['providerA', 'hostName', 'hostName: git.example.com/path'],
    ['providerA', 'hostName', 'hostName: "git example"'],
    ['providerA', 'hostName', 'rootCA: /ca.crt'],
    ['providerA', 'rootCA', `hostName: git, rootCA: "${NOT_PEM}"`],
    ['providerA', 'rootCA', `hostName: git, rootCA: ${Buffer.from(NOT_PEM).toString('base64')}`],
    ['providerA', 'rootCA', 'hostName: git, rootCA: "one\\ntwo"'],
    ['providerA', 'orgs[1].name', 'orgs: [{name: a}, {name: ""}]'],
    ['providerA', 'orgs[0].name', 'orgs: [{teams: [a]}]'],
    ['providerB', 'baseURL', 'baseURL: git.example.com'],
    ['providerB', 'baseURL', 'baseURL: "https://git.example.com/?a=b"'],
    ['providerB', 'baseURL', 'baseURL: "https://a:b@git.example.com"'],
    ['providerC', 'adminEmail', 'serviceAccountFilePath: /x'],
    ['providerC', 'adminEmail', 'serviceAccountFilePath: /x, adminEmail: admin'],
    ['providerC', 'serviceAccountFilePath', 'groups: [a@b]'],
    ['providerC', 'hostedDomains[1]', 'hostedDomains: [example.com, "@example.com"]'],
    ['providerC', 'scopes[0]', 'scopes: ["profile email"]'],
    ['providerD', 'tenant', 'groups: [a]'],
    ['providerD', 'tenant', 'groups: [a], tenant: common'],
    ['providerD', 'tenant', 'groups: [a], tenant: Organizations'],
    ['providerD', 'tenant', 'groups: [a], tenant: consumers'],
    ['providerD', 'tenant', `groups: [a], tenant: ${PERSONAL}`],
    ['providerD', 'tenant', 'tenant: "corp/../common"'],
    ['providerE', 'host', 'host: "https://rancher"'],
    ['providerE', 'bearerToken', 'host: rancher, bearerToken: s3cret'],
  ])('%s at %s: %s', (block, field, fields) => {
    const at = `auth:\n  ${inBlock(block, fields)}\n`;
    const { problems } = parseConfigRaw(at);

    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(`^auth\\.${block}\\.${field.replace(/[[\]]/g, '\\$&')}: `),
    ]);
    expect(problems[0]?.at?.line).toBe(2);
    expect(problems[0]?.at?.col).toBeGreaterThan(3);
    expect(problems[0]?.message).not.toContain('s3cret');
    expect(problems[0]?.message).not.toContain('AAAA');
  });

  test('a rule holds for a further connector as well', () => {
    const raw = `auth:\n  connectors:\n  - id: a\n    ${inBlock('providerD', 'groups: [a]')}\n`;

    expect(parseConfigRaw(raw).problems[0]).toMatchObject({
      message: expect.stringContaining('auth.connectors[0].providerD.tenant: '),
      at: { line: 4 },
    });
  });
});

describe('warned of', () => {
  test.each<[string, string, string]>([
    ['providerA', '', 'orgs names none: everybody'],
    ['providerA', 'orgs: []', 'orgs names none: everybody'],
    ['providerA', 'orgs: [{name: a, teams: []}]', 'orgs.0.teams is empty'],
    ['providerA', 'orgs: [{name: a}, {name: A B}]', 'orgs.1.name'],
    ['providerB', '', 'groups names none: everybody'],
    ['providerB', 'groups: [a], baseURL: "http://git"', 'baseURL has no TLS'],
    ['providerC', '', 'hostedDomains and groups name none: everybody'],
    ['providerC', 'hostedDomains: [a.b], adminEmail: a@b', 'adminEmail has no effect'],
    ['providerD', '', 'tenant stands for many: everybody'],
    ['providerD', 'tenant: a.b, useGroupsAsWhitelist: true', 'useGroupsAsWhitelist has no effect'],
    ['providerE', 'host: a', 'bearerToken is not set'],
    ['providerE', 'bearerToken: a:b', 'host is not set'],
    [
      'providerE',
      'host: a, bearerToken: a:b, insecure: true',
      'insecure: the host is not verified',
    ],
    [
      'providerB',
      'groups: [a], redirectURI: "https://platform.example.com/callback"',
      'redirectURI leads to /callback, but the platform answers at /auth/providerB/callback',
    ],
    [
      'providerB',
      'groups: [a], redirectURI: "https://platform.example.com/auth/providerB/callback?a=b"',
      'redirectURI has a query',
    ],
  ])('%s {%s}: %s', (block, fields, warning) => {
    const { problems, warnings } = parseConfigRaw(`auth: {${inBlock(block, fields)}}`);

    expect(problems).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(`auth.${block}.${warning}`)]);
  });

  test('a client that is not there', () => {
    const { warnings } = parseConfigRaw('auth: {providerB: {groups: [a]}}');

    expect(warnings.map((text) => text.split(' ')[0])).toEqual([
      ...['auth.providerB.clientId', 'auth.providerB.clientSecret'],
    ]);
  });

  test('the callback of a further connector has its id', () => {
    const block = inBlock('providerB', 'groups: [a], redirectURI: "https://p/auth/forge/callback"');

    expect(parseConfigRaw(`auth: {connectors: [{id: forge, ${block}}]}`).warnings).toEqual([]);
    expect(parseConfigRaw(`auth: {connectors: [{id: other, ${block}}]}`).warnings).toHaveLength(1);
  });
});

test.each([
  inBlock('providerA', 'orgs: [{name: octo-org, teams: [Core Team]}], hostName: "git.corp:8443"'),
  inBlock('providerA', 'orgs: [{name: octo}], hostName: git, rootCA: /etc/ca.crt'),
  inBlock('providerB', 'groups: [a/b], baseURL: "https://git.example.com/gitlab/"'),
  inBlock('providerC', 'hostedDomains: [Example.com]'),
  inBlock('providerC', 'groups: [a@b], serviceAccountFilePath: /x, adminEmail: a@b'),
  inBlock('providerD', 'groups: [a], tenant: corp.onmicrosoft.com, useGroupsAsWhitelist: true'),
  inBlock('providerE', 'host: "rancher:8443", bearerToken: "token-a:b"'),
  inBlock('providerE', 'host: rancher, bearerToken: $TOKEN'),
])('%s is good', (block) => {
  expect(parseConfigRaw(`auth: {${block}}`)).toMatchObject({ problems: [], warnings: [] });
});

import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../src/apimachinery/object.ts';
import { parseConfigRaw, plainConfigText } from '../../../src/kinds/config/config-raw.ts';
import { VERSION } from '../../../src/version.ts';
import { signingKey } from '../../support/saml-peer.ts';
import { kindNamed, object, problems } from '../objects.ts';

/** Problems as `line:col message`. */
function located(raw: string): string[] {
  return parseConfigRaw(raw).problems.map(({ at, message }) => `${at?.line}:${at?.col} ${message}`);
}

const PEM = Buffer.from((await signingKey()).certificatePem);
const weak = await signingKey({ bits: 1024 });
const SAML = `ssoURL: https://i/sso
      redirectURI: https://p/auth/saml/callback
      usernameAttr: name
      emailAttr: mail`;

describe('a configuration', () => {
  test.each(['', '\n', '# only a comment\n', '{}', 'null'])('may be empty: %j', (raw) => {
    expect(parseConfigRaw(raw)).toEqual({
      status: {
        auth: {
          disableTeamCreation: false,
          disableUserCreation: false,
          loginAccessKeyTTLSeconds: 1_728_000,
        },
        projectNamespacePrefix: 'p-',
      },
      problems: [],
      warnings: [],
    });
  });

  // covers: Config.status
  test('shows what was written, and the defaults beside it', () => {
    const raw = `
auth:
  loginAccessKeyTTLSeconds: 0
  oidc:
    issuerUrl: https://login.example.com
    scopes: []
  connectors:
    - id: second
      providerD: {clientId: x}
audit:
  enabled: true
  path: /var/log/audit.log
uiSettings:
  navBarButtons:
    - text: Docs
    - text: Help
      position: TopStart
costControl:
  global:
    metrics: {storage: {storageClass: null}}
secretStore:
`;
    const { status, problems: found } = parseConfigRaw(raw);
    expect(found).toEqual([]);
    expect(valueAt(status, ['auth', 'loginAccessKeyTTLSeconds'])).toBe(0);
    expect(valueAt(status, ['auth', 'oidc', 'scopes'])).toEqual(['email', 'profile']);
    expect(valueAt(status, ['auth', 'connectors', 0, 'providerD', 'tenant'])).toBe('common');
    expect(valueAt(status, ['audit', 'maxSize'])).toBe(100);
    expect(valueAt(status, ['audit', 'compress'])).toBe(false);
    expect(valueAt(status, ['uiSettings', 'navBarButtons', 0, 'position'])).toBe('BottomEnd');
    expect(valueAt(status, ['uiSettings', 'navBarButtons', 1, 'position'])).toBe('TopStart');
    expect(valueAt(status, ['costControl', 'global', 'metrics'])).toEqual({
      retention: '1y',
      storage: { storageClass: null },
    });
    expect(status).not.toHaveProperty('secretStore');
  });

  test('may repeat parts by anchors', () => {
    const raw =
      'auth:\n  oidc: &o {issuerUrl: "https://x"}\n  connectors:\n    - {id: a, oidc: *o}\n';
    expect(parseConfigRaw(raw).problems).toEqual([]);
  });

  test('may be base64 of the text', () => {
    const text = 'platformHost: platform.example.com\n';
    const encoded = Buffer.from(text).toString('base64');
    expect(parseConfigRaw(encoded).status).toEqual(parseConfigRaw(text).status);
    expect(plainConfigText(encoded)).toBe(text);
    expect(plainConfigText(`${encoded.slice(0, 8)}\n${encoded.slice(8)}\n`)).toBe(text);
  });

  test.each(['platformHost: x', 'abc', '', 'AAAA-', '/w=='])(
    'a configuration that is not base64 stays: %j',
    (raw) => {
      expect(plainConfigText(raw)).toBe(raw);
    },
  );
});

describe('problems of the text', () => {
  test.each([
    [
      'an unknown field',
      'auth:\n  oidc:\n    issuerURL: x\n',
      '3:5 auth.oidc.issuerURL: Forbidden: unknown field, did you mean "issuerUrl"?',
    ],
    [
      'a wrong type',
      'audit:\n  maxAge: seven\n',
      '2:11 audit.maxAge: Invalid value: "string": audit.maxAge in body must be of type integer: "string"',
    ],
    [
      'a value out of a list',
      'uiSettings:\n  navBarButtons:\n    - text: a\n    - position: Top\n',
      '4:17 uiSettings.navBarButtons[1].position: Unsupported value: "Top": supported values: "TopStart", "TopEnd", "BottomStart", "BottomEnd"',
    ],
    [
      'a missing field',
      'audit:\n  enabled: true\n',
      '2:3 audit.path: Required value: auditing is enabled; set the path of the log',
    ],
    [
      'a missing field of a block that is empty',
      'auth:\n  connectors:\n  - id: a\n    saml: {}\n',
      '4:11 auth.connectors[0].saml.ssoURL: Required value',
    ],
    ['a duplicate key', 'platformHost: a\nplatformHost: b\n', '2:1 Map keys must be unique'],
    [
      'broken syntax',
      'auth:\n  oidc: {a: b\n',
      '3:1 Flow map in block collection must be sufficiently indented',
    ],
    ['a second document', 'a: b\n---\nc: d\n', '2:1 '],
    ['a list', '- a\n', '1:1 must be a YAML map such as "auth: {…}"'],
    ['a text', 'hello there\n', '1:1 must be a YAML map'],
    ['what the server observes', 'conditions: []\n', '1:13 conditions: Forbidden'],
  ])('are located: %s', (_, raw, message) => {
    expect(located(raw)[0]).toContain(message);
  });

  test('are all reported at once', () => {
    expect(located('auth: 1\naudit: 2\nplatformhost: x\n')).toHaveLength(3);
  });

  test('have their place in words when the text was base64', () => {
    const raw = Buffer.from('auth:\n  oid: {}\n').toString('base64');
    const [problem] = parseConfigRaw(raw).problems;
    expect(problem?.at).toBeUndefined();
    expect(problem?.message).toContain('(line 2, column 3 of the decoded text)');
  });

  test.each([
    ['a wrong type', 'auth:\n  oidc:\n    clientSecret: [hunter2]\n'],
    ['an alias that looks like a password', 'auth:\n  oidc:\n    clientSecret: *hunter2\n'],
    ['a stray token', 'auth:\n  oidc:\n    clientSecret: "a" hunter2\n'],
    ['an escape', 'auth:\n  oidc:\n    clientSecret: "\\hunter2"\n'],
    ['a reserved character', 'auth:\n  oidc:\n    clientSecret: @hunter2\n'],
    ['a broken header', 'auth:\n  customHttpHeaders: {X-A: "hunter2\\r\\nb"}\n'],
    ['a broken certificate', `auth:\n  saml:\n      ${SAML}\n      caData: hunter2\n`],
    ['an open quote', 'auth:\n  oidc:\n    clientSecret: "hunter2\n'],
  ])('never hold a secret: %s', (_, raw) => {
    expect(parseConfigRaw(raw).problems).not.toEqual([]);
    expect(JSON.stringify(parseConfigRaw(raw))).not.toContain('hunter2');
  });

  test('stop at a text that grows without end', () => {
    const level = (n: number): string => `a${n}: &a${n} [${`*a${n - 1},`.repeat(9)}]\n`;
    const bomb = `a0: &a0 [x,x]\n${[1, 2, 3, 4, 5, 6, 7, 8].map(level).join('')}`;
    expect(located(bomb)).toEqual(['1:1 must not repeat anchored parts more than 100 times']);
  });
});

describe('rules', () => {
  test.each([
    ['audit.path', 'audit: {enabled: true}'],
    ['audit.level', 'audit: {level: 1, policy: {rules: [{level: None}]}}'],
    ['audit.level', 'audit: {level: 5}'],
    ['audit.policy.rules[0].level', 'audit: {policy: {rules: [{verbs: [get]}]}}'],
    [
      'audit.policy.rules[0].nonResourceURLs[0]',
      'audit: {policy: {rules: [{level: None, nonResourceURLs: ["/a*"]}]}}',
    ],
    [
      'audit.policy.rules[0].omitStages[0]',
      'audit: {policy: {rules: [{level: None, omitStages: [Never]}]}}',
    ],
    ['auth.oidc.groupsClaim', 'auth: {oidc: {groups: [a]}}'],
    ['auth.providerA.hostName', 'auth: {providerA: {hostName: "https://x"}}'],
    ['auth.providerA.hostName', 'auth: {providerA: {rootCA: x}}'],
    ['auth.providerC.adminEmail', 'auth: {providerC: {serviceAccountFilePath: /x}}'],
    ['auth.providerC.serviceAccountFilePath', 'auth: {providerC: {groups: [a]}}'],
    ['auth.providerD.tenant', 'auth: {providerD: {groups: [a]}}'],
    ['auth.providerD.tenant', 'auth: {providerD: {groups: [a], tenant: organizations}}'],
    ['auth.saml.caData', `auth:\n  saml:\n      ${SAML}`],
    [
      'auth.saml.ca',
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      caData: ${PEM.toString('base64')}`,
    ],
    [
      'auth.saml.insecureSkipSignatureValidation',
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      insecureSkipSignatureValidation: true`,
    ],
    ...[
      'hunter2',
      'no certificate',
      `${PEM}behind it`,
      `${PEM}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      weak.certificatePem,
    ].map((text) => [
      'auth.saml.caData',
      `auth:\n  saml:\n      ${SAML}\n      caData: ${Buffer.from(text).toString('base64')}`,
    ]),
    ['auth.saml.caData', `auth:\n  saml:\n      ${SAML}\n      caData: "AAA"`],
    [
      'auth.saml.groupsAttr',
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      allowedGroups: [a]`,
    ],
    [
      'auth.saml.nameIDPolicyFormat',
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      nameIDPolicyFormat: nickname`,
    ],
    ['auth.connectors[0]', 'auth: {connectors: [{id: a}]}'],
    ['auth.connectors[0]', 'auth: {connectors: [{id: a, oidc: {}, providerB: {}}]}'],
    ['auth.connectors[0].id', 'auth: {connectors: [{id: "A b", oidc: {}}]}'],
    ['auth.connectors[0].id', 'auth: {connectors: [{id: password, oidc: {}}]}'],
    ['auth.connectors[1].id', 'auth: {connectors: [{id: a, oidc: {}}, {id: a, oidc: {}}]}'],
    ['auth.connectors[0].oidc.groupsClaim', 'auth: {connectors: [{id: a, oidc: {groups: [x]}}]}'],
    ['auth.customHttpHeaders.Set-Cookie', 'auth: {customHttpHeaders: {Set-Cookie: a}}'],
    ['auth.customHttpHeaders["X Y"]', 'auth: {customHttpHeaders: {"X Y": a}}'],
    ['auth.accessKeyMaxTTLSeconds', 'auth: {accessKeyMaxTTLSeconds: -1}'],
    ['oidc.clients[1].clientId', 'oidc: {clients: [{clientId: a}, {clientId: a}]}'],
    ['oidc.clients[0].clientId', 'oidc: {clients: [{name: a}]}'],
    [
      'oidc.clients[0].redirectURIs[0]',
      'oidc: {clients: [{clientId: a, redirectURIs: ["https://*"]}]}',
    ],
    ['oidc.clients[0].clientId', 'oidc: {clients: [{clientId: "a\u00e9"}]}'],
    ['oidc.clients[0].clientSecret', 'oidc: {clients: [{clientId: a, clientSecret: ""}]}'],
    [
      'oidc.clients[0].clientSecret',
      'oidc: {clients: [{clientId: a, clientSecret: "a\u00e9", redirectURIs: ["https://a/"]}]}',
    ],
    [
      'oidc.clients[0].redirectURIs',
      'oidc: {clients: [{clientId: a, clientSecret: 0123456789abcdef}]}',
    ],
    ...[
      '/callback',
      'https://a/#b',
      'https://user@a/',
      'https://a\\\\b/',
      'javascript:alert(1)',
      'https://*/cb',
      'https://*.com/cb',
      'https://a.*.com/cb',
      'https://a*.example.com/cb',
      'https://a.example.com:*/cb',
      'https://a.example.com/c*b',
      'https://a.example.com/cb?*',
      'com.example.app:/*',
    ].map((uri): [string, string] => [
      'oidc.clients[0].redirectURIs[0]',
      `oidc: {wildcardRedirect: true, clients: [{clientId: a, redirectURIs: ["${uri}"]}]}`,
    ]),
    ['secretStore.syncInterval', 'secretStore: {syncInterval: 1d}'],
    ['secretStore.syncInterval', 'secretStore: {syncInterval: 0s}'],
    ['secretStore.auth.tokenSecretRef.key', 'secretStore: {auth: {tokenSecretRef: {name: a}}}'],
    ['secretStore.auth.tokenSecretRef.key', 'secretStore: {auth: {tokenSecretRef: {key: "a b"}}}'],
    ['platformHost', 'platformHost: https://platform.example.com'],
    ['projectNamespacePrefix', 'projectNamespacePrefix: P_'],
    ['cloud.maintenanceWindow.dayOfWeek', 'cloud: {maintenanceWindow: {dayOfWeek: monday}}'],
    ['cloud.maintenanceWindow.timeWindow', 'cloud: {maintenanceWindow: {timeWindow: "2-3"}}'],
    ['costControl.global.metrics.retention', 'costControl: {global: {metrics: {retention: long}}}'],
    ['imageBuilder.resources.limits.cpu', 'imageBuilder: {resources: {limits: {cpu: lots}}}'],
    [
      'imageBuilder.resources.requests.memory',
      'imageBuilder: {resources: {limits: {memory: 1Gi}, requests: {memory: 1025Mi}}}',
    ],
    ['auth.oidc.issuerUrl', 'auth: {oidc: {issuerUrl: login.example.com}}'],
    ['auth.oidc.issuerUrl', 'auth: {oidc: {issuerUrl: "https://a:b@login.example.com"}}'],
    ['auth.oidc.redirectURI', 'auth: {oidc: {redirectURI: "javascript:alert(1)"}}'],
    ['auth.oidc.postLogoutRedirectURI', 'auth: {oidc: {postLogoutRedirectURI: /bye}}'],
    ['auth.providerB.baseURL', 'auth: {providerB: {baseURL: "ftp://x"}}'],
    [
      'auth.connectors[0].providerB.baseURL',
      'auth: {connectors: [{id: a, providerB: {baseURL: x}}]}',
    ],
    ['auth.providerE.host', 'auth: {providerE: {host: "https://x"}}'],
    ['auth.oidc.clientSecret', 'auth: {oidc: {clientSecret: $GITPLANE_REPO_TOKEN}}'],
    ['auth.oidc.clientSecret', 'auth: {oidc: {clientSecret: "***"}}'],
    ['auth.customHttpHeaders.X-A', 'auth: {customHttpHeaders: {X-A: "\u2713"}}'],
    ['auth.customHttpHeaders.Content-Type', 'auth: {customHttpHeaders: {Content-Type: a}}'],
    ['auth.groupsFilters', `auth: {groupsFilters: [${'a,'.repeat(65)}]}`],
    ['auth.groupsFilters[0]', `auth: {groupsFilters: [${'a'.repeat(513)}]}`],
    ['secretStore.address', 'secretStore: {address: "vault:8200"}'],
    ['uiSettings.logoURL', 'uiSettings: {logoURL: "javascript:alert(1)"}'],
    ['uiSettings.faviconURL', 'uiSettings: {faviconURL: //evil.example}'],
    ['uiSettings.smallLogoURL', 'uiSettings: {smallLogoURL: "data:text/html;base64,AA=="}'],
    ['uiSettings.primaryColor', 'uiSettings: {primaryColor: "red;} body {display: none"}'],
    ['uiSettings.accentColor', 'uiSettings: {accentColor: "url(https://x)"}'],
    ['uiSettings.sidebarColor', 'uiSettings: {sidebarColor: "1px"}'],
    ['uiSettings.logoBackgroundColor', 'uiSettings: {logoBackgroundColor: "#12"}'],
    ['uiSettings.customCss[1]', 'uiSettings: {customCss: [/a.css, "file:///etc/passwd"]}'],
    ['uiSettings.customJavaScript[0]', 'uiSettings: {customJavaScript: ["data:,alert(1)"]}'],
    ['uiSettings.navBarButtons[0].link', 'uiSettings: {navBarButtons: [{link: "javascript:a"}]}'],
    ['uiSettings.navBarButtons[0].icon', 'uiSettings: {navBarButtons: [{icon: "x y"}]}'],
    ['uiSettings.externalURLs.allow[0]', 'uiSettings: {externalURLs: {allow: ["a b"]}}'],
    ['apps.repositories[0].url', 'apps: {repositories: [{name: a}]}'],
    ['apps.repositories[0].url', 'apps: {repositories: [{name: a, url: charts}]}'],
    ['apps.repositories[0].name', 'apps: {repositories: [{url: "https://a"}]}'],
    [
      'apps.repositories[1].name',
      'apps: {repositories: [{name: a, url: "https://a"}, {name: a, url: "https://b"}]}',
    ],
    ['apps.predefinedApps[0].chart', 'apps: {predefinedApps: [{chart: nginx}]}'],
    ['apps.predefinedApps[0].chart', 'apps: {predefinedApps: [{title: a}]}'],
    ['apps.predefinedApps[0].iconUrl', 'apps: {predefinedApps: [{chart: a/b, iconUrl: x}]}'],
    ['apps.predefinedApps[0].readmeUrl', 'apps: {predefinedApps: [{chart: a/b, readmeUrl: /x}]}'],
    ['platformDB.storageClass', 'platformDB: {storageClass: Fast_Disk}'],
    [
      'costControl.global.metrics.storage.storageClass',
      'costControl: {global: {metrics: {storage: {storageClass: "a b"}}}}',
    ],
    [
      'costControl.cluster.metrics.storage.size',
      'costControl: {cluster: {metrics: {storage: {size: 0Gi}}}}',
    ],
    ['costControl.cluster.metrics.retention', 'costControl: {cluster: {metrics: {retention: 0d}}}'],
    ['cloud.maintenanceWindow.timeWindow', 'cloud: {maintenanceWindow: {timeWindow: 02:00-02:00}}'],
    ['imageBuilder.resources.limits["a b"]', 'imageBuilder: {resources: {limits: {"a b": 1}}}'],
    [
      'imageBuilder.resources.claims[1]',
      'imageBuilder: {resources: {claims: [{name: gpu}, {name: gpu}]}}',
    ],
    [
      'imageBuilder.resources.claims[0].name',
      'imageBuilder: {resources: {claims: [{request: a}]}}',
    ],
    ['imageBuilder.replicas', 'imageBuilder: {replicas: -1}'],
    [
      'audit.policy.rules[0].resources[1].resources',
      'audit: {policy: {rules: [{level: None, resources: [{resources: [a]}, {group: b, resourceNames: [x]}]}]}}',
    ],
  ])('refuse at %s: %s', (path, raw) => {
    const found = parseConfigRaw(raw).problems;
    expect(found).toHaveLength(1);
    expect(found[0]?.message.startsWith(`${path}: `), found[0]?.message).toBe(true);
  });

  test.each([
    'audit: {level: 4}',
    'audit: {level: 1, policy: {rules: []}}',
    'audit: {policy: {rules: [{level: Request, resources: [{group: "*", resources: ["*"]}]}]}}',
    'auth: {oidc: {groups: [a], groupsClaim: groups}}',
    'auth: {providerC: {groups: [a], serviceAccountFilePath: /x, adminEmail: a@b}}',
    'auth: {providerD: {groups: [a], tenant: 0d4c6a4e-9e0c-4a7b-8a8a-3f1b2c3d4e5f}}',
    `auth:\n  saml:\n      ${SAML}\n      caData: ${PEM.toString('base64')}`,
    `auth:\n  saml:\n      ${SAML}\n      caData: ${Buffer.from(`subject=CN = idp\n${PEM}\n${PEM}`).toString('base64')}`,
    `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      nameIDPolicyFormat: emailAddress`,
    'oidc: {clients: [{clientId: a}, {clientId: b, redirectURIs: ["com.example.app:/cb"]}]}',
    'oidc: {clients: [{clientId: a, clientSecret: $SECRET, redirectURIs: ["https://a/"]}]}',
    'oidc: {wildcardRedirect: true, clients: [{clientId: a, redirectURIs: ["https://*.example.com/*/cb"]}]}',
    'secretStore: {syncInterval: 1m30s}',
    'imageBuilder: {resources: {limits: {cpu: 1}, requests: {cpu: 500m, memory: 1e3}}}',
    'database: {enabled: true, dataSource: "mysql://x"}',
    'platformHost: platform.example.com:8443',
    'platformHost: "[::1]:8443"',
    'platformHost: ""',
    'uiSettings: {logoURL: /logo.svg, faviconURL: "data:image/png;base64,AA==", primaryColor: "rgb(0 128 128 / 50%)"}',
    'uiSettings: {externalURLs: {block: true, allow: [changelog, "https://*.example.com"]}}',
    'apps: {repositories: [{name: a, url: "oci://registry.example.com/charts"}]}',
    'platformDB: {storageClass: "-"}',
    'costControl: {global: {metrics: {storage: {storageClass: "", size: 50Gi}, retention: 1y6w}}}',
    'cloud: {maintenanceWindow: {dayOfWeek: Monday, timeWindow: 23:00-01:00}}',
    'imageBuilder: {resources: {limits: {nvidia.com/gpu: 1}, claims: [{name: gpu}, {name: gpu, request: a}]}}',
    'auth: {oidc: {clientSecret: $$***}}',
  ])('accept %s', (raw) => {
    expect(located(raw)).toEqual([]);
  });

  test.each([
    [
      'clients: [{clientId: a, clientSecret: short, redirectURIs: ["https://a/"]}]',
      'oidc.clients[0].clientSecret can be guessed',
    ],
    [
      'clients: [{clientId: a, redirectURIs: ["http://localhost/", "http://a/"]}]',
      "oidc.clients[0].redirectURIs[1] sends people's codes over plain HTTP",
    ],
  ])('warn of the OpenID provider: %s', (clients, message) => {
    expect(parseConfigRaw(`oidc: {${clients}}`).warnings).toEqual([
      expect.stringContaining('oidc is deprecated'),
      expect.stringContaining(message),
    ]);
  });

  // covers: workspaceSubDomain
  test.each([
    ['workspaceSubDomain: "*.workspace.example.com"', 'workspaceSubDomain is deprecated'],
    ['oidc: {enabled: true}', 'oidc is deprecated'],
    [
      'apps: {predefinedApps: [{chart: a/b, iconUrl: "/i.png"}, {chart: a/c}]}',
      'apps.predefinedApps[1].iconUrl is not read',
    ],
    ['audit: {dataStoreTTL: 5}', 'audit.dataStoreTTL has no effect'],
    [
      `auth:\n  saml:\n      ${SAML}\n      insecureSkipSignatureValidation: true`,
      'lets anyone log in',
    ],
    [`auth:\n  saml:\n      ${SAML}\n      ca: /x\n      filterGroups: true`, 'has no effect'],
    [
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      nameIDPolicyFormat: transient`,
      'new user id',
    ],
    [
      `auth:\n  saml:\n      ${SAML}\n      ca: /x\n      nameIDPolicyFormat: encrypted`,
      'no key to decrypt',
    ],
    [
      'platformHost: a.example\nauth: {oidc: {redirectURI: "https://b.example/auth/oidc/callback"}}',
      'leads to b.example',
    ],
    ['auth: {accessKeyMaxTTLSeconds: 3599}', 'ends every key 3599 seconds after its creation'],
  ])('warn: %s', (raw, message) => {
    expect(parseConfigRaw(raw).warnings).toEqual([expect.stringContaining(message)]);
  });
});

describe('Config', () => {
  const raw = (text: string) => object('Config', { spec: { raw: text } });

  test('reports problems at spec.raw', () => {
    expect(problems(raw('auth: 1'))).toEqual([
      'spec.raw: auth: Invalid value: "integer": auth in body must be of type object: "integer" (line 1, column 7 of spec.raw)',
    ]);
  });

  test('may be without a text', () => {
    expect(problems(object('Config'))).toEqual([]);
  });

  test('derives a status that its caller may change', () => {
    const config = kindNamed('Config');
    const first = config.deriveStatus(raw('platformHost: a')) ?? {};
    first['platformHost'] = 'changed';
    expect(config.deriveStatus(raw('platformHost: a'))).toMatchObject({ platformHost: 'a' });
  });

  test('turns base64 into the text that people review', () => {
    const subject = raw(Buffer.from('platformHost: a\n').toString('base64'));
    kindNamed('Config').setDefaults(subject);
    expect(subject.spec).toEqual({ raw: 'platformHost: a\n' });
  });

  test('answers to both plurals and can be written', () => {
    expect(kindNamed('Config')).toMatchObject({ plural: 'config', aliases: ['configs'] });
    expect(kindNamed('Config').verbs).toEqual(expect.arrayContaining(['update', 'patch']));
  });
});

describe('fields that follow from others', () => {
  const config = kindNamed('Config');

  test.each([
    [
      'requests take the limits, resource by resource',
      'imageBuilder: {resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}',
      { imageBuilder: { resources: { requests: { cpu: '500m', memory: '1Gi' } } } },
    ],
    [
      'requests without limits stay',
      'costControl: {cluster: {costBackend: {resources: {requests: {cpu: 1}}}}}',
      { costControl: { cluster: { costBackend: { resources: { requests: { cpu: 1 } } } } } },
    ],
    [
      'an app has the name of its chart and the readme of the hub',
      'apps: {predefinedApps: [{chart: stable/nginx}, {chart: "a/b", title: B, readmeUrl: "https://b"}]}',
      {
        apps: {
          predefinedApps: [
            {
              chart: 'stable/nginx',
              title: 'nginx',
              readmeUrl: 'https://artifacthub.io/packages/helm/stable/nginx',
            },
            { chart: 'a/b', title: 'B', readmeUrl: 'https://b' },
          ],
        },
      },
    ],
  ])('%s', (_title, text, status) => {
    expect(parseConfigRaw(text)).toMatchObject({ status, problems: [] });
  });

  test('the status has the version that is running, whatever the text says', () => {
    const status = config.deriveStatus(
      object('Config', { spec: { raw: 'uiSettings: {primaryColor: teal}' } }),
    );
    expect(status).toMatchObject({
      uiSettings: { primaryColor: 'teal', platformVersion: VERSION },
    });
  });
});

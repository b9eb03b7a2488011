/** The configuration over HTTP: who may write it, who sees its secrets, and who is told what. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { watching } from './watching.ts';

const SECRET = 'planted-Jq7Wd2Xk5Vn8';
const PATH = `${API}/config/platform`;
const apiGroup = 'rbac.authorization.k8s.io';

let daemon: Daemon;
/** A key that may read the configuration and not change it. */
let reader: string;
let patcher: string;

beforeAll(async () => {
  daemon = await startDaemon();
  reader = await person('reader', ['get', 'list', 'watch']);
  patcher = await person('patcher', ['get', 'patch']);
});
afterAll(async () => {
  await daemon.stop();
});
beforeEach(() => put(''));

async function person(name: string, verbs: string[]): Promise<string> {
  const metadata = { name };
  const rules = [{ apiGroups: ['management.gitplane.dev'], resources: ['config'], verbs }];
  const roleRef = { apiGroup, kind: 'ClusterRole', name };
  const subjects = [{ apiGroup, kind: 'User', name }];
  await made(`${API}/users`, { metadata, spec: {} });
  await made(`${RBAC}/clusterroles`, { metadata, rules });
  await made(`${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects });
  const key = await made(`${API}/ownedaccesskeys`, { metadata, spec: { user: name } });
  return key.json().spec.key;
}

async function made(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

/** Replaces the configuration, as the administrator. */
async function put(config: string | object): Promise<Answer> {
  const raw = typeof config === 'string' ? config : stringify(config);
  const answer = await daemon.call('PATCH', PATH, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect(answer.code, answer.text).toBe(200);
  return answer;
}

const get = (path: string, token?: string | null): Promise<Answer> =>
  daemon.call('GET', path, token === undefined ? {} : { token });

describe('writing', () => {
  test('PUT and PATCH act at once, and a mistake has its line and column', async () => {
    const merge = 'application/merge-patch+json';
    const raw = 'authenticateVersionEndpoint: true';
    const patched = await daemon.call('PATCH', PATH, { body: { spec: { raw } }, type: merge });
    expect([patched.code, (await get('/version', null)).code]).toEqual([200, 401]);
    const wrong = { spec: { raw: 'auth:\n  oidc: {issuer: x}\n' } };
    const refused = await daemon.call('PATCH', PATH, { body: wrong, type: merge });
    expect([refused.code, refused.json().message]).toEqual([
      422,
      expect.stringContaining('did you mean "issuerUrl"? (line 2, column 10 of spec.raw)'),
    ]);
    expect((await get('/version', null)).code).toBe(401);
  });

  // covers: disableConfigEndpoint
  test('is refused where disableConfigEndpoint says so, and git opens it again', async () => {
    await put('disableConfigEndpoint: true');
    const object = (await get(PATH)).json();
    const tries = [
      daemon.call('PUT', PATH, { body: object }),
      daemon.call('PATCH', PATH, { body: {}, type: 'application/merge-patch+json' }),
      daemon.call('DELETE', PATH),
      daemon.call('POST', `${API}/config`, { body: { metadata: { name: 'other' }, spec: {} } }),
    ];
    expect((await Promise.all(tries)).map(({ code }) => code)).toEqual([403, 403, 403, 403]);
    const clone = await daemon.clone();
    await daemon.git(['revert', '--no-edit', 'HEAD'], clone);
    expect((await daemon.git(['push'], clone)).code).toBe(0);
    expect((await daemon.call('PUT', PATH, { body: (await get(PATH)).json() })).code).toBe(200);
  });
});

describe('secrets', () => {
  const config = {
    auth: { oidc: { clientId: 'me', clientSecret: SECRET } },
    secretStore: { auth: { token: SECRET } },
  };

  // covers: apps.repositories[].username apps.repositories[].password
  test('secrets of chart repositories are served to chart fetchers, and to no other reader', async () => {
    const repository = { name: 'own', url: 'https://charts.example.com' };
    const login = { username: 'charts', password: SECRET };
    await put({ apps: { repositories: [{ ...repository, ...login }] } });
    const seen = async (token: string): Promise<unknown> =>
      (await get(PATH, token)).json().status.apps.repositories;
    expect(await seen(patcher)).toMatchObject([{ ...repository, ...login }]);
    expect(await seen(reader)).toMatchObject([{ ...repository, password: '***' }]);
    const settings = await get('/platform/settings', patcher);
    expect(settings.json().apps.repositories).toMatchObject([repository]);
    for (const text of Object.values(login)) {
      expect(settings.text).not.toContain(`:"${text}"`);
    }
  });

  test('are shown to a user who may change them, and to no other user who reads', async () => {
    const { 'gitplane-commit': revision } = (await put(config)).headers;
    const before = `${PATH}?revision=${revision}`;
    await put({ ...config, platformHost: 'a' });
    const roads: [string, Record<string, string>?][] = [
      [PATH],
      [`${API}/config`],
      [`${API}/configs`],
      [before],
      [`${API}/config?revision=${revision}`],
      [`${PATH}/history`],
      [PATH, { accept: 'application/yaml' }],
      [
        `${API}/config?includeObject=Object`,
        { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      ],
      [PATH, { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }],
    ];
    for (const [path, headers = {}] of roads) {
      const answer = await daemon.call('GET', path, { token: reader, headers });
      expect(`${path} ${answer.code}`).toBe(`${path} 200`);
      expect(answer.text, path).not.toContain(SECRET);
    }
    const masked = (await get(PATH, reader)).json();
    expect(masked.status).toMatchObject({
      auth: { oidc: { clientId: 'me', clientSecret: '***' } },
      secretStore: { auth: { token: '***' } },
      platformHost: 'a',
    });
    expect(parse(masked.spec.raw)).toMatchObject({ auth: { oidc: { clientSecret: '***' } } });
    for (const token of [daemon.token, patcher]) {
      expect((await get(PATH, token)).json().status.auth.oidc.clientSecret).toBe(SECRET);
    }
    const watch = await watching(daemon, `${API}/config?watch=true`, { token: reader });
    await put({ ...config, platformHost: 'b' });
    await watch.atLeast(2);
    watch.close();
    expect(JSON.stringify(watch.events)).not.toContain(SECRET);
  });

  test('are not replaced by their placeholders', async () => {
    await put(config);
    const masked = (await get(PATH, reader)).json();
    const answer = await daemon.call('PUT', PATH, { body: masked });
    expect([answer.code, answer.text]).toEqual([
      422,
      expect.stringContaining('is the mask of a secret'),
    ]);
    expect((await get(PATH)).json().status.auth.oidc.clientSecret).toBe(SECRET);
  });
});

describe('information by reader', () => {
  // covers: uiSettings.logoURL uiSettings.faviconURL uiSettings.smallLogoURL uiSettings.logoBackgroundColor
  // covers: uiSettings.legalTemplate uiSettings.primaryColor uiSettings.sidebarColor uiSettings.accentColor
  // covers: uiSettings.customCss uiSettings.customJavaScript uiSettings.navBarButtons
  // covers: uiSettings.navBarButtons[].position uiSettings.navBarButtons[].text
  // covers: uiSettings.navBarButtons[].link uiSettings.navBarButtons[].icon
  // covers: uiSettings.externalURLs.block uiSettings.externalURLs.allow uiSettings.platformVersion
  test('every client learns the look of the user interface', async () => {
    const look = {
      logoURL: '/logo.svg',
      faviconURL: '/icon.png',
      smallLogoURL: '/small.svg',
      logoBackgroundColor: '#fff',
      legalTemplate: '<p>Be nice</p>',
      primaryColor: 'teal',
      sidebarColor: '#123456',
      accentColor: 'rgb(1 2 3)',
      customCss: ['/a.css'],
      customJavaScript: ['https://a.example/a.js'],
      navBarButtons: [{ text: 'Docs', link: '/docs', icon: '/d.svg' }],
      externalURLs: { block: true, allow: ['changelog'] },
    };
    await put({ uiSettings: look });
    const shown = {
      ...look,
      navBarButtons: [{ text: 'Docs', link: '/docs', icon: '/d.svg', position: 'BottomEnd' }],
      platformVersion: expect.stringMatching(/^\d+\./),
    };
    expect((await get('/ui/settings', null)).json()).toEqual(shown);
  });

  // covers: authenticateVersionEndpoint
  test('unauthenticated clients see no version where /version hides it', async () => {
    await put('authenticateVersionEndpoint: true');
    expect((await get('/version', null)).code).toBe(401);
    expect((await get('/version', reader)).code).toBe(200);
    expect((await get('/ui/settings', null)).json()).toEqual({});
  });

  // covers: auth.customHttpHeaders auth.oidc.type auth.connectors[].id auth.connectors[].displayName
  // covers: auth.connectors auth.connectors[].oidc.type auth.password.disabled auth.providerE.host
  test('every client learns how to sign in, and no secret of it', async () => {
    const block = { clientId: 'client', clientSecret: SECRET };
    await put({
      auth: {
        oidc: { ...block, issuerUrl: 'https://login.example.com', type: 'Acme' },
        providerB: block,
        connectors: [
          { id: 'one', displayName: 'The One', providerA: block },
          { id: 'two', oidc: { ...block, type: 'Second' } },
        ],
        providerE: { host: 'ranch.example.com', bearerToken: `token-1:${SECRET}` },
        password: { disabled: true },
        customHttpHeaders: { 'X-Custom': 'yes', 'Cache-Control': 'no-store' },
      },
    });
    const answer = await get('/auth/info', null);
    const listed = (id: string, type: string, displayName: string): object => ({
      id,
      type,
      displayName,
      loginEndpoint: `/auth/${id}/login`,
      logoutEndpoint: `/auth/${id}/logout`,
    });
    expect(answer.json()).toEqual({
      methods: {
        sso: [
          listed('oidc', 'oidc', 'Acme'),
          listed('providerB', 'providerB', 'Provider B'),
          listed('one', 'providerA', 'The One'),
          listed('two', 'oidc', 'Second'),
        ],
        providerE: { enabled: true, host: 'ranch.example.com' },
        password: { enabled: false },
      },
    });
    expect(answer.headers).toMatchObject({ 'x-custom': 'yes', 'cache-control': 'no-store' });
    expect(answer.text).not.toMatch(/planted|login\.example|client"/);
    expect((await get('/ui/settings', null)).headers).not.toHaveProperty('x-custom');
  });

  // covers: platformHost projectNamespacePrefix apps.noDefault apps.repositories apps.repositories[].name
  // covers: apps.repositories[].url apps.repositories[].insecure apps.predefinedApps
  // covers: apps.predefinedApps[].chart apps.predefinedApps[].initialVersion
  // covers: apps.predefinedApps[].initialValues apps.predefinedApps[].clusters
  // covers: apps.predefinedApps[].title apps.predefinedApps[].iconUrl apps.predefinedApps[].readmeUrl
  // covers: cloud.releaseChannel cloud.maintenanceWindow.dayOfWeek cloud.maintenanceWindow.timeWindow
  // covers: platformDB.storageClass imageBuilder.enabled imageBuilder.replicas
  // covers: imageBuilder.resources.limits imageBuilder.resources.requests imageBuilder.resources.claims
  // covers: imageBuilder.resources.claims[].name imageBuilder.resources.claims[].request
  // covers: costControl.enabled costControl.settings.priceCurrency
  // covers: costControl.settings.averageCPUPricePerNode.price costControl.settings.averageCPUPricePerNode.timePeriod
  // covers: costControl.settings.averageRAMPricePerNode.price costControl.settings.averageRAMPricePerNode.timePeriod
  // covers: costControl.{global,cluster}.metrics.{replicas,retention}
  // covers: costControl.{global,cluster}.metrics.storage.{storageClass,size}
  // covers: costControl.{global,cluster}.metrics.resources.{limits,requests,claims}
  // covers: costControl.{global,cluster}.metrics.resources.claims[].{name,request}
  // covers: costControl.cluster.costBackend.replicas costControl.cluster.costBackend.resources.{limits,requests,claims}
  // covers: costControl.cluster.costBackend.resources.claims[].{name,request} audit.disableAgentSyncBack
  test('a signed-in user reads the settings that other programs act on', async () => {
    const resources = {
      limits: { cpu: 1, memory: '1Gi' },
      requests: { cpu: '500m', memory: '1Gi' },
      claims: [{ name: 'gpu', request: 'one' }],
    };
    const price = { price: 1.5, timePeriod: 'Monthly' };
    const metrics = { replicas: 2, resources, storage: { storageClass: '-', size: '5Gi' } };
    const settings = {
      platformHost: 'platform.example.com',
      projectNamespacePrefix: 'team-',
      cloud: {
        releaseChannel: 'stable',
        maintenanceWindow: { dayOfWeek: 'Monday', timeWindow: '02:00-03:00' },
      },
      costControl: {
        enabled: true,
        global: { metrics: { ...metrics, retention: '30d' } },
        cluster: { metrics, costBackend: { replicas: 1, resources } },
        settings: {
          priceCurrency: 'EUR',
          averageCPUPricePerNode: price,
          averageRAMPricePerNode: price,
        },
      },
      imageBuilder: { enabled: true, replicas: 3, resources },
      platformDB: { storageClass: 'fast' },
    };
    const app = {
      chart: 'own/app',
      initialVersion: '1.0',
      initialValues: 'a: 1',
      clusters: ['a'],
      title: 'App',
      iconUrl: '/app.svg',
      readmeUrl: 'https://a.example/readme',
    };
    const repository = { name: 'own', url: 'https://charts.example.com', insecure: true };
    const login = { username: 'charts', password: SECRET };
    const apps = { noDefault: true, predefinedApps: [app] };
    await put({
      ...settings,
      apps: { ...apps, repositories: [{ ...repository, ...login }] },
      audit: { disableAgentSyncBack: true },
    });
    expect((await get('/platform/settings', null)).code).toBe(401);
    const answer = await get('/platform/settings', reader);
    const { costControl } = settings;
    const cluster = { ...costControl.cluster, metrics: { ...metrics, retention: '1y' } };
    expect(answer.json()).toEqual({
      ...settings,
      costControl: { ...costControl, cluster },
      apps: { ...apps, repositories: [repository] },
      audit: { disableAgentSyncBack: true },
    });
    expect(answer.text).not.toContain(SECRET);
  });
});

describe('a maximum so short that every key has ended', () => {
  test('is warned of, keeps every user out, and is taken back by a push by path', async () => {
    const answer = await put('auth: {accessKeyMaxTTLSeconds: 1}');
    expect(String(answer.headers['warning'])).toContain('a push by path on the machine');
    const status = async (): Promise<number> => (await get(PATH)).code;
    await expect.poll(status).toBe(401);
    expect((await get(PATH, patcher)).code).toBe(401);

    const clone = mkdtempSync(join(tmpdir(), 'gitplane-clone-'));
    const run = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await daemon.git(args, clone);
      expect(code, stderr).toBe(0);
    };
    await run('clone', '-q', join(daemon.dataDir, 'repo.git'), '.');
    await run('revert', '--no-edit', 'HEAD');
    await run('push', '-q');
    // A push by path is answered before readers see it.
    await expect.poll(status).toBe(200);
  });
});

describe('a file', () => {
  test('takes the place of git, and Configs cannot be written', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gitplane-config-')), 'config.yaml');
    writeFileSync(file, 'uiSettings: {primaryColor: teal}\n');
    const other = await startDaemon({ args: ['--config', file] });
    const look = (await other.call('GET', '/ui/settings', { token: null })).json();
    const object = (await other.call('GET', PATH)).json();
    const answer = await other.call('PUT', PATH, { body: object });
    await other.stop();
    expect([look.primaryColor, answer.code]).toEqual(['teal', 403]);
    expect(answer.json().message).toContain('--config');
  });
});

/** Documents that may be read without a key, and that nothing else may. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { GROUP, RBAC_GROUP } from './samples.ts';

const ROOT = '/kubernetes/management';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

describe('Config', () => {
  // covers: service.config endpoints.config.list endpoints.config.GET
  // covers: Config.status
  test('answers below config and configs alike, with its status parsed', async () => {
    const [one, two] = [
      await daemon.call('GET', `${API}/config`),
      await daemon.call('GET', `${API}/configs`),
    ];
    expect(one.json()).toEqual(two.json());
    const [first] = one.json().items;
    expect(first.status).toMatchObject({
      auth: { disableTeamCreation: true, loginAccessKeyTTLSeconds: 1_728_000 },
      audit: { maxSize: 100 },
      secretStore: { syncInterval: '1m' },
    });
    expect((await daemon.call('GET', `${API}/configs/platform`)).json()).toEqual(
      (await daemon.call('GET', `${API}/config/platform`)).json(),
    );
  });

  test('/version needs a key as soon as, and only while, the configuration says so', async () => {
    const version = () => daemon.call('GET', '/version', { token: null });
    expect((await version()).json()).toMatchObject({ major: '1', minor: '32' });
    const path = `${API}/config/platform`;
    const config = (await daemon.call('GET', path)).json();
    const raw = `authenticateVersionEndpoint: true\n${config.spec.raw}`;
    const put = await daemon.call('PUT', path, { body: { ...config, spec: { raw } } });
    expect([put.code, put.json().status.authenticateVersionEndpoint]).toEqual([200, true]);
    expect((await version()).code).toBe(401);
    expect((await daemon.call('GET', `${ROOT}/version`, { token: null })).code).toBe(401);
    expect((await daemon.call('GET', '/version')).code).toBe(200);

    const clone = await daemon.clone();
    await daemon.git(['revert', '--no-edit', 'HEAD'], clone);
    const { code, stderr } = await daemon.git(['push'], clone);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 changed')]);
    expect((await version()).code).toBe(200);
  });
});

describe('requests without a key', () => {
  test.each([
    ['/healthz', /^ok$/],
    ['/livez', /^ok$/],
    ['/readyz', /^ok$/],
    [
      '/readyz?verbose',
      /^\[\+\]ping ok\n\[\+\]repository ok\n\[\+\]repository-objects ok\n\[\+\]secrets ok\nreadyz check passed\n$/,
    ],
    [
      '/healthz?verbose&exclude=repository&exclude=repository-objects&exclude=secrets',
      /^\[\+\]ping ok\nhealthz check passed\n$/,
    ],
    [`${ROOT}/readyz/ping`, /^ok$/],
    [`${ROOT}/livez?verbose`, /livez check passed/],
    [`${ROOT}/version`, /"gitVersion":"v1\.32/],
    ['/schemas/', /"team\.json"/],
    ['/schemas/team.json', /"title": "Team"/],
    ['/schemas/config-status.json', /"properties"/],
    [`${ROOT}/api`, /APIVersions/],
    [`${ROOT}/apis`, /APIGroupList/],
    [`${ROOT}/apis/${GROUP}`, /APIGroup/],
    [`${ROOT}/apis/${GROUP}/v1`, /"sharedsecrets"/],
    [`${ROOT}/apis/${RBAC_GROUP}/v1`, /"rolebindings"/],
    [`${ROOT}/openapi/v2`, /"swagger":"2\.0"/],
    [`${ROOT}/openapi/v3`, /serverRelativeURL/],
    ['/.well-known/jwks.json', /"kty":"EC"/],
  ])('%s is public', async (path, text) => {
    const { code, text: body } = await daemon.call('GET', path, { token: null });
    expect([code, body]).toEqual([200, expect.stringMatching(text)]);
  });

  test.each([
    '/metrics',
    `${ROOT}/metrics`,
    '/git/platform.git/info/refs?service=git-upload-pack',
    '/git/platform.git/info/refs?service=git-receive-pack',
    '/git/platform.git/HEAD',
    `${ROOT}/api/v1/events`,
    `${ROOT}/api/v1/namespaces`,
    `${ROOT}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
    `${ROOT}/apis/${GROUP}/v1/unicorns`,
    `${ROOT}/apis/${GROUP}/v1/watch/teams`,
    `${API}/teams/`,
    `${API}/teams?watch=true`,
    `//kubernetes/management/apis/${GROUP}/v1/teams`,
    `/kubernetes/management/apis/${GROUP}/v1/../v1/teams`,
    '/nowhere',
    '/',
  ])('%s is not readable', async (path) => {
    const { code, text } = await daemon.call('GET', path, { token: null });
    expect([401, 404]).toContain(code);
    expect(text).not.toContain('payments');
  });

  // covers: authentication.required
  test('no discovered resource answers any method', async () => {
    const tried: string[] = [];
    for (const group of [GROUP, RBAC_GROUP]) {
      const base = `${ROOT}/apis/${group}/v1`;
      const { resources } = (await daemon.call('GET', base, { token: null })).json();
      for (const { name, namespaced } of resources) {
        const places = [
          name,
          `${name}/x`,
          ...(namespaced ? [`namespaces/a/${name}`, `namespaces/a/${name}/x`] : []),
        ];
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
          tried.push(...places.map((place) => `${method} ${base}/${place}`));
      }
    }
    expect(tried.length).toBeGreaterThan(150);
    for (const line of tried) {
      const [method = '', path = ''] = line.split(' ');
      const { code, text } = await daemon.call(method, path, {
        token: null,
        body: '{}',
      });
      expect(`${line} ${code}`).toBe(`${line} 401`);
      if (method !== 'HEAD') expect(JSON.parse(text)).toMatchObject({ reason: 'Unauthorized' });
    }
  });
});

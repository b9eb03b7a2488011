/** Routes of objects: paths that only look like one of a kind, and spellings of one path. */
import type { FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { CLIENT_KINDS, CORE_KINDS } from '../../src/kinds/kubernetes/tables.ts';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { DOCUMENT_OPERATIONS } from '../../src/server/documents/http-api/http-api.ts';
import { FlowClassifier } from '../../src/server/filters/flow-classifier.ts';
import { buildServer } from '../../src/server/server.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { kinds } from '../support/platform.ts';

const ROOT = '/kubernetes/management';
const TENANT = `${ROOT}/apis/management.gitplane.dev/v1/tenants/a`;

/** A server whose requests come from a user with all rights. */
function server(): FastifyInstance {
  const deps = {
    ...{ kinds, config: { current: {} }, clock: Date, audit: { isOn: false }, version: '0' },
    root: ROOT,
    store: { resourceVersion: 1 },
    authenticate: () => ({ user: { name: 'admin', groups: [] } }),
    authorizer: { authorize: () => ({ allowed: true, reason: '' }) },
    rights: { revision: 0 },
    clusters: { prefix: '/kubernetes', find: () => undefined },
    clientState: { kinds: CLIENT_KINDS },
    core: { kinds: CORE_KINDS },
    fairness: new FlowClassifier(),
    signIn: { baseUrl: 'https://platform.example' },
    logger: createLogger('fatal'),
    metrics: { requests: { observe: () => undefined } },
  } as unknown as ServerDependencies;
  const app = buildServer(deps, {});
  onTestFinished(() => app.close());
  return app;
}

async function answerTo(method: 'GET' | 'PATCH' | 'POST', url: string): Promise<[number, string]> {
  const headers = { authorization: 'Bearer key', 'content-type': 'application/json' };
  const answer = await server().inject({ method, url, headers, payload: '{}' });
  return [answer.statusCode, answer.body];
}

/** `GET /path` of each route, from the tree that Fastify prints. */
async function routes(): Promise<string[]> {
  const app = server();
  await app.ready();
  const found: string[] = [];
  const above: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, indent = '', segment = '', methods = ''] =
      /^([│ ]*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    above.length = indent.length / 4;
    above.push(segment);
    for (const method of methods.split(', ').filter((name) => name !== '' && name !== 'HEAD'))
      found.push(`${method} ${above.join('')}`);
  }
  return found;
}

const NO_ROUTE = 'the server could not find the requested resource';

test.each([
  `${ROOT}/api/v1/namespaces/a/namespaces/b`,
  `${ROOT}/api/v1/namespaces/a/namespaces`,
  `${ROOT}/api/v1/namespaces/a/namespaces/b/status`,
  `${ROOT}/apis/management.gitplane.dev/v1/namespaces/a/teams`,
  `${ROOT}/apis/management.gitplane.dev/v2/teams`,
  '/kubernetes/%63luster/a/api/v1/namespaces',
])('GET %s is 404', async (url) => {
  expect((await answerTo('GET', url))[0]).toBe(404);
});

test('a namespace does not authorize reads of another one', async () => {
  const url = `${ROOT}/api/v1/namespaces/a/namespaces/b`;
  expect(await answerTo('GET', url)).toEqual([404, expect.stringContaining(NO_ROUTE)]);
});

test.each(['patches:preview', 'patches%3Apreview', 'patches%3apreview', 'patches:preview/'])(
  'POST of %s reaches the preview',
  async (path) => {
    const [code, body] = await answerTo('POST', `${TENANT}/${path}`);
    expect([code, body]).toEqual([400, expect.stringContaining('objects')]);
  },
);

test('a method that a path does not have is 405', async () => {
  expect((await answerTo('PATCH', TENANT))[0]).toBe(405);
  expect((await answerTo('GET', `${TENANT}/patches:preview`))[0]).toBe(405);
});

/** Routes of other protocols and of pages, which an OpenAPI document does not describe. */
const NOT_DOCUMENTS: Readonly<Record<string, RegExp>> = {
  'objects, which the Kubernetes part describes': /^\/kubernetes\//,
  'git over HTTP': /^\/git\//,
  'webhooks of forges': /^\/hooks\//,
  'the OpenID provider':
    /^\/(oidc\/|\.well-known\/(openid-configuration|oauth-authorization-server)\/oidc)/,
  'sign-in with a provider': /^\/auth\/(:id|password|providerE|logout|link)/,
  'sign-in of programs (RFC 8252 and RFC 8628)': /^\/(auth\/(cli|device)|device)/,
  'wildcards of the protocols above, without their prefix': /^\*$/,
  pages: /^\/(login|console.*)?$/,
};

test('every route of the server is in the document or speaks another protocol', async () => {
  const registered = await routes();
  const documented = new Set(
    DOCUMENT_OPERATIONS.filter(({ isOwnRoute }) => isOwnRoute).map(
      ({ method, path }) => `${method.toUpperCase()} ${path}`,
    ),
  );
  const others = registered.filter(
    (route) =>
      !documented.has(route) &&
      !Object.values(NOT_DOCUMENTS).some((pattern) => pattern.test(route.split(' ')[1] ?? '')),
  );
  expect(others).toEqual([]);
  expect([...documented].filter((route) => !registered.includes(route))).toEqual([]);
});

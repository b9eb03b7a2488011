/** `/openapi.json`: every document and kind of the API, with schemas that real answers fit. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, EXAMPLE_PLATFORM, startDaemon } from '../support/daemon.ts';
import { answerValidator } from '../support/openapi.ts';

interface Operation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: unknown }>>;

let daemon: Daemon;
let paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
let problemsOf: ReturnType<typeof answerValidator>;
let head = '';

beforeAll(async () => {
  daemon = await startDaemon({ seed: EXAMPLE_PLATFORM });
  const audit = {
    enabled: true,
    path: 'audit.log',
    level: 1,
    dataStoreEndpoint: 'sqlite://audit.db',
  };
  const raw = JSON.stringify({
    audit,
    costControl: { enabled: true },
    uiSettings: { primaryColor: '#123456' },
  });
  const config = await daemon.call('PATCH', `${API}/config/platform`, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect(config.code, config.text).toBe(200);
  const document = (await daemon.call('GET', '/openapi.json', { token: null })).json();
  ({ paths } = document);
  problemsOf = answerValidator(document);
  head = (await daemon.call('GET', '/sync')).json().head;
});

afterAll(async () => {
  await daemon.stop();
});

interface Sent {
  readonly path?: string;
  readonly body?: object;
  /** Expected status code; 200 if absent. */
  readonly code?: number;
}

/** A request per operation of the documents, by its id. */
const REQUESTS: Readonly<Record<string, () => Sent>> = {
  readSummary: () => ({}),
  search: () => ({ path: '/search?q=team' }),
  readCosts: () => ({}),
  listCommits: () => ({ path: '/commits?limit=2' }),
  listBranches: () => ({}),
  compare: () => ({ path: `/compare?from=${head}` }),
  plan: () => ({ body: { revision: head } }),
  explainAccess: () => ({ path: '/access/explain?verb=get&resource=teams&name=platform&user=ada' }),
  listSubjects: () => ({ path: '/access/who?verb=get&resource=teams' }),
  readSync: () => ({}),
  sync: () => ({ path: `/sync?wait=${head}` }),
  approve: () => ({ body: { revision: head, reason: 'expected' } }),
  readSecretStore: () => ({}),
  syncSecretStore: () => ({ path: '/secret-store/sync?wait=true' }),
  suspend: () => ({ path: '/suspensions/secret-store', body: { reason: 'upgrade' }, code: 201 }),
  listSuspensions: () => ({}),
  resume: () => ({ path: '/suspensions/secret-store' }),
  suspendNamed: () => ({ path: '/suspensions/tenants/nobody', body: { reason: 'x' }, code: 400 }),
  resumeNamed: () => ({ path: '/suspensions/tenants/nobody', code: 404 }),
  listAuditEvents: () => ({}),
  relayAuditEvents: () => ({
    body: { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items: [] },
  }),
  readPlatformSettings: () => ({}),
  readUISettings: () => ({}),
  readSignInInfo: () => ({}),
  readVersion: () => ({}),
  healthz: () => ({}),
  healthzCheck: () => ({ path: '/healthz/ping' }),
  livez: () => ({}),
  livezCheck: () => ({ path: '/livez/ping' }),
  readyz: () => ({ path: '/readyz?verbose' }),
  readyzCheck: () => ({ path: '/readyz/ping' }),
  readMetrics: () => ({}),
  readOpenApi: () => ({}),
  listSchemas: () => ({}),
  readSchema: () => ({ path: '/schemas/team.json' }),
  readTokenKeys: () => ({}),
  readTokenIssuer: () => ({}),
  listRevocations: () => ({}),
  revokeToken: () => ({ body: { jti: 'no-such-token' } }),
  readSession: () => ({ code: 401 }),
  checkKey: () => ({ body: { key: daemon.token } }),
  revokeKey: () => ({ body: { key: daemon.token } }),
};

function schemaOf({ responses }: Operation, { code, headers }: Answer): unknown {
  const type = String(headers['content-type']).split(';')[0] ?? '';
  return responses[code]?.content?.[type]?.schema;
}

describe('documents', () => {
  const documents = () =>
    Object.entries(paths)
      .filter(([path]) => !path.startsWith('/kubernetes/'))
      .flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
      );

  test('each has a request in the table of this test', () => {
    const ids = documents().map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual(Object.keys(REQUESTS).toSorted());
  });

  test.each(Object.keys(REQUESTS))('the answer to %s fits its schema', async (id) => {
    const found = documents().find(({ operation }) => operation.operationId === id);
    if (found === undefined) throw new Error(`The document has no ${id}`);
    const { path, body, code = 200 } = REQUESTS[id]?.() ?? {};
    const asked = path ?? found.path;
    const answer = await daemon.call(found.method.toUpperCase(), asked, body ? { body } : {});
    expect(answer.code, answer.text).toBe(code);
    const schema = schemaOf(found.operation, answer);
    expect(schema, `${answer.code} ${String(answer.headers['content-type'])}`).toBeDefined();
    const isJson = String(answer.headers['content-type']).includes('json');
    expect(problemsOf(schema, isJson ? answer.json() : answer.text)).toEqual([]);
  });

  test('documents without security are open to everyone, and no others', async () => {
    const wrong: string[] = [];
    for (const { path, method, operation } of documents()) {
      const isOwn = path.startsWith('/auth/') && method === 'post';
      if (isOwn || operation.operationId === 'readSession') continue;
      const sent = REQUESTS[operation.operationId]?.();
      const { code } = await daemon.call(method.toUpperCase(), sent?.path ?? path, {
        token: null,
        ...(sent?.body === undefined ? {} : { body: sent.body }),
      });
      if ((code === 401) !== (operation.security === undefined)) wrong.push(`${method} ${path}`);
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ['GET', '/no-such-document'],
    ['DELETE', '/summary'],
    ['POST', '/metrics'],
    ['GET', '/suspensions/tenants/a/b'],
    ['GET', '/openapiXjson'],
  ])('%s %s is in no document and not answered', async (method, path) => {
    expect((await daemon.call(method, path)).code).toBe(404);
  });
});

describe('kinds', () => {
  const root = '/kubernetes/management';

  test('every list fits its schema', async () => {
    const wrong: string[] = [];
    const lists = Object.entries(paths).filter(
      ([path, { get }]) => path.startsWith(root) && get !== undefined && !path.includes('{'),
    );
    for (const [path, { get }] of lists) {
      const answer = await daemon.call('GET', path);
      const schema = get && schemaOf(get, answer);
      const problems = schema === undefined ? ['no schema'] : problemsOf(schema, answer.json());
      wrong.push(...problems.map((problem) => `${path}: ${problem}`));
    }
    expect(lists.length).toBeGreaterThan(10);
    expect(wrong).toEqual([]);
  });

  test.each(['history', 'blame', 'source', 'status'])(
    '%s of an object fits its schema',
    async (name) => {
      const item = paths[`${API}/teams/{name}/${name}`];
      const answer = await daemon.call('GET', `${API}/teams/storefront/${name}`);
      expect(answer.code, answer.text).toBe(200);
      expect(item?.['get'] && problemsOf(schemaOf(item['get'], answer), answer.json())).toEqual([]);
    },
  );

  test('a preview of a write fits WritePreview', async () => {
    const url = `${API}/teams/storefront?dryRun=All&show=file,effect`;
    const body = { spec: { displayName: 'Shop' } };
    const type = 'application/merge-patch+json';
    const answer = await daemon.call('PATCH', url, { body, type });
    expect(answer.code, answer.text).toBe(200);
    const schema = { $ref: '#/components/schemas/WritePreview' };
    expect(problemsOf(schema, answer.json())).toEqual([]);
  });
});

describe('limits', () => {
  test.each([
    ['/search?q=team&limit=101', /limit: must be a number from 1 to 100/],
    [`/search?q=${'x'.repeat(257)}`, /at most 8 words in 256 characters/],
    ['/summary?since=short', /since/],
    ['/audit/events?limit=1001', /limit/],
    [`/access/who?verb=get&resource=${'x'.repeat(254)}`, /253/],
    ['/compare', /from/],
  ])('%s is refused', async (path, message) => {
    const answer = await daemon.call('GET', path);
    expect([answer.code, answer.text]).toEqual([400, expect.stringMatching(message)]);
  });
});

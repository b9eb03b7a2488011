/** Every URL that is no resource: who may ask for it, and what the scope of a key has to say for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const GET_REFS = '/git/platform.git/info/refs?service=git-upload-pack';

/**
 * `anybody`: also without a key. `key`: every key. `unscoped`: every key without a scope. `right`: who
 * has a right on the path. A scope has to name what is `unscoped` or takes a right. `own`: decided by
 * something else than the key in the header, which makes no difference.
 */
const URLS: readonly (readonly [who: Who, request: string])[] = [
  ['anybody', 'GET /healthz'],
  ['anybody', 'GET /livez'],
  ['anybody', 'GET /readyz'],
  ['anybody', 'GET /version'],
  ['anybody', 'GET /schemas'],
  ['anybody', 'GET /schemas/team.json'],
  ['anybody', 'GET /api'],
  ['anybody', 'GET /kubernetes/management/api/v1'],
  ['anybody', 'GET /kubernetes/management/apis'],
  ['anybody', 'GET /openapi.json'],
  ['anybody', 'GET /openapi/v2'],
  ['anybody', 'GET /openapi/v3'],
  ['anybody', 'GET /openapi/v3/api/v1'],
  ['anybody', 'GET /ui/settings'],
  ['anybody', 'GET /auth/info'],
  ['anybody', 'GET /.well-known/jwks.json'],
  ['anybody', 'GET /.well-known/openid-configuration'],
  ['key', 'POST /token/revoke'],
  ['unscoped', 'GET /platform/settings'],
  ['unscoped', 'GET /summary'],
  ['unscoped', 'GET /search?q=team'],
  ['unscoped', 'GET /costs'],
  ['unscoped', 'GET /access/explain?verb=get&path=/sync'],
  ['unscoped', 'GET /access/who?verb=get&path=/sync'],
  ['right', 'GET /branches'],
  ['right', 'GET /commits'],
  ['right', 'GET /compare'],
  ['right', 'GET /metrics'],
  ['right', 'GET /audit/events'],
  ['right', 'POST /audit/events'],
  ['right', 'POST /plan'],
  ['right', 'GET /sync'],
  ['right', 'POST /sync'],
  ['right', 'POST /sync/approve'],
  ['right', 'GET /suspensions'],
  ['right', 'POST /suspensions/remote'],
  ['right', 'DELETE /suspensions/remote'],
  ['right', 'GET /secret-store'],
  ['right', 'POST /secret-store/sync'],
  ['right', 'GET /token/revocations'],
  ['right', `GET ${GET_REFS}`],
  ['right', 'POST /git/platform.git/git-upload-pack'],
  ['right', 'POST /git/platform.git/git-receive-pack'],
  ['right', 'GET /no/such/path'],
  // A hosted repository has no webhooks.
  ['right', 'POST /hooks/secret'],
  ['own', 'GET /login'],
  ['own', 'GET /auth/oidc/login'],
  ['own', 'GET /auth/oidc/callback'],
  ['own', 'POST /auth/oidc/finish'],
  ['own', 'POST /auth/oidc/logout'],
  ['own', 'POST /auth/logout'],
  ['own', 'POST /auth/password/login'],
  ['own', 'POST /auth/providerE/login'],
  ['own', 'GET /console'],
  ['own', 'GET /auth/link'],
  ['own', 'GET /auth/session'],
  ['own', 'POST /auth/token'],
  ['own', 'POST /auth/revoke'],
  ['own', 'GET /auth/cli'],
  ['own', 'POST /auth/cli/token'],
  ['own', 'POST /auth/device'],
  ['own', 'POST /auth/device/token'],
  ['own', 'GET /device'],
  ['own', 'POST /device'],
  ['own', 'GET /oidc/auth'],
  ['own', 'GET /.well-known/oauth-authorization-server/oidc'],
];

type Who = 'anybody' | 'key' | 'unscoped' | 'right' | 'own';

/** True if a stranger, a key of nobody in particular, a key with another scope, and one that names it pass. */
const PASS: Readonly<Record<Exclude<Who, 'own'>, readonly boolean[]>> = {
  anybody: [true, true, true, true],
  key: [false, true, true, true],
  unscoped: [false, true, false, true],
  right: [false, false, false, true],
};

let daemon: Daemon;
const keys: Record<'nobody' | 'elsewhere' | 'named', string> = {
  nobody: '',
  elsewhere: '',
  named: '',
};

function pathOf(request: string): string {
  return (request.split(' ')[1] ?? '').replace(/\?.*/, '');
}

async function makeKey(name: string, spec: object): Promise<string> {
  const body = { metadata: { name }, spec };
  const answer = await daemon.call('POST', `${API}/ownedaccesskeys`, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json().spec.key;
}

beforeAll(async () => {
  daemon = await startDaemon();
  await daemon.call('POST', `${API}/users`, { body: { metadata: { name: 'bob' }, spec: {} } });
  keys.nobody = await makeKey('nobody', { user: 'bob' });
  const teams = [{ group: 'management.gitplane.dev', resources: ['teams'] }];
  const reads = { verbs: ['get'], resources: teams };
  keys.elsewhere = await makeKey('elsewhere', { user: 'admin', scope: { rules: [reads] } });
  const nonResourceURLs = [...new Set(URLS.map(([, request]) => pathOf(request))), '/git/*'];
  keys.named = await makeKey('named', { user: 'admin', scope: { rules: [{ nonResourceURLs }] } });
});

afterAll(async () => {
  await daemon?.stop();
});

interface Outcome {
  readonly code: number;
  /** Refused for want of a key, or of a right. */
  readonly isDenied: boolean;
}

async function ask(request: string, token: string | null): Promise<Outcome> {
  const [method = '', path = ''] = request.split(' ');
  const { code, text } = await daemon.call(method, path, { token });
  return { code, isDenied: code === 401 || (code === 403 && / cannot \w+ path /.test(text)) };
}

test.each(URLS)('%s: %s', async (who, request) => {
  const { nobody, elsewhere, named } = keys;
  const outcomes: Outcome[] = [];
  for (const token of [null, nobody, elsewhere, named]) outcomes.push(await ask(request, token));
  const codes = outcomes.map(({ code }) => code);
  if (who === 'own') expect(new Set(codes).size, String(codes)).toBe(1);
  else
    expect(
      outcomes.map(({ isDenied }) => !isDenied),
      String(codes),
    ).toEqual(PASS[who]);
});

test('the role of agents opens the settings of the platform, and no limited role does', async () => {
  const scope = (more: object): object => ({ roles: [{ role: 'agent', ...more }] });
  const agent = await makeKey('agent', { user: 'bob', scope: scope({}) });
  const limited = await makeKey('limited', { user: 'bob', scope: scope({ projects: ['p'] }) });
  expect((await ask('GET /platform/settings', agent)).code).toBe(200);
  expect((await ask('GET /platform/settings', limited)).code).toBe(403);
});

/** Paths of the listener that replicas have among themselves. */
const OF_PEERS = ['/peer/uses'];

/** Files of the operating system. */
const OF_SYSTEM = ['/proc/self/limits'];

/** Routes of resources, which the rights of their kinds govern. */
const OF_RESOURCES = /^\/(?:api|apis\/:group)\/:version$|^\/namespaces\/:/;

test('the table has every path that the server names', () => {
  const folder = join(import.meta.dirname, '../../src/server');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((name) => name.endsWith('.ts'));
  const texts = sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const named = [...texts.matchAll(/'(\/[a-z.][\w./:-]*)'/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  const known = URLS.map(([, request]) => pathOf(request).replace(/^\/auth\/oidc\//, '/auth/:id/'));
  const isKnown = (path: string): boolean =>
    known.some((one) => one === path || one.startsWith(path.replace(/:secret$/, '')));
  const unknown = [...new Set(named)].filter(
    (path) =>
      !isKnown(path) && ![...OF_PEERS, ...OF_SYSTEM].includes(path) && !OF_RESOURCES.test(path),
  );
  expect(unknown).toEqual([]);
});

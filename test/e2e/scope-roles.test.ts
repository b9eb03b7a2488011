/** The matrix of roles of a scope in `docs/access-keys.md`, each cell with a request. */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/access-keys.md'), 'utf8');
const TABLE = /<!-- matrix: scope roles -->\n([\s\S]*?)<!-- end -->/.exec(PAGE)?.[1] ?? '';
const [head = [], , ...rows] = TABLE.trim()
  .split('\n')
  .map((line) => line.split('|').slice(1, -1))
  .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')));
const ROLES = head.slice(1);
/** Names that the page has for them, for the paths of requests. */
const ROOTS: readonly (readonly [string, string])[] = [
  ['$M', API],
  ['$V', '/kubernetes/virtualcluster'],
  ['$C', '/kubernetes/cluster'],
];

let daemon: Daemon;
const keys = new Map<string, string>();

async function keyWith(scope: object): Promise<string> {
  const body = { spec: { user: 'admin', scope } };
  const made = await daemon.call('POST', `${API}/ownedaccesskeys`, { body });
  expect(made.code, made.text).toBe(201);
  return made.json().spec.key;
}

beforeAll(async () => {
  daemon = await startDaemon();
  const clone = await daemon.clone();
  for (const [name, project] of [
    ['blue', 'web'],
    ['red', 'web'],
    ['green', 'api'],
  ] as const) {
    await mkdir(join(clone, 'tenants', name), { recursive: true });
    const text = `external: {gitplane: {project: ${project}}}\n`;
    await writeFile(join(clone, 'tenants', name, 'vcluster.yaml'), text);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  const pushed = await daemon.git(['push'], clone);
  if (pushed.code !== 0) throw new Error(pushed.stderr);
  for (const role of ROLES) {
    const limits = role === 'virtual-cluster' ? { virtualClusters: ['blue'] } : {};
    keys.set(role, await keyWith({ roles: [{ role, ...limits }] }));
  }
});

afterAll(() => daemon.stop());

/** True if a request got past authorization, whatever became of it then. */
async function passes(token: string, request: string): Promise<boolean> {
  const [method = '', shown = ''] = request.split(' ');
  const path = ROOTS.reduce((text, [name, root]) => text.replace(name, root), shown);
  const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
  const separator = method === 'GET' ? '' : '?dryRun=All';
  const { code, text } = await daemon.call(method, path + separator, { token, ...body });
  expect([401, 429, 500]).not.toContain(code);
  if (code === 403) expect(text).toContain('the scope of');
  return code !== 403;
}

test('covers every role, with requests that pass and requests that do not', () => {
  expect(ROLES).toHaveLength(7);
  expect(rows.length).toBeGreaterThan(30);
  expect(new Set(rows.flatMap((row) => row.slice(1)))).toEqual(new Set(['yes', '-']));
});

test.each(rows.map(([request = '', ...cells]) => [request, cells] as const))(
  'the page is right about %s',
  async (request, cells) => {
    const found: string[] = [];
    for (const role of ROLES) {
      found.push((await passes(keys.get(role) ?? '', request)) ? 'yes' : '-');
    }
    expect(found).toEqual(cells);
  },
);

// covers: scope.roles.projects
test('a limit to projects reaches the clusters of their tenants alone', async () => {
  const role = 'virtual-cluster';
  const tries = async (limits: object): Promise<string> => {
    const token = await keyWith({ roles: [{ role, ...limits }] });
    const found: string[] = [];
    for (const tenant of ['blue', 'red', 'green']) {
      if (await passes(token, `GET $V/${tenant}/api/v1/endpoints`)) found.push(tenant);
    }
    return found.join(' ');
  };
  expect(await tries({})).toBe('blue red green');
  expect(await tries({ projects: ['web'] })).toBe('blue red');
  expect(await tries({ projects: ['api'], virtualClusters: ['green', 'blue'] })).toBe('green');
  expect(await tries({ projects: ['none'] })).toBe('');
  expect(await tries({ virtualClusters: ['*'] })).toBe('');
});

test('a role grants nothing that the owner of the key has not', async () => {
  await daemon.call('POST', `${API}/users`, { body: { metadata: { name: 'nobody' }, spec: {} } });
  const body = { spec: { user: 'nobody', scope: { roles: [{ role: 'agent' }] } } };
  const made = await daemon.call('POST', `${API}/ownedaccesskeys`, { body });
  const token = made.json().spec.key;
  const path = '/kubernetes/virtualcluster/blue/api/v1/endpoints';
  expect((await daemon.call('GET', path, { token })).code).toBe(403);
});

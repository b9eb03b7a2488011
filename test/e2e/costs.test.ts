/** `/costs`: sums of tenants from the nodes and pods of their clusters, as far as the caller may see the tenants. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, HAS_BROWSER, openConsole, useBrowser } from '../support/browser.ts';
import { ClusterOfPods, podOf } from '../support/cluster-of-pods.ts';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';

const GROUP = 'management.gitplane.dev';
const CONFIG = `costControl:
  enabled: true
  settings:
    priceCurrency: EUR
    averageCPUPricePerNode: {price: 73, timePeriod: Monthly}
    averageRAMPricePerNode: {price: 146, timePeriod: Monthly}
`;

let daemon: Daemon;
let cluster: ClusterOfPods;
const keys: Record<string, string> = {};

/** The loops of tenants ask the cluster for other things. */
const reads = (): readonly string[] =>
  cluster.requests.filter((request) => /\/(nodes|pods)$/.test(request));

async function make(path: string, body: object): Promise<ReturnType<JSON['parse']>> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json();
}

async function configure(raw: string): Promise<void> {
  const type = 'application/merge-patch+json';
  const body = { spec: { raw } };
  const { code, text } = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
  expect(code, text).toBe(200);
}

beforeAll(async () => {
  [daemon, cluster] = await Promise.all([startDaemon(), ClusterOfPods.start()]);
  cluster.pods = [podOf('a', { cpu: '1', memory: '2Gi' }), podOf('b', { cpu: '1', memory: '2Gi' })];
  const folder = join(daemon.dataDir, 'kubeconfigs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'blue'), cluster.kubeconfig);
  const closed = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(join(folder, 'dead'), cluster.kubeconfig.replace(cluster.url, closed));
  const clone = await daemon.clone();
  const off = 'sync: {toHost: {endpoints: {enabled: false}, services: {enabled: false}}}\n';
  for (const name of ['blue', 'dead', 'served']) {
    mkdirSync(join(clone, 'tenants', name), { recursive: true });
    const own = `external: {gitplane: {source: {kubeconfig: {file: ${name}}}}}\n`;
    writeFileSync(
      join(clone, 'tenants', name, 'vcluster.yaml'),
      `${name === 'served' ? '' : own}${off}`,
    );
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  const pushed = await daemon.git(['push', '-q'], clone);
  expect(pushed.code, pushed.stderr).toBe(0);
  for (const name of ['ann', 'none']) {
    await make(`${API}/users`, { metadata: { name } });
    keys[name] = (await make(`${API}/ownedaccesskeys`, { spec: { user: name } })).spec.key;
  }
  const rule = { apiGroups: [GROUP], resources: ['tenants'], verbs: ['get'] };
  await make(`${RBAC}/clusterroles`, {
    metadata: { name: 'blue-reader' },
    rules: [{ ...rule, resourceNames: ['blue'] }],
  });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'blue-reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'blue-reader' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
  });
});

afterAll(async () => {
  await daemon.stop();
  cluster.stop();
});

test.each([
  ['absent', '{}'],
  ['false', 'costControl: {enabled: false}'],
])('the answer is 404 and no cluster is asked: costControl.enabled is %s', async (_, raw) => {
  await configure(raw);
  const { code, text } = await daemon.call('GET', '/costs');

  expect([code, text]).toEqual([404, expect.stringContaining('costControl.enabled')]);
  expect(reads()).toEqual([]);
});

test('tenants without a cluster that answers have no sum and the reason', async () => {
  await configure(CONFIG);
  const answer = await daemon.call('GET', '/costs');

  expect(answer.code, answer.text).toBe(200);
  const { items, ...rest } = answer.json();
  expect(rest).toMatchObject({
    ...{ kind: 'TenantCosts', currency: 'EUR', count: 3 },
    total: { perHour: expect.closeTo(0.15), perMonth: expect.closeTo(109.5), tenants: 1 },
  });
  expect(items[0]).toMatchObject({
    ...{ name: 'blue', nodes: 1, pods: 2, unknown: [] },
    cpu: { requested: 2, capacity: 4, perMonth: 36.5 },
    memory: { requested: 4 * 2 ** 30, capacity: 8 * 2 ** 30, perMonth: 73 },
    total: { perMonth: expect.closeTo(109.5) },
  });
  expect(items.slice(1)).toEqual([
    {
      name: 'dead',
      observedAt: expect.any(String),
      unknown: [{ what: 'tenant', reason: expect.stringContaining('ECONNREFUSED') }],
    },
    {
      name: 'served',
      unknown: [{ what: 'tenant', reason: expect.stringContaining('served by the platform') }],
    },
  ]);
});

test('changed prices count at once, and the cluster is not asked again', async () => {
  const before = reads().length;
  await configure(CONFIG.replace('price: 73', 'price: 146'));
  const { items } = (await daemon.call('GET', '/costs')).json();

  expect(items[0].cpu.perMonth).toBe(73);
  expect(before).toBe(2);
  expect(reads()).toHaveLength(before);
});

test('an answer has the tenants that its reader may see', async () => {
  const names = async (user: string): Promise<unknown> => {
    const answer = await daemon.call('GET', '/costs', { token: keys[user] ?? '' });
    expect(answer.code, answer.text).toBe(200);
    const { items, count, total } = answer.json();
    return [items.map(({ name }: { name: string }) => name), count, total.tenants];
  };

  expect(await names('ann')).toEqual([['blue'], 1, 1]);
  expect(await names('none')).toEqual([[], 0, 0]);
  expect((await daemon.call('GET', '/costs', { token: null })).code).toBe(401);
});

describe.skipIf(!HAS_BROWSER)('the page of the console', () => {
  const browser = useBrowser();

  test.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('has the sums and what is not known, %d pixels wide', async (width, colorScheme) => {
    const visit = await openConsole(browser, daemon, '/console/costs', {
      viewport: { width, height: 900 },
      colorScheme,
    });
    const { page } = visit;
    const row = (name: string): Locator =>
      page.locator('tr').filter({ has: page.locator('th', { hasText: name }) });
    await row('blue').waitFor();
    const text = await row('blue').innerText();
    for (const part of ['73 EUR', '2 of 4 cores', '4 of 8 GiB', '0.2 EUR', '146 EUR']) {
      expect(text).toContain(part);
    }
    expect(await row('dead').innerText()).toContain('ECONNREFUSED');
    expect(await row('served').innerText()).toContain('served by the platform');
    expect(await row('Sum of 1 tenant').innerText()).toContain('2 tenants without a sum');
    await expectAccessible(page);
    const overflow: unknown = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).toBe(0);
    expect(visit.complaints).toEqual([]);
  });
});

test.each(['POST', 'PUT', 'DELETE'])('%s is refused', async (method) => {
  expect((await daemon.call(method, '/costs')).code).toBe(404);
});

/** The console of a replica, in a browser, while the leader or etcd is away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, openConsole, useBrowser, type Visit } from '../support/browser.ts';
import { API } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const title =
  ETCD_MISSING === undefined
    ? 'the console of a replica'
    : `the console of a replica (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(!HAS_BROWSER || ETCD_MISSING !== undefined)(title, () => {
  const browser = useBrowser();
  let set: ReplicaSet;

  beforeAll(async () => {
    // Long enough for a page on a busy machine to notice that the leader is away.
    set = await startReplicas({ replicas: 2, members: 1, args: ['--leader-lease', '10'] });
  });
  afterAll(async () => {
    await set?.stop();
  });

  async function follower(): Promise<Replica> {
    const leader = await set.elected();
    const found = set.replicas.find(({ index }) => index !== leader.index);
    if (found === undefined) throw new Error('no replica follows');
    return found;
  }

  const open = ({ daemon }: Replica, path: string): Promise<Visit> =>
    openConsole(browser, { url: daemon.url, token: set.token }, path);

  async function team({ daemon }: Replica, name: string): Promise<number> {
    const body = { metadata: { name }, spec: { displayName: name } };
    return (await daemon.call('POST', `${API}/teams`, { body, token: set.token })).code;
  }

  test('shows what others write, and its own writes go to the leader', async () => {
    const replica = await follower();
    const { page } = await open(replica, '/console/objects/teams');
    await page.getByRole('link', { name: 'storefront' }).waitFor();
    expect(await team(await set.elected(), 'elsewhere')).toBe(201);
    await page.getByRole('link', { name: 'elsewhere' }).waitFor();
    await page.goto(`${replica.daemon.url}/console/objects/sharedsecrets/payments/registry`);
    await page.getByRole('button', { name: 'Give access' }).click();
    await page.getByLabel('Name', { exact: true }).fill('ada');
    await page.getByRole('button', { name: 'Show the change' }).click();
    await page.locator('.line.added', { hasText: '- ada' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Give access' }).waitFor({ state: 'detached' });
    const path = `${API}/namespaces/payments/sharedsecrets/registry`;
    const { spec } = (await replica.daemon.call('GET', path, { token: set.token })).json();
    expect(spec.access.at(-1)).toEqual({ verbs: ['get'], users: ['ada'] });
  });

  test('says that the leader is away, stays readable, and goes on with the next one', async () => {
    const replica = await follower();
    const { page } = await open(replica, '/console');
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    const list = await open(replica, '/console/objects/teams');
    await list.page.getByRole('link', { name: 'storefront' }).waitFor();
    const leader = await set.elected();
    await leader.stop('SIGKILL');
    await page.getByText('Not connected').waitFor();
    expect(await page.getByRole('heading', { name: 'Branch' }).count()).toBe(1);
    expect(await list.page.getByRole('link', { name: 'storefront' }).count()).toBe(1);
    await set.elected();
    await page.getByText('Not connected').waitFor({ state: 'detached' });
    await expect.poll(() => team(replica, 'later')).toBe(201);
    await list.page.getByRole('link', { name: 'later' }).waitFor();
    await leader.start();
  });

  test('stays readable while etcd is away, and goes on by itself', async () => {
    const replica = await follower();
    const { page } = await open(replica, '/console');
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    const list = await open(replica, '/console/objects/teams');
    await list.page.getByRole('link', { name: 'storefront' }).waitFor();
    const [member] = set.etcd.members;
    await member?.kill();
    await page.getByText('Not connected').waitFor();
    expect(await page.getByRole('heading', { name: 'Branch' }).count()).toBe(1);
    expect(await list.page.getByRole('link', { name: 'storefront' }).count()).toBe(1);
    await member?.start();
    await page.getByText('Not connected').waitFor({ state: 'detached' });
    await expect.poll(() => team(replica, 'afterwards'), { timeout: 60_000 }).toBe(201);
    await list.page.getByRole('link', { name: 'afterwards' }).waitFor();
  });
});

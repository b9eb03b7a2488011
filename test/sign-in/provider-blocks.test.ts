/** That the blocks of the configuration become connectors, at the top and among the further ones. */
import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { parseConfigRaw } from '../../src/kinds/config/config-raw.ts';
import { ConnectorSet } from '../../src/sign-in/connectors/connector-set.ts';
import { newTransaction } from '../support/providers/sign-in.ts';

const never = new AbortController().signal;
const open: ConnectorSet[] = [];

afterEach(async () => {
  for (const set of open.splice(0)) await set.close();
});

function connectorsOf(auth: object): { set: ConnectorSet; warnings: string[] } {
  const { status, problems } = parseConfigRaw(JSON.stringify({ auth }));
  expect(problems).toEqual([]);
  const config = new ConfigFeed({
    environment: { CLIENT: 'client-of-the-environment' },
    onError: (error) => {
      throw error;
    },
  });
  config.offer(structuredClone(status) as JsonObject, false);
  const warnings: string[] = [];
  const set = new ConnectorSet({
    config,
    clock: { now: () => Date.now() },
    baseUrl: () => 'https://platform.example.com',
    warn: (id, message) => warnings.push(`${id}: ${message}`),
  });
  open.push(set);
  set.start();
  return { set, warnings };
}

/** What the browser is sent with, as the routes do it. */
async function sentBy(set: ConnectorSet, id: string): Promise<URL> {
  const use = await set.use(id);
  if (use.connector.callbackMethod === 'none') throw new Error('nobody is sent there');
  const transaction = { ...newTransaction(), redirectUri: use.redirectUri };
  const { url } = await use.connector.begin(transaction, never);
  use.release();
  return new URL(url);
}

const BLOCKS = ['providerA', 'providerB', 'providerC', 'providerD'] as const;

// covers: auth.{,connectors[].}{providerA,providerB,providerC,providerD}.{clientId,redirectURI}
describe.each(BLOCKS)('%s', (block) => {
  test.each([
    ['at the top', block, (one: object) => ({ [block]: one })],
    [
      'among the further ones',
      'mine',
      (one: object) => ({ connectors: [{ id: 'mine', [block]: one }] }),
    ],
  ])('%s sends the browser as the block says', async (_, id, auth) => {
    const redirectURI = `https://other.example.com/auth/${id}/callback`;
    const { set } = connectorsOf(auth({ clientId: '$CLIENT', redirectURI }));

    expect(Object.fromEntries((await sentBy(set, id)).searchParams)).toMatchObject({
      ...{ client_id: 'client-of-the-environment', redirect_uri: redirectURI },
    });
  });

  test('is called back at its own address where the block says nothing', async () => {
    const { set } = connectorsOf({ connectors: [{ id: 'mine', [block]: { clientId: 'a' } }] });

    expect((await sentBy(set, 'mine')).searchParams.get('redirect_uri')).toBe(
      'https://platform.example.com/auth/mine/callback',
    );
  });

  test('is told of where it lets every user in', async () => {
    const { set, warnings } = connectorsOf({ [block]: { clientId: 'a' } });
    (await set.use(block)).release();

    expect(warnings).toEqual([expect.stringMatching(`^${block}: .* may sign in$`)]);
  });
});

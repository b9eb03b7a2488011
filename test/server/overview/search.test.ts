/** Search: ranks of matches, and an index that follows the store and is dropped when idle. */
import { expect, test, vi } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { find, searchIndex } from '../../../src/server/overview/search.ts';
import { parseSearch, type SearchFacts } from '../../../src/server/overview/search-query.ts';
import { Visibility } from '../../../src/server/overview/visibility.ts';
import { kindOf, kinds, openTestPlatform } from '../../support/platform.ts';

const facts: SearchFacts = {
  name: 'mail-gateway',
  namespace: 'payments',
  displayName: 'gateway of letters',
  owner: 'team/post',
  labels: { Tier: 'Gold' },
};

test.each([
  ['mail-gateway', 100],
  ['mail', 80],
  ['gateway', 60],
  ['ateway', 50],
  ['letters', 40],
  ['post', 30],
  ['payments', 20],
  ['gold', 10],
  ['tier=gold', 10],
  ['tier=go', 0],
  ['mail gold', 45],
  ['mail absent', 0],
  ['ns:payments', 100],
  ['ns:pay', 0],
  ['owner:post', 100],
  ['owner:team/post', 100],
  ['owner:user/post', 0],
  ['label:tier', 100],
  ['MAIL', 80],
])('%s has the rank %i', (query, rank) => {
  expect(parseSearch(query).rank(facts)).toBe(rank);
});

test.each([
  ['kind:team x', 'teams', true],
  ['kind:tm x', 'teams', true],
  ['kind:teams x', 'teams', true],
  ['kind:user x', 'teams', false],
  ['kind:config', 'config', true],
  ['kind:configs', 'config', true],
])('%s looks at %s: %s', (query, plural, isFit) => {
  expect(parseSearch(query).fitsKind(kindOf(plural))).toBe(isFit);
});

const everyone = new Visibility(
  {
    authorizer: { authorize: () => ({ allowed: true, reason: '' }) },
    rights: { namespacesOf: () => [] },
  } as never,
  { name: 'admin', groups: [] },
);

test('the index follows changes, and is built again after it was idle', async () => {
  const platform = await openTestPlatform();
  const store = platform.store;
  const team = (name: string, displayName: string): KubeObject => ({
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'Team',
    metadata: { name },
    spec: { displayName },
  });
  const key = (name: string) => ({
    group: 'management.gitplane.dev',
    kind: 'Team',
    namespace: '',
    name,
  });
  const put = (name: string, displayName = name): void => {
    store.apply([{ type: 'put', key: key(name), object: team(name, displayName) }]);
  };
  const list = vi.spyOn(store, 'list');
  const index = searchIndex({ kinds, store, idleMs: 20 });
  const names = async (text: string): Promise<string[]> => {
    const query = parseSearch(text);
    const { best } = await find(index, { query, seen: everyone, limit: 10 });
    return best.map((one) => one.key.name);
  };
  put('bread');
  expect(await names('bread')).toEqual(['bread']);
  const reads = list.mock.calls.length;
  put('cake', 'Sweet bread');
  expect(await names('bread')).toEqual(['bread', 'cake']);
  store.apply([{ type: 'remove', key: key('bread') }]);
  expect(await names('bread')).toEqual(['cake']);
  expect(list.mock.calls.length).toBe(reads);
  await vi.waitFor(async () => {
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(await names('bread')).toEqual(['cake']);
    expect(list.mock.calls.length).toBeGreaterThan(reads);
  });
});

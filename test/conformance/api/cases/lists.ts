/** Lists: versions, pages and selectors (Kubernetes API, sections 2.5 and 2.6). */
import {
  ALL_SECRETS,
  type Case,
  SECRETS,
  SECRETS_OF,
  secret,
  TEAMS,
  team,
  USERS,
} from '../case.ts';

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const names = (list: Page): string[] => list.items.map(({ metadata }) => metadata.name);

/** The token of the same place in the state of another version. */
function withVersion(token: string, rv: number): string {
  const of: object = JSON.parse(Buffer.from(token, 'base64url').toString());
  return Buffer.from(JSON.stringify({ ...of, rv })).toString('base64url');
}

export const LISTS: readonly Case[] = [
  // covers: metadata.creationTimestamp.lists
  {
    name: 'a list of nothing has no items, and a version',
    run: async (api) => {
      await api.get(`${TEAMS}?labelSelector=no-such-label`);
      await api.get(`${SECRETS_OF('kube-public')}`);
    },
  },
  // covers: metadata.creationTimestamp
  {
    name: 'an object and a list of it agree',
    run: async (api) => {
      await api.post(TEAMS, team('listed', { users: ['ada'] }, { labels: { listed: 'yes' } }));
      await api.get(`${TEAMS}/listed`);
      await api.get(`${TEAMS}?labelSelector=listed`);
    },
  },
  {
    name: 'a get honours resourceVersion',
    run: async (api) => {
      const { metadata } = await api.quietly('POST', TEAMS, team('got'));
      // First what is waited for: after it every cache knows the object.
      await api.get(`${TEAMS}/got?resourceVersion=${metadata.resourceVersion}`);
      await api.get(`${TEAMS}/got?resourceVersion=0`);
      await api.code({ method: 'GET', path: `${TEAMS}/got?resourceVersion=abc` });
      await api.get(`${TEAMS}/nobody?resourceVersion=0`);
    },
  },
  {
    name: 'resourceVersion and resourceVersionMatch go together as they should',
    run: async (api) => {
      const first = await api.quietly('POST', TEAMS, team('matched-a', {}, { labels: { m: '' } }));
      await api.quietly('POST', TEAMS, team('matched-b', {}, { labels: { m: '' } }));
      const version = first.metadata.resourceVersion;
      const newest = (await api.quietly('GET', `${TEAMS}?labelSelector=m`)).metadata
        .resourceVersion;
      for (const limit of ['', '&limit=1']) {
        for (const match of ['', 'Exact', 'NotOlderThan', 'Sometimes']) {
          for (const at of ['', '0', version, newest]) {
            const wanted = [
              at === '' ? '' : `&resourceVersion=${at}`,
              match === '' ? '' : `&resourceVersionMatch=${match}`,
            ].join('');
            const what = at === version ? 'first' : at === newest ? 'newest' : at;
            await api.quietlyNoted(`list${limit} at "${what}" ${match}`, {
              method: 'GET',
              path: `${TEAMS}?labelSelector=m${limit}${wanted}`,
              // A server may ignore the limit where any version will do.
              show: (list: Page) => (at === '0' ? names(list).slice(0, 1) : names(list)),
            });
          }
        }
      }
    },
  },
  {
    name: 'versions that a list cannot have are refused',
    run: async (api) => {
      // Each is waited for.
      const future = 'resourceVersion=9000000000000000';
      await Promise.all([
        api.get(`${TEAMS}?limit=1&${future}&resourceVersionMatch=Exact`),
        api.get(`${TEAMS}?${future}`),
        api.get(`${TEAMS}/got?${future}`),
      ]);
      await api.code({ method: 'GET', path: `${TEAMS}?resourceVersion=abc` });
      await api.code({ method: 'GET', path: `${TEAMS}?resourceVersion=-1` });
      await api.get(`${TEAMS}?sendInitialEvents=true`);
      await api.get(`${TEAMS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
      await api.get(`${TEAMS}?limit=many`);
      await api.get(`${TEAMS}?timeoutSeconds=soon`);
    },
  },
  {
    name: 'pages show one state, and say how much is left',
    run: async (api) => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        await api.quietly('POST', USERS, {
          ...team(`page-${name}`, {}, { labels: { paged: name < 'd' ? 'low' : 'high' } }),
          kind: 'User',
        });
      }
      const first: Page = await api.quietly('GET', `${USERS}?limit=2`);
      await api.quietly('DELETE', `${USERS}/page-e`);
      await api.quietly('POST', USERS, { ...team('page-f'), kind: 'User' });
      const seen: unknown[] = [];
      let page = first;
      for (;;) {
        const left = (page.metadata as { remainingItemCount?: number }).remainingItemCount;
        const same = page.metadata.resourceVersion === first.metadata.resourceVersion;
        const ours = names(page).filter((name) => name.startsWith('page-'));
        seen.push({ names: ours, left: left === undefined ? null : left > 0, same });
        const token = page.metadata.continue ?? '';
        if (token === '') break;
        const more = `${USERS}?limit=2&continue=${encodeURIComponent(token)}`;
        page = await api.quietly('GET', more);
      }
      const flat = (seen as { names: string[] }[]).flatMap((one) => one.names);
      const steady = (seen as { same: boolean }[]).every(({ same }) => same);
      const left = (seen as { left: boolean | null }[]).map((one) => one.left);
      api.note('pages', {
        code: 200,
        body: {
          flat,
          steady,
          leftSaid: left.slice(0, -1).every((one) => one === true),
          end: left.at(-1) ?? null,
        },
      });
    },
  },
  {
    name: 'a page of a selection does not say how much is left',
    run: async (api) => {
      await api.quietlyNoted('first', {
        method: 'GET',
        path: `${USERS}?labelSelector=paged&limit=2`,
        show: (list: Page) => ({
          names: names(list),
          metadata: Object.keys(list.metadata).sort(),
        }),
      });
      await api.quietlyNoted('all', {
        method: 'GET',
        path: `${USERS}?labelSelector=paged&limit=50`,
        show: (list: Page) => ({ names: names(list), more: 'remainingItemCount' in list.metadata }),
      });
    },
  },
  {
    name: 'a continue token goes with nothing that contradicts it',
    run: async (api) => {
      const { metadata }: Page = await api.quietly('GET', `${USERS}?limit=1`);
      const token = encodeURIComponent(metadata.continue ?? '');
      await api.get(`${USERS}?limit=1&continue=${token}&resourceVersion=5`);
      await api.get(`${USERS}?limit=1&continue=${token}&resourceVersionMatch=Exact`);
      await api.get(
        `${USERS}?limit=1&continue=${token}&resourceVersion=5&resourceVersionMatch=NotOlderThan`,
      );
      await api.code({
        method: 'GET',
        path: `${USERS}?limit=1&continue=${token}&resourceVersion=0`,
      });
      for (const wrong of ['x', 'e30', Buffer.from('{"v":"v7","rv":5}').toString('base64url')]) {
        await api.code({ method: 'GET', path: `${USERS}?limit=1&continue=${wrong}` });
      }
    },
  },
  {
    name: 'a continue token whose version is gone leads on, but to another state',
    run: async (api) => {
      const some = `${USERS}?labelSelector=paged`;
      const { metadata }: Page = await api.quietly('GET', `${some}&limit=1`);
      const old = encodeURIComponent(withVersion(metadata.continue ?? '', 1));
      const { metadata: fresh } = await api.get(`${some}&limit=1&continue=${old}`);
      const labels = { paged: 'late' };
      await api.quietly('POST', USERS, { ...team('page-bc', {}, { labels }), kind: 'User' });
      const rest = `${some}&continue=${encodeURIComponent(fresh.continue ?? '')}`;
      await api.quietlyNoted('the remainder', { method: 'GET', path: rest, show: names });
      await api.get(`${rest}&resourceVersion=1`);
    },
  },
  {
    name: 'label selectors select',
    run: async (api) => {
      for (const [name, labels] of Object.entries({
        'sel-a': { sel: '1', tier: 'web' },
        'sel-b': { sel: '2', tier: 'db' },
        'sel-c': { sel: '10' },
        'sel-d': { other: 'x', 'example.com/tier': 'web' },
      })) {
        await api.quietly('POST', SECRETS, secret(name, {}, { labels }));
      }
      for (const selector of [
        'tier=web',
        'tier==web',
        'tier!=web,sel',
        'tier in (web,db)',
        'tier notin (web),sel',
        'tier,sel',
        '!tier,sel',
        'sel>1',
        'sel<10',
        'example.com/tier=web',
        'tier in ()',
        'sel,tier=',
        ' sel , tier = web ',
      ]) {
        await api.quietlyNoted(selector, {
          method: 'GET',
          path: `${SECRETS}?labelSelector=${encodeURIComponent(selector)}`,
          show: names,
        });
      }
    },
  },
  {
    name: 'label selectors that say nothing sensible are refused',
    run: async (api) => {
      for (const selector of [
        'a b',
        'a=b=c',
        'a in',
        'a in (b',
        '=x',
        'a/b/c=d',
        'a>x',
        'a=!',
        '!',
      ]) {
        await api.get(`${TEAMS}?labelSelector=${encodeURIComponent(selector)}`);
      }
    },
  },
  {
    name: 'field selectors select',
    run: async (api) => {
      for (const selector of [
        'metadata.name=sel-a',
        'metadata.name==sel-a',
        'metadata.name!=sel-a,metadata.namespace=default',
        'metadata.namespace=default,metadata.name=sel-b',
        'metadata.namespace=elsewhere',
      ]) {
        await api.quietlyNoted(selector, {
          method: 'GET',
          path: `${ALL_SECRETS}?labelSelector=sel&fieldSelector=${encodeURIComponent(selector)}`,
          show: names,
        });
      }
      for (const selector of [
        'spec.displayName=x',
        'metadata.labels=x',
        'metadata.name',
        'a=b=c',
        'status=',
      ]) {
        await api.get(`${TEAMS}?fieldSelector=${encodeURIComponent(selector)}`);
      }
      await api.get(`${TEAMS}?fieldSelector=metadata.namespace%3Ddefault`);
    },
  },
  {
    name: 'declared fields can be selected',
    run: async (api) => {
      const keys = '/apis/management.gitplane.dev/v1/ownedaccesskeys';
      for (const [name, user] of [
        ['key-a', 'ada'],
        ['key-b', 'bob'],
      ] as const) {
        await api.quietly('POST', keys, {
          apiVersion: 'management.gitplane.dev/v1',
          kind: 'OwnedAccessKey',
          metadata: { name },
          spec: { user },
        });
      }
      for (const selector of [
        'spec.user=ada',
        'spec.user!=ada,metadata.name=key-b',
        'spec.user=eve',
      ]) {
        await api.quietlyNoted(selector, {
          method: 'GET',
          path: `${keys}?fieldSelector=${encodeURIComponent(selector)}`,
          show: names,
        });
      }
      await api.get(`${keys}?fieldSelector=spec.disabled%3Dtrue`);
    },
  },
];

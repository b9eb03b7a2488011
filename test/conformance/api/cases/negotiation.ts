/** Which forms bodies and answers may have (Kubernetes API, section 2.2). */
import { type Case, SECRETS, TEAMS, team } from '../case.ts';

const ONE = `${TEAMS}/negotiated`;
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export const NEGOTIATION: readonly Case[] = [
  {
    name: 'an answer has the first form that the client accepts',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('negotiated'));
      for (const accept of [
        '*/*',
        'application/*',
        'application/json',
        'application/json; charset=utf-8',
        'application/xml,application/json;q=0.5',
        'application/json;q=0.2,text/html,*/*;q=0.1',
        'text/html',
        'application/json;q=0',
        'application/xml',
        'application/json;as=Nothing;g=meta.k8s.io;v=v1',
        'application/json;as=Nothing;g=meta.k8s.io;v=v1,application/json',
        'application/json;as=Table;v=v7;g=meta.k8s.io',
      ]) {
        await api.get(ONE, { accept });
      }
    },
  },
  {
    name: 'a client that takes YAML gets YAML',
    run: async (api) => {
      for (const path of [ONE, `${TEAMS}/nobody`]) {
        await api.code({ method: 'GET', path, accept: 'application/yaml' });
      }
    },
  },
  {
    name: 'tables and partial metadata come where they are asked for',
    run: async (api) => {
      const only = `${TEAMS}?fieldSelector=metadata.name%3Dnegotiated`;
      for (const version of ['v1', 'v1beta1']) {
        await api.get(ONE, { accept: PARTIAL.replace('v=v1', `v=${version}`) });
        await api.get(only, { accept: PARTIAL_LIST.replace('v=v1', `v=${version}`) });
      }
      await api.get(only, { accept: PARTIAL });
      await api.get(ONE, { accept: PARTIAL_LIST });
      await api.get(`${TEAMS}/nobody`, { accept: PARTIAL });
      await api.get(`${TEAMS}/nobody`, { accept: TABLE });
      await api.merge(ONE, { metadata: { labels: { a: 'b' } } }, { accept: PARTIAL });
    },
  },
  {
    name: 'a table has a row an object, with as much of it as is asked for',
    run: async (api) => {
      await api.quietly('POST', SECRETS, {
        metadata: { name: 'tabled' },
        apiVersion: 'management.gitplane.dev/v1',
        kind: 'SharedSecret',
        spec: { displayName: 'Shown' },
      });
      const list = `${SECRETS}?fieldSelector=metadata.name%3Dtabled`;
      for (const include of ['', '&includeObject=None', '&includeObject=Object']) {
        const table = await api.quietlyAs(`${list}${include}`, TABLE);
        const names = table.columnDefinitions.map(({ name }: { name: string }) => name);
        const cell = (name: string): unknown => table.rows[0].cells[names.indexOf(name)];
        api.note(`table${include}`, {
          code: 200,
          body: {
            kind: table.kind,
            apiVersion: table.apiVersion,
            first: { ...table.columnDefinitions[0], description: '' },
            cells: [cell('Name'), cell('Display Name'), /^\d+s$/.test(String(cell('Age')))],
            object: Object.keys(table.rows[0].object ?? {}),
            of: table.rows[0].object?.kind ?? null,
          },
        });
      }
      await api.get(`${list}&includeObject=Everything`, { accept: TABLE });
    },
  },
  {
    name: 'a body of another media type is refused',
    run: async (api) => {
      for (const type of ['text/plain', 'application/xml', 'application/merge-patch+json']) {
        await api.post(TEAMS, JSON.stringify(team('typed')), { type });
      }
      await api.post(`${TEAMS}?dryRun=All`, JSON.stringify(team('typed')), {
        type: 'application/json; charset=utf-8',
      });
      await api.post(`${TEAMS}?dryRun=All`, JSON.stringify(team('typed')), { type: null });
      for (const type of ['application/json', 'application/octet-stream', null]) {
        await api.ask({ method: 'PATCH', path: ONE, body: '{}', type });
      }
      const strategic = 'application/strategic-merge-patch+json';
      await api.code({ method: 'PATCH', path: ONE, body: '{}', type: strategic });
    },
  },
  {
    name: 'a YAML body is read as JSON is',
    run: async (api) => {
      const type = 'application/yaml';
      const head =
        'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: written}\n';
      const path = `${TEAMS}?dryRun=All&fieldValidation=Warn`;
      await api.post(path, `${head}spec: {displayName: 2026-01-02T03:04:05Z}\n`, { type });
      await api.post(path, `${head}spec: {displayName: "yes", users: [a, b]}\n`, { type });
      await api.post(path, `${head}spec: {displayName: yes}\n`, { type });
      await api.post(path, `${head}spec: {displayName: &x text, description: *x}\n`, { type });
      await api.post(path, `${head}spec: {displayName: a}\nspec: {displayName: b}\n`, { type });
      await api.code({ method: 'POST', path, body: `${head}spec: {displayName: [\n`, type });
    },
  },
  {
    name: 'a body that is no object is refused',
    run: async (api) => {
      for (const body of ['[]', '"text"', '1', 'null', '{', '']) {
        await api.code({ method: 'POST', path: TEAMS, body, type: 'application/json' });
      }
      await api.post(TEAMS, { ...team('odd'), metadata: [] });
      await api.post(TEAMS, { ...team('odd'), metadata: { name: 'odd', labels: ['a'] } });
      await api.post(TEAMS, { ...team('odd'), metadata: { name: 'odd', labels: { a: 1 } } });
      await api.post(TEAMS, { ...team('odd'), metadata: { name: 1 } });
      await api.post(TEAMS, { ...team('odd'), metadata: { name: 'odd', generation: 'x' } });
    },
  },
  {
    name: 'pretty indents',
    run: async (api) => {
      const lines = async (path: string, agent: string): Promise<void> => {
        const headers = { 'user-agent': agent };
        const text = await api.text({ method: 'GET', path, headers });
        api.note(`GET ${path} by ${agent}`, { code: 200, body: text.startsWith('{\n  "') });
      };
      for (const query of ['', '?pretty=true', '?pretty=1', '?pretty=false']) {
        await lines(`${ONE}${query}`, 'kubectl/v1.32');
        await lines(`${ONE}${query}`, 'curl/8.0');
      }
    },
  },
];

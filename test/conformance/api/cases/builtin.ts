/** Kinds that Kubernetes has itself, where they differ from custom resources, and what is no object. */
import { APPLY, type Api, type Case, JSON_PATCH, MERGE, TEAMS, team } from '../case.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ROLES = `${RBAC}/namespaces/default/roles`;
const BINDINGS = `${RBAC}/clusterrolebindings`;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const RELEASES = '/api/v1/namespaces/default/secrets';
const ACCESS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const TOKENS = '/apis/authentication.k8s.io/v1/tokenreviews';

const role = (name: string, rest: object = {}): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name },
  ...rest,
});

const configMap = (name: string, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...rest,
});

/** What of an object is its own, and who manages it. */
// biome-ignore lint/suspicious/noExplicitAny: objects of several kinds
function ownOf({ apiVersion: _version, metadata, ...rest }: any): unknown {
  const { fieldsV1 } = metadata.managedFields?.[0] ?? {};
  return { ...rest, fields: fieldsV1 ?? null };
}

const codes = async (api: Api, method: string, paths: readonly string[]): Promise<void> => {
  for (const path of paths) await api.code({ method, path });
};

export const BUILTIN: readonly Case[] = [
  {
    name: 'a role without rules has null',
    run: async (api) => {
      for (const [name, rest] of Object.entries({
        'rules-absent': {},
        'rules-empty': { rules: [] },
        'rules-null': { rules: null },
      })) {
        const path = `${ROLES}/${name}`;
        const made = { method: 'POST', path: ROLES, body: role(name, rest), show: ownOf };
        await api.quietlyNoted(`POST ${name}`, made);
        await api.quietlyNoted(`GET ${name}`, { method: 'GET', path, show: ownOf });
      }
    },
  },
  {
    name: 'empty maps and lists of kinds with types of Go are absent',
    run: async (api) => {
      const group = 'rbac.authorization.k8s.io';
      const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'none' };
      const binding = {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'hollow' },
        roleRef,
        subjects: [],
      };
      await api.quietlyNoted('POST binding', {
        ...{ method: 'POST', path: BINDINGS, body: binding, show: ownOf },
      });
      const body = configMap('hollow', { data: {}, binaryData: {} });
      await api.quietlyNoted('POST map', { method: 'POST', path: CONFIG_MAPS, body, show: ownOf });
    },
  },
  {
    name: 'a put makes no config map and no secret',
    run: async (api) => {
      await api.put(`${CONFIG_MAPS}/put`, configMap('put'));
      const secret = { ...configMap('put'), kind: 'Secret', type: 'helm.sh/release.v1' };
      await api.put(`${RELEASES}/put`, secret);
    },
  },
  {
    name: 'a body is of its kind, and says so with texts',
    run: async (api) => {
      await api.code({ method: 'POST', path: ROLES, body: { ...role('typed'), kind: 'Squad' } });
      await api.code({ method: 'POST', path: ROLES, body: { ...role('typed'), kind: 1 } });
      await api.code({ method: 'POST', path: TEAMS, body: { ...team('typed'), kind: 1 } });
      await api.code({ method: 'POST', path: TEAMS, body: { ...team('typed'), apiVersion: [] } });
      for (const empty of [{ kind: '' }, { apiVersion: '' }]) {
        const path = `${ROLES}?dryRun=All`;
        await api.code({ method: 'POST', path, body: { ...role('typed'), ...empty } });
      }
    },
  },
  {
    name: 'metadata is a map, and its name a text',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('meta-map'));
      const path = `${TEAMS}/meta-map?dryRun=All`;
      await api.code({ method: 'PATCH', path, body: { metadata: 1 }, type: MERGE });
      const copied = [{ op: 'copy', from: '/metadata/uid', path: '/metadata/labels' }];
      await api.code({ method: 'PATCH', path, body: copied, type: JSON_PATCH });
      const moved = [{ op: 'copy', from: '/spec', path: '/metadata/name' }];
      await api.code({ method: 'PATCH', path, body: moved, type: JSON_PATCH });
      const put = { ...team('meta-map'), metadata: { name: null } };
      await api.code({ method: 'PUT', path, body: put });
    },
  },
  {
    name: 'an apply that makes something has its name',
    run: async (api) => {
      for (const [path, { metadata: _named, ...body }] of [
        [`${TEAMS}/nameless?fieldManager=a`, team('nameless') as { metadata: object }],
        [`${ROLES}/nameless?fieldManager=a`, role('nameless') as { metadata: object }],
      ] as const) {
        await api.code({ method: 'PATCH', path, body, type: APPLY });
        await api.code({ method: 'GET', path: path.split('?')[0] ?? '' });
      }
    },
  },
  {
    name: 'a create may name the version 0',
    run: async (api) => {
      for (const resourceVersion of ['0', '7']) {
        const body = team(`version-${resourceVersion}`, {}, { resourceVersion });
        await api.code({ method: 'POST', path: TEAMS, body });
      }
    },
  },
  {
    name: 'reviews are read into types of Go',
    run: async (api) => {
      await api.code({ method: 'POST', path: TOKENS, body: { spec: { token: 1 } } });
      const spec = { user: 'ada', nonResourceAttributes: { verb: 'get', path: '/x' } };
      await api.code({ method: 'POST', path: ACCESS, body: { spec } });
      await api.code({ method: 'POST', path: ACCESS, body: { spec: { ...spec, user: 1 } } });
      const labelled = { metadata: { labels: { a: 'b' } }, spec };
      await api.code({ method: 'POST', path: ACCESS, body: labelled });
    },
  },
  {
    name: 'kinds without a namespace can be selected by none',
    run: (api) =>
      codes(api, 'GET', [
        `${BINDINGS}?fieldSelector=metadata.namespace%3Dx`,
        `${TEAMS}?fieldSelector=metadata.namespace%3Dx`,
      ]),
  },
  {
    name: 'documents are changed by nobody',
    run: async (api) => {
      const paths = ['/api/v1', '/apis/coordination.k8s.io/v1', '/version'];
      for (const method of ['POST', 'PUT', 'DELETE']) await codes(api, method, paths);
      await codes(api, 'GET', paths);
    },
  },
  {
    name: 'verbs of discovery are in order',
    run: async (api) => {
      for (const path of ['/apis/coordination.k8s.io/v1', RBAC]) {
        await api.quietlyNoted(`GET ${path}`, {
          ...{ method: 'GET', path },
          show: ({ resources }) =>
            resources
              .filter(({ name }: { name: string }) => /^(leases|roles)$/.test(name))
              .map(({ verbs }: { verbs: readonly string[] }) => verbs),
        });
      }
    },
  },
];

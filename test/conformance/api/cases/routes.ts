/** Paths and methods (Kubernetes API, section 2.1), discovery and who is asked (1.1, 2.19). */
import { API_VERSION, type Case, SECRETS, TEAMS, team, USERS } from '../case.ts';

const KINDS = ['teams', 'users', 'sharedsecrets', 'projectsecrets'];
const BASE = `/apis/${API_VERSION}`;

export const ROUTES: readonly Case[] = [
  {
    name: 'what is not there is not found',
    run: async (api) => {
      await api.get(`${TEAMS}/nobody`);
      await api.delete(`${TEAMS}/nobody`);
      await api.merge(`${TEAMS}/nobody`, {});
      await api.put(`${TEAMS}/nobody`, team('nobody', {}, { resourceVersion: '1' }));
      await api.get(`${BASE}/nothings`);
      await api.get(`${BASE}/nothings/x`);
      await api.get(`${TEAMS}/x/nothing`);
      await api.get('/apis/nothing.example.com/v1/things');
      await api.get(`/apis/management.gitplane.dev/v7/teams`);
      await api.get('/apis/nothing.example.com');
    },
  },
  {
    name: 'a namespace stands where the kind has one, and nowhere else',
    run: async (api) => {
      await api.get(`${BASE}/namespaces/default/teams`);
      await api.get(`${BASE}/namespaces/default/teams/x`);
      await api.get(`${BASE}/sharedsecrets/x`);
      await api.post(`${BASE}/sharedsecrets`, {});
      await api.delete(`${BASE}/sharedsecrets/x`);
      await api.code({ method: 'GET', path: `${BASE}/sharedsecrets` });
    },
  },
  {
    name: 'methods that a path does not have are not allowed',
    run: async (api) => {
      await api.post(`${TEAMS}/x`, team('x'));
      await api.put(TEAMS, team('x'));
      await api.ask({
        method: 'PATCH',
        path: TEAMS,
        body: '{}',
        type: 'application/merge-patch+json',
      });
      await api.post(`${SECRETS}/x`, {});
      await api.put(SECRETS, {});
      await api.delete(`${TEAMS}/x/status`);
      await api.post(`${TEAMS}/x/status`, {});
    },
  },
  {
    name: 'HEAD is as GET without the body',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('headed'));
      await api.code({ method: 'HEAD', path: `${TEAMS}/headed` });
      await api.code({ method: 'HEAD', path: `${TEAMS}/nobody` });
      await api.code({ method: 'HEAD', path: TEAMS });
    },
  },
  {
    name: 'nobody is let in without a key',
    run: async (api) => {
      await api.get(TEAMS, { token: 'wrong' });
      await api.post(TEAMS, team('x'), { token: 'wrong' });
      await api.get('/version', { token: 'wrong' });
    },
  },
  {
    name: 'a resource is discovered as it is served',
    run: async (api) => {
      const { resources } = await api.quietly('GET', BASE);
      for (const kind of KINDS) {
        const found = resources.find(({ name }: { name: string }) => name === kind);
        const { storageVersionHash: _hash, ...resource } = found;
        api.note(kind, { code: 200, body: resource });
        const status = resources.find(({ name }: { name: string }) => name === `${kind}/status`);
        api.note(`${kind}/status`, { code: 200, body: status ?? null });
      }
    },
  },
  {
    name: 'a resource is discovered in aggregated form as well',
    run: async (api) => {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      const found = await api.quietlyAs('/apis', accept);
      const group = found.items.find(
        ({ metadata }: { metadata: { name: string } }) =>
          metadata.name === 'management.gitplane.dev',
      );
      const [version] = group.versions;
      const { resources: _resources, ...rest } = version;
      api.note('version', { code: 200, body: { ...rest, metadata: group.metadata.name } });
      for (const kind of KINDS) {
        const resource = version.resources.find(
          ({ resource: name }: { resource: string }) => name === kind,
        );
        const status = resource.subresources?.filter(
          ({ subresource }: { subresource: string }) => subresource === 'status',
        );
        api.note(kind, { code: 200, body: { ...resource, subresources: status } });
      }
      const types = await api.contentTypes(['/api', '/apis'], accept);
      api.note('content types', { code: 200, body: types });
    },
  },
  {
    name: 'a group is discovered in the old form',
    run: async (api) => {
      await api.get('/apis/management.gitplane.dev');
      const { groups, kind, apiVersion } = await api.quietly('GET', '/apis');
      const group = groups.find(({ name }: { name: string }) => name === 'management.gitplane.dev');
      api.note('GET /apis', { code: 200, body: { kind, apiVersion, group } });
      const { versions, kind: core } = await api.quietly('GET', '/api');
      api.note('GET /api', { code: 200, body: { kind: core, versions } });
    },
  },
  {
    name: 'the schema says what clients need to know',
    run: async (api) => {
      const { paths } = await api.quietly('GET', '/openapi/v3');
      const url: string = paths[`apis/${API_VERSION}`].serverRelativeURL;
      const found = await api.quietly('GET', url.slice(url.indexOf('/openapi')));
      const gvk = 'x-kubernetes-group-version-kind';
      const schemas: Record<string, Record<string, unknown>> = found.components.schemas;
      const [name, schema] = Object.entries(schemas).find(([, one]) =>
        (one[gvk] as { kind: string }[] | undefined)?.some(({ kind }) => kind === 'Team'),
      ) ?? ['', {}];
      const path = found.paths[`${TEAMS}/{name}`] as Record<string, Record<string, unknown>>;
      const patch = path['patch'] ?? {};
      api.note('openapi', {
        code: 200,
        body: {
          name,
          gvk: schema[gvk],
          methods: Object.keys(path)
            .filter((key) => key !== 'parameters')
            .sort(),
          patch: {
            gvk: patch[gvk],
            action: patch['x-kubernetes-action'],
            types: Object.keys((patch['requestBody'] as { content: object }).content)
              .filter((type) => !type.includes('cbor'))
              .sort(),
            fieldValidation: (patch['parameters'] as { name: string; in: string }[])
              .filter((one) => one.name === 'fieldValidation')
              .map((one) => one.in),
          },
        },
      });
    },
  },
  {
    name: 'questions about oneself are answered',
    run: async (api) => {
      const review = (group: string, kind: string, spec?: object): Promise<unknown> =>
        api.code({
          method: 'POST',
          path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
          body: { apiVersion: `${group}/v1`, kind, ...(spec === undefined ? {} : { spec }) },
        });
      const access = 'authorization.k8s.io';
      const resourceAttributes = {
        verb: 'get',
        resource: 'teams',
        group: 'management.gitplane.dev',
      };
      await review(access, 'SelfSubjectAccessReview', { resourceAttributes });
      await review(access, 'SelfSubjectAccessReview', {});
      await review(access, 'SelfSubjectRulesReview', { namespace: 'default' });
      await review(access, 'SelfSubjectRulesReview', {});
      await review(access, 'SubjectAccessReview', { resourceAttributes, user: 'ada' });
      await review(access, 'SubjectAccessReview', { resourceAttributes });
      await review('authentication.k8s.io', 'SelfSubjectReview');
      await review('authentication.k8s.io', 'TokenReview', { token: 'wrong' });
      const local = `/apis/${access}/v1/namespaces/default/localsubjectaccessreviews`;
      for (const namespace of ['default', 'other']) {
        await api.code({
          method: 'POST',
          path: local,
          body: {
            apiVersion: `${access}/v1`,
            kind: 'LocalSubjectAccessReview',
            metadata: { namespace: 'default' },
            spec: { user: 'ada', resourceAttributes: { ...resourceAttributes, namespace } },
          },
        });
      }
      await api.get(`/apis/${access}/v1/selfsubjectaccessreviews`);
    },
  },
  {
    name: 'an unused kind is empty',
    run: async (api) => {
      await api.get(`${USERS}?labelSelector=nobody-has-this`);
    },
  },
];

/** Leases: locks of clients (Kubernetes' `coordination.k8s.io/v1`). */
import { type Api, type Case, MERGE } from '../case.ts';

const GROUP = '/apis/coordination.k8s.io/v1';
const LEASES = `${GROUP}/namespaces/default/leases`;
const STRATEGIC = 'application/strategic-merge-patch+json';
const RENEWED = '2026-11-22T08:00:00.123456Z';
const STRANGER = '00000000-0000-4000-8000-000000000000';

function lease(name: string, spec: object = { holderIdentity: 'one' }, meta: object = {}): object {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...meta },
    spec,
  };
}

interface Listed {
  readonly items: readonly { readonly spec: unknown }[];
}

/** Items of lists of custom resources say their kind as well. */
const specsOf = ({ items }: Listed): unknown => items.map(({ spec }) => spec);

interface Shown {
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

/** Without the age, which nobody can know. */
const cellsOf = ({ columnDefinitions, rows }: Shown): unknown => [
  columnDefinitions.map(({ name }) => name),
  rows.map(({ cells }) => cells.slice(0, 2)),
];

const made = (api: Api, name: string): ReturnType<Api['quietly']> =>
  api.quietly('POST', LEASES, lease(name));

export const LEASE_CASES: readonly Case[] = [
  {
    name: 'leases are discovered',
    run: async (api) => {
      await api.quietlyNoted('GET the resource', {
        method: 'GET',
        path: GROUP,
        show: ({ resources }) => {
          const found = resources.find(({ name }: { name: string }) => name === 'leases');
          const { storageVersionHash: _own, ...rest } = found;
          return { ...rest, verbs: rest.verbs.toSorted() };
        },
      });
    },
  },
  {
    name: 'a lease is made, read, listed, shown as a table and removed',
    run: async (api) => {
      const times = { acquireTime: RENEWED, renewTime: RENEWED };
      const spec = { holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 };
      const meta = { labels: { made: 'first' } };
      await api.post(LEASES, lease('first', { ...spec, ...times }, meta));
      await api.post(LEASES, lease('first'));
      await api.get(`${LEASES}/first`);
      const path = `${GROUP}/leases?labelSelector=made%3Dfirst`;
      await api.quietlyNoted('GET a list', { method: 'GET', path, show: specsOf });
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = { method: 'GET', path: `${LEASES}/first`, accept, show: cellsOf };
      await api.quietlyNoted('GET a table', table);
      await api.delete(`${LEASES}/first`);
      await api.get(`${LEASES}/first`);
    },
  },
  {
    name: 'a lease is taken at a version, or not at all',
    run: async (api) => {
      const { metadata } = await made(api, 'taken');
      const { resourceVersion, uid } = metadata;
      const path = `${LEASES}/taken`;
      const two = { holderIdentity: 'two' };
      await api.put(path, lease('taken', two));
      await api.put(path, lease('taken', two, { resourceVersion, uid: STRANGER }));
      await api.put(path, lease('taken', two, { resourceVersion, uid }));
      await api.put(path, lease('taken', { holderIdentity: 'three' }, { resourceVersion }));
      await api.put(path, lease('other', two, { resourceVersion }));
      await api.get(path);
    },
  },
  {
    name: 'patches of every type change a lease',
    run: async (api) => {
      await made(api, 'patched');
      const path = `${LEASES}/patched`;
      await api.merge(path, { spec: { leaseTransitions: 1 } });
      await api.json(path, [
        { op: 'test', path: '/spec/holderIdentity', value: 'one' },
        { op: 'replace', path: '/spec/holderIdentity', value: '' },
      ]);
      const body = { metadata: { labels: { a: 'b' } }, spec: { leaseTransitions: null } };
      await api.ask({ method: 'PATCH', path, body, type: STRATEGIC });
      const stale = { metadata: { resourceVersion: '1' }, spec: { holderIdentity: 'two' } };
      await api.merge(path, stale);
      await api.merge(`${LEASES}/nobody`, { spec: { holderIdentity: 'two' } });
    },
  },
  {
    name: 'a lease is applied by two, who agree or do not',
    run: async (api) => {
      const path = `${LEASES}/applied?fieldManager=`;
      await api.apply(`${path}one`, lease('applied', { holderIdentity: 'one' }));
      await api.apply(`${path}two`, lease('applied', { leaseDurationSeconds: 5 }));
      await api.apply(`${path}two`, lease('applied', { holderIdentity: 'two' }));
      await api.apply(`${path}two&force=true`, lease('applied', { holderIdentity: 'two' }));
    },
  },
  {
    name: 'what a lease cannot say',
    run: async (api) => {
      for (const spec of [
        { leaseDurationSeconds: 0 },
        { leaseDurationSeconds: -1, leaseTransitions: -1 },
        {},
      ]) {
        await api.post(`${LEASES}?dryRun=All`, lease('said', spec));
      }
      // Who owns what nobody keeps is nobody's concern.
      for (const spec of [
        { strategy: 'OldestEmulationVersion', preferredHolder: 'one', holderIdentity: 'one' },
        { preferredHolder: 'one' },
      ]) {
        await api.quietlyNoted(`POST ${Object.keys(spec)}`, {
          ...{ method: 'POST', path: `${LEASES}?dryRun=All`, body: lease('said', spec) },
          show: (body) => body.spec,
        });
      }
      const strict = `${LEASES}?dryRun=All&fieldValidation=Strict`;
      await api.post(strict, lease('said', { holder: 'one' }));
      await api.post(strict, { ...lease('Said It') });
      for (const spec of [{ leaseDurationSeconds: 'x' }, { renewTime: 'now' }]) {
        await api.code({ method: 'POST', path: LEASES, body: lease('said', spec) });
      }
    },
  },
  {
    name: 'a put makes a lease that is not there',
    run: async (api) => {
      await api.put(`${LEASES}/put`, lease('put'));
      await api.put(`${LEASES}/put-late`, lease('put-late', {}, { resourceVersion: '12' }));
      await api.put(`${LEASES}/put-other`, lease('another'));
      await api.put(`${LEASES}/put-dry?dryRun=All`, lease('put-dry'));
      await api.get(`${LEASES}/put-dry`);
    },
  },
  {
    name: 'a lease is held by its finalizers, and removed on conditions',
    run: async (api) => {
      const path = `${LEASES}/held`;
      const { metadata } = await api.quietly(
        'POST',
        LEASES,
        lease('held', {}, { finalizers: ['example.com/hold'] }),
      );
      await api.delete(path, { preconditions: { uid: STRANGER } });
      await api.delete(path, { preconditions: { uid: metadata.uid } });
      await api.merge(path, { metadata: { finalizers: [] } });
      await api.get(path);
    },
  },
  {
    name: 'a watch sees a lease come, renewed and gone',
    run: async (api) => {
      const { metadata } = await api.quietly('GET', LEASES);
      const watch = `${LEASES}?watch=true&fieldSelector=metadata.name%3Dwatched`;
      await api.watch(`${watch}&resourceVersion=${metadata.resourceVersion}`, {
        events: 3,
        during: async () => {
          await made(api, 'watched');
          const renewed = { spec: { renewTime: RENEWED } };
          await api.quietly('PATCH', `${LEASES}/watched`, renewed, MERGE);
          await api.quietly('DELETE', `${LEASES}/watched`);
        },
        show: ({ type, object }) => ({ type, spec: object.spec }),
      });
    },
  },
  {
    name: 'leases of a selector are removed together',
    run: async (api) => {
      for (const name of ['many-1', 'many-2']) {
        await api.quietly('POST', LEASES, lease(name, {}, { labels: { made: 'many' } }));
      }
      const path = `${LEASES}?labelSelector=made%3Dmany`;
      await api.quietlyNoted('DELETE them', { method: 'DELETE', path, show: specsOf });
      await api.quietlyNoted('GET them', { method: 'GET', path, show: specsOf });
    },
  },
];

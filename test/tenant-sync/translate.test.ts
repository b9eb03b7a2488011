import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';
import { sourceOf } from '../../src/tenant-sync/managed-annotations.ts';
import { notSynced, translateEndpoints, withMarks } from '../../src/tenant-sync/translate.ts';

const tenant: TenantCluster = {
  name: 'my-vcluster',
  namespace: 'vc-ns',
  config: {},
  mode: 'single',
  referenceNames: 'short',
};

const endpoints: KubeObject = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: {
    name: 'nginx',
    namespace: 'default',
    uid: 'u1',
    resourceVersion: '7',
    generation: 3,
    finalizers: ['x/y'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'nginx', uid: 'u2' }],
    labels: { app: 'web', release: 'r1' },
    annotations: {
      team: 'a',
      'control-plane.alpha.kubernetes.io/leader': '{}',
      'gitplane.dev/object-name': 'from another sync',
    },
  },
  subsets: [
    {
      addresses: [
        {
          ip: '10.0.0.1',
          nodeName: 'n1',
          targetRef: {
            kind: 'Pod',
            name: 'p',
            namespace: 'default',
            uid: 'u',
            resourceVersion: '1',
          },
        },
        { ip: '10.0.0.2', targetRef: { kind: 'Node', name: 'n', uid: 'keep' } },
      ],
      notReadyAddresses: [
        { ip: '10.0.0.3', targetRef: { kind: 'Pod', name: 'q', namespace: 'b' } },
      ],
      ports: [{ port: 80 }],
    },
  ],
};

describe('Endpoints', () => {
  test('become those of the control-plane cluster', () => {
    const before = JSON.stringify(endpoints);

    expect(translateEndpoints(endpoints, tenant)).toEqual({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name: 'nginx-x-default-x-my-vcluster',
        namespace: 'vc-ns',
        labels: {
          app: 'web',
          'gitplane.dev/label-my-vcluster-x-a4d451ec23': 'r1',
          'gitplane.dev/managed-by': 'my-vcluster',
          'gitplane.dev/namespace': 'default',
        },
        annotations: {
          team: 'a',
          'gitplane.dev/object-name': 'nginx',
          'gitplane.dev/object-namespace': 'default',
          'gitplane.dev/object-uid': 'u1',
          'gitplane.dev/object-kind': '/v1, Kind=Endpoints',
          'gitplane.dev/object-host-name': 'nginx-x-default-x-my-vcluster',
          'gitplane.dev/object-host-namespace': 'vc-ns',
          'gitplane.dev/managed-annotations': 'team',
        },
      },
      subsets: [
        {
          addresses: [
            {
              ip: '10.0.0.1',
              nodeName: 'n1',
              targetRef: { kind: 'Pod', name: 'p-x-default-x-my-vcluster', namespace: 'vc-ns' },
            },
            { ip: '10.0.0.2', targetRef: { kind: 'Node', name: 'n', uid: 'keep' } },
          ],
          notReadyAddresses: [
            {
              ip: '10.0.0.3',
              targetRef: { kind: 'Pod', name: 'q-x-b-x-my-vcluster', namespace: 'vc-ns' },
            },
          ],
          ports: [{ port: 80 }],
        },
      ],
    });
    expect(JSON.stringify(endpoints)).toBe(before);
  });

  test('keep their marks and their name, whatever patches did', () => {
    const patched = translateEndpoints(endpoints, tenant);
    patched.metadata = { name: 'stolen', namespace: 'kube-system', labels: { a: 'b' } };
    const marked = withMarks(patched as unknown as JsonObject, endpoints, tenant);

    expect(marked.metadata).toMatchObject({
      name: 'nginx-x-default-x-my-vcluster',
      namespace: 'vc-ns',
      labels: { a: 'b', 'gitplane.dev/managed-by': 'my-vcluster' },
    });
    expect(sourceOf(marked, 'my-vcluster')).toEqual({ namespace: 'default', name: 'nginx' });
    expect(sourceOf(marked, 'another')).toBeUndefined();
  });
});

function service(selector?: object): KubeObject {
  const spec = (selector === undefined ? {} : { selector }) as JsonObject;
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'nginx' }, spec };
}

describe('are synced or not', () => {
  const name = { namespace: 'default', name: 'nginx' };
  const ending = {
    ...endpoints,
    metadata: { ...endpoints.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };

  test.each([
    ['a Service without a selector', name, endpoints, service(), undefined],
    ['an empty selector', name, endpoints, service({}), undefined],
    ['a selector', name, endpoints, service({ app: 'web' }), 'ServiceHasSelector'],
    ['no Service', name, endpoints, undefined, 'NoService'],
    ['an end', name, ending, service(), 'Terminating'],
    ['the API server', { ...name, name: 'kubernetes' }, endpoints, service(), 'ApiServer'],
    ['its namesake', { namespace: 'x', name: 'kubernetes' }, endpoints, service(), undefined],
  ])('%s', (_what, source, object, of, reason) => {
    expect(notSynced(source, { object, service: of })?.reason).toBe(reason);
  });
});

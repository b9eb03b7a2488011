import { expect, test } from 'vitest';
import { describeFailure } from '../../src/endpoint-patches/report.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';
import { translateServiceDns } from '../../src/endpoint-patches/translate.ts';

const SINGLE: TenantCluster = {
  name: 'vcluster',
  namespace: 'vcluster-ns',
  config: {},
  mode: 'single',
  referenceNames: 'short',
};
const MULTI: TenantCluster = { ...SINGLE, mode: 'multi', namespaces: { default: 'host-default' } };

test.each<[TenantCluster, string, string]>([
  [
    SINGLE,
    'nginx.default.svc.cluster.local',
    'nginx-x-default-x-vcluster.vcluster-ns.svc.cluster.local',
  ],
  [SINGLE, 'nginx.default.svc', 'nginx-x-default-x-vcluster.vcluster-ns.svc'],
  [MULTI, 'nginx.default.svc', 'nginx.host-default.svc'],
  [SINGLE, 'example.com', 'example.com'],
  [SINGLE, 'pod.nginx.default.svc.cluster.local', 'pod.nginx.default.svc.cluster.local'],
  [SINGLE, '', ''],
])('%j calls the service %s %s', (tenant, text, expected) => {
  expect(translateServiceDns(text, tenant)).toBe(expected);
});

test.each([
  [{ reason: 'time' as const, message: 'too long' }, 'patches: too long'],
  [
    { reason: 'exception' as const, message: 'x', patch: 1, line: 2, col: 3, path: 'a.0' },
    'patches[1]:2:3: x (at a.0)',
  ],
])('a failure is one line that editors can follow', (failure, line) => {
  expect(describeFailure(failure)).toBe(line);
});

import { expect, test } from 'vitest';
import { CONFIG_MAP } from '../../src/kinds/kubernetes/config-map.ts';

function keys(prefix: string, count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, '']));
}

function configMap(data: Record<string, string>, binaryData: Record<string, string>) {
  const metadata = { name: 'settings', namespace: 'payments' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data, binaryData };
}

test('keys of data and binaryData are compared once each', () => {
  const start = process.cpuUsage();
  const problems = CONFIG_MAP.validate(configMap(keys('a', 20_000), keys('b', 20_000)), undefined);
  const { user, system } = process.cpuUsage(start);

  expect(problems).toEqual([]);
  expect((user + system) / 1e6).toBeLessThan(3);
});

test('a key in data and binaryData is a problem', () => {
  const problems = CONFIG_MAP.validate(configMap(keys('a', 3), { a1: '', b: '' }), undefined);

  expect(problems.map(({ path }) => path)).toEqual([['data', 'a1']]);
});

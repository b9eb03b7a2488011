/** Service of core/v1. Nothing here runs pods, so nothing fills Endpoints for Services with selectors. */
import { isRecord, type KubeObject, notSupported, valueAt } from '../../apimachinery/index.ts';
import { AGE, textAt, textColumn } from '../columns.ts';
import { defineKind, type Kind } from '../kind.ts';
import { CORE, eachRecord, portProblems } from './core.ts';

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];

export const SERVICE: Kind = defineKind({
  ...CORE,
  kind: 'Service',
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  scope: 'Namespaced',
  schema: 'service',
  columns: [
    textColumn('Type', 'Type of the service.', (object) => textAt(object, ['spec', 'type'])),
    textColumn('Cluster-IP', 'Address of the service.', (object) =>
      textAt(object, ['spec', 'clusterIP']),
    ),
    textColumn('Port(s)', 'Ports of the service.', (object) =>
      portsOf(valueAt(object, ['spec', 'ports'])),
    ),
    AGE,
    { ...textColumn('Selector', 'Labels of the pods behind it.', selectorOf), priority: 1 },
  ],
  setDefaults: (object) => {
    object.spec ??= {};
    object.spec['type'] ??= 'ClusterIP';
    eachRecord(object.spec['ports'], (port) => {
      port['protocol'] ??= 'TCP';
      if (object.spec?.['type'] !== 'ExternalName') port['targetPort'] ??= port['port'];
    });
  },
  validate: (object) => {
    const type = textAt(object, ['spec', 'type']);
    return type === undefined || TYPES.includes(type)
      ? portProblems(valueAt(object, ['spec', 'ports']), ['spec', 'ports'])
      : [notSupported(['spec', 'type'], type, TYPES)];
  },
});

function portsOf(ports: unknown): string | undefined {
  const texts: string[] = [];
  eachRecord(ports, ({ port, protocol = 'TCP' }) => texts.push(`${port}/${protocol}`));
  return texts.length === 0 ? undefined : texts.join(',');
}

function selectorOf(object: KubeObject): string | undefined {
  const selector = valueAt(object, ['spec', 'selector']);
  if (!isRecord(selector)) return undefined;
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/**
 * The core/v1 kinds of clusters that are served here: as much of them as endpoint sync and its
 * users need. Nothing here runs pods, so nothing fills Endpoints for Services with selectors.
 */
import { isIP } from 'node:net';
import {
  dnsLabelProblems,
  type FieldError,
  invalid,
  isRecord,
  type KubeObject,
  notSupported,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { AGE, textAt } from '../columns.ts';
import { defineKind, type Kind, type PrinterColumn } from '../kind.ts';
import { secretPathsOf } from '../schema/schema-files.ts';
import { base64DataProblems } from '../secrets/secret-data.ts';

const CORE = {
  group: '',
  storedIn: 'cluster',
  allowUnconditionalUpdate: true,
  strategicMerge: true,
} as const;

export const NAMESPACE: Kind = defineKind({
  ...CORE,
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  scope: 'Cluster',
  schema: 'namespace',
  nameRule: dnsLabelProblems,
  columns: [
    text('Status', 'Phase of the namespace.', ({ metadata }) =>
      metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating',
    ),
    AGE,
  ],
  deriveStatus: () => ({ phase: 'Active' }),
});

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
    text('Type', 'Type of the service.', (object) => textAt(object, ['spec', 'type'])),
    text('Cluster-IP', 'Address of the service.', (object) =>
      textAt(object, ['spec', 'clusterIP']),
    ),
    text('Port(s)', 'Ports of the service.', (object) =>
      portsOf(valueAt(object, ['spec', 'ports'])),
    ),
    AGE,
    { ...text('Selector', 'Labels of the pods behind it.', selectorOf), priority: 1 },
  ],
  setDefaults: (object) => {
    object.spec ??= {};
    object.spec['type'] ??= 'ClusterIP';
    eachOf(object.spec['ports'], (port) => {
      port['protocol'] ??= 'TCP';
      if (object.spec?.['type'] !== 'ExternalName') port['targetPort'] ??= port['port'];
    });
  },
  validate: (object) => {
    const type = textAt(object, ['spec', 'type']);
    const known = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
    return type === undefined || known.includes(type)
      ? portProblems(valueAt(object, ['spec', 'ports']), ['spec', 'ports'])
      : [notSupported(['spec', 'type'], type, known)];
  },
});

export const ENDPOINTS: Kind = defineKind({
  ...CORE,
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  scope: 'Namespaced',
  schema: 'endpoints',
  columns: [text('Endpoints', 'The first addresses that are ready.', addressesOf), AGE],
  setDefaults: (object) => {
    eachOf(object['subsets'], (subset) =>
      eachOf(subset['ports'], (port) => {
        port['protocol'] ??= 'TCP';
      }),
    );
  },
  validate: (object) => {
    const subsets = valueAt(object, ['subsets']);
    if (!Array.isArray(subsets)) return [];
    return subsets.flatMap((subset, i) => [
      ...(['addresses', 'notReadyAddresses'] as const).flatMap((field) =>
        addressProblems(valueAt(subset, [field]), ['subsets', i, field]),
      ),
      ...portProblems(valueAt(subset, ['ports']), ['subsets', i, 'ports']),
    ]);
  },
});

export const SECRET: Kind = defineKind({
  ...CORE,
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  scope: 'Namespaced',
  schema: 'secret',
  secretPaths: secretPathsOf('secret'),
  columns: [
    text('Type', 'What the secret is for.', (object) => textAt(object, ['type'])),
    {
      name: 'Data',
      type: 'integer',
      description: 'Number of keys in the data.',
      value: (object) => Object.keys((object['data'] as object | undefined) ?? {}).length,
    },
    AGE,
  ],
  canonicalize: (object) => {
    const { stringData, data } = object;
    if (!isRecord(stringData)) return;
    const encoded = Object.entries(stringData).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString('base64'),
    ]);
    object['data'] = { ...(isRecord(data) ? data : {}), ...Object.fromEntries(encoded) };
    delete object['stringData'];
  },
  setDefaults: (object) => {
    object['type'] ??= 'Opaque';
  },
  validate: (object) => base64DataProblems(object, ['data']),
});

export const EVENT: Kind = defineKind({
  ...CORE,
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  scope: 'Namespaced',
  schema: 'event',
  selectableFields: [
    'involvedObject.kind',
    'involvedObject.name',
    'involvedObject.namespace',
    'involvedObject.uid',
    'reason',
    'type',
  ],
  columns: eventColumns({ object: 'involvedObject', message: 'message' }),
});

/** In the order of discovery. */
export const CLUSTER_KINDS: readonly Kind[] = [NAMESPACE, SERVICE, ENDPOINTS, SECRET, EVENT];

/** Cells of events; the two fields are named anew in `events.k8s.io`. */
export function eventColumns(fields: {
  readonly object: string;
  readonly message: string;
}): PrinterColumn[] {
  return [
    text('Type', 'Normal or Warning.', (object) => textAt(object, ['type'])),
    text('Reason', 'What happened, in a word.', (object) => textAt(object, ['reason'])),
    text('Object', 'What it happened to.', (object) => {
      const kind = textAt(object, [fields.object, 'kind'])?.toLowerCase();
      return `${kind}/${textAt(object, [fields.object, 'name'])}`;
    }),
    text('Message', 'What happened.', (object) => textAt(object, [fields.message])),
    AGE,
  ];
}

function text(
  name: string,
  description: string,
  value: (object: KubeObject) => string | undefined,
): PrinterColumn {
  return { name, type: 'string', description, value };
}

function eachOf(list: unknown, each: (item: Record<string, unknown>) => void): void {
  if (Array.isArray(list)) for (const item of list) if (isRecord(item)) each(item);
}

function portsOf(ports: unknown): string | undefined {
  const texts: string[] = [];
  eachOf(ports, ({ port, protocol = 'TCP' }) => texts.push(`${port}/${protocol}`));
  return texts.length === 0 ? undefined : texts.join(',');
}

function selectorOf(object: KubeObject): string | undefined {
  const selector = valueAt(object, ['spec', 'selector']);
  if (!isRecord(selector)) return undefined;
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

const MOST_SHOWN = 3;

function addressesOf(object: KubeObject): string | undefined {
  const texts: string[] = [];
  eachOf(object['subsets'], (subset) => {
    const ports: unknown[] = [];
    eachOf(subset['ports'], ({ port }) => ports.push(port));
    eachOf(subset['addresses'], ({ ip }) => {
      for (const port of ports.length === 0 ? [undefined] : ports) {
        texts.push(port === undefined ? String(ip) : `${ip}:${port}`);
      }
    });
  });
  if (texts.length === 0) return undefined;
  const more = texts.length - MOST_SHOWN;
  return texts.slice(0, MOST_SHOWN).join(',') + (more > 0 ? ` + ${more} more...` : '');
}

function addressProblems(addresses: unknown, path: readonly (string | number)[]): FieldError[] {
  if (!Array.isArray(addresses)) return [];
  return addresses.flatMap((address: unknown, i) => {
    const at = [...path, i, 'ip'];
    const ip = valueAt(address, ['ip']);
    if (typeof ip !== 'string' || ip === '') return [required(at)];
    return isIP(ip) !== 0 ? [] : [invalid(at, ip, 'must be a valid IP address')];
  });
}

function portProblems(ports: unknown, path: readonly (string | number)[]): FieldError[] {
  if (!Array.isArray(ports)) return [];
  return ports.flatMap((entry: unknown, i) => {
    const port = Number(valueAt(entry, ['port']));
    if (port >= 1 && port <= 65_535) return [];
    return [invalid([...path, i, 'port'], port, 'must be between 1 and 65535, inclusive')];
  });
}

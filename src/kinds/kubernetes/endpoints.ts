/** Endpoints of core/v1. Clients write them; the endpoint sync copies them to the control-plane cluster. */
import { isIP } from 'node:net';
import {
  type FieldError,
  invalid,
  type KubeObject,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { AGE, textColumn } from '../columns.ts';
import { defineKind, type Kind } from '../kind.ts';
import { CORE, eachRecord, portProblems } from './core.ts';

export const ENDPOINTS: Kind = defineKind({
  ...CORE,
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  scope: 'Namespaced',
  schema: 'endpoints',
  columns: [textColumn('Endpoints', 'The first addresses that are ready.', addressesOf), AGE],
  setDefaults: (object) => {
    eachRecord(object['subsets'], (subset) =>
      eachRecord(subset['ports'], (port) => {
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

const MOST_SHOWN = 3;

function addressesOf(object: KubeObject): string | undefined {
  const texts: string[] = [];
  eachRecord(object['subsets'], (subset) => {
    const ports: unknown[] = [];
    eachRecord(subset['ports'], ({ port }) => ports.push(port));
    eachRecord(subset['addresses'], ({ ip }) => {
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

/** Records that are made for readers: for long lists as for one object, and not where there is one. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';
import {
  shownBytes,
  shownObject,
  writeShown,
} from '../../../src/registry/projection/object-with-managed-fields.ts';

const kind = buildKindTable('management.gitplane.dev').byPlural('management.gitplane.dev', 'teams');
if (kind === undefined) throw new Error('There are no teams');

function stored(metadata: object, { isInGit = true, first = {} } = {}) {
  const object = {
    ...first,
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'Team',
    metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec: { displayName: 'A' },
  } as unknown as KubeObject;
  const bytes = Buffer.from(JSON.stringify(object));
  return { object, json: () => bytes, provenance: () => (isInGit ? { facts: null } : undefined) };
}

const GITS = [
  {
    manager: 'git',
    operation: 'Update',
    apiVersion: 'management.gitplane.dev/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { '.': {}, 'f:displayName': {} } },
  },
];
const OWN = [{ manager: 'ada', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: {} }];

describe.each<[title: string, ReturnType<typeof stored>, record: unknown]>([
  ['an object of git', stored({}), GITS],
  ['an object with a record', stored({ managedFields: OWN }), OWN],
  ['an object that git does not have', stored({}, { isInGit: false }), undefined],
  [
    'an object whose metadata is not the first that is called so',
    stored({}, { first: { status: { metadata: { x: 1 } } } }),
    GITS,
  ],
  [
    'an object whose text looks like a record',
    stored({ annotations: { a: '"managedFields":[' } }),
    [
      {
        ...GITS[0],
        fieldsV1: {
          'f:metadata': { 'f:annotations': { '.': {}, 'f:a': {} } },
          'f:spec': { '.': {}, 'f:displayName': {} },
        },
      },
    ],
  ],
])('%s', (_title, ready, record) => {
  test('is shown with what there is to say of its managers', () => {
    const bytes = shownBytes(kind, ready);
    const read = JSON.parse(bytes.toString());
    expect(read.metadata.managedFields).toEqual(record);
    expect(read).toEqual(shownObject(kind, ready));
    const { managedFields: _record, ...metadata } = read.metadata;
    const { managedFields: _before, ...before } = ready.object.metadata;
    const { status = {}, ...rest } = read;
    const { conditions, ...others } = status;
    const { status: own = {}, ...object } = ready.object;
    expect({ ...rest, metadata }).toEqual({ ...object, metadata: before });
    expect(others).toEqual(own);
    if (record !== undefined) expect(conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
    else expect(conditions).toBe(undefined);
    // Made once.
    expect(shownBytes(kind, ready)).toBe(bytes);
  });
});

test('bytes of many objects are those of each, more of them than are kept', async () => {
  const text = 'x'.repeat(200_000);
  const items = Array.from({ length: 100 }, (_, at) =>
    stored({ name: `n${at}`, annotations: { text } }),
  );
  const parts: Buffer[] = [];
  await writeShown(kind, items, {
    next: () => parts.push(Buffer.alloc(0)),
    write: (bytes, begin, end) => {
      parts.push(Buffer.concat([parts.pop() ?? bytes, bytes.subarray(begin, end)]));
    },
  });
  expect(parts.map((part) => JSON.parse(part.toString()).metadata.name)).toEqual(
    items.map(({ object }) => object.metadata.name),
  );
  for (const [at, item] of items.entries()) {
    expect(shownBytes(kind, item).equals(parts[at] as Buffer)).toBe(true);
  }
});

const TIME = '2026-01-02T03:04:05Z';
const DEGRADED = { type: 'Degraded', status: 'True', severity: 'Error', lastTransitionTime: TIME };
const DIFFERS = { type: 'Synced', status: 'False', severity: 'Warning', reason: 'GitChanged' };

test.each<[what: string, status: object, ready: object]>([
  ['an empty status', {}, { status: 'True', reason: 'InForce' }],
  ['other fields', { lastActivity: 'x' }, { status: 'True' }],
  ['a field that is called as its own', { nested: { status: {} } }, { status: 'True' }],
  [
    'an invalid manifest',
    { conditions: [DEGRADED] },
    { status: 'False', lastTransitionTime: TIME },
  ],
  ['a difference', { conditions: [DIFFERS] }, { status: 'False', reason: 'GitChanged' }],
  [
    'what is stale',
    { conditions: [{ ...DIFFERS, type: 'Stale', status: 'True' }] },
    { status: 'True' },
  ],
  ['plaintext in git', { conditions: [{ ...DIFFERS, type: 'Sealed' }] }, { status: 'True' }],
])('Ready follows from %s, and is the last condition', (_what, status, ready) => {
  const { object, provenance } = stored({});
  const bytes = Buffer.from(JSON.stringify({ ...object, status }));
  const one = { object: { ...object, status } as KubeObject, json: () => bytes, provenance };
  const read = JSON.parse(shownBytes(kind, one).toString());
  expect(read).toEqual(shownObject(kind, one));
  expect(read.status.conditions.at(-1)).toMatchObject({ type: 'Ready', ...ready });
  expect(
    read.status.conditions.filter(({ type }: { type: string }) => type === 'Ready'),
  ).toHaveLength(1);
});

test('kinds without a status, as roles are, get no condition', () => {
  const role = buildKindTable('g.example').byPlural('rbac.authorization.k8s.io', 'clusterroles');
  if (role === undefined) throw new Error('There are no roles');
  const one = stored({ managedFields: OWN });
  expect(shownBytes(role, one)).toBe(one.json());
  expect(shownObject(role, one)).not.toHaveProperty('status');
});

/** Ways to spoil a good body, each of which clients have been seen to send or could. */
import type { Random } from '../../support/random.ts';
import type { Body, Profile } from './objects.ts';

const STRANGER = '00000000-0000-4000-8000-000000000000';

type Spoil = (body: Body, random: Random, profile: Profile) => unknown;

const meta =
  (field: string, ...values: readonly unknown[]): Spoil =>
  (body, random) => ({ ...body, metadata: { ...body.metadata, [field]: random.pick(values) } });

const top =
  (field: string, ...values: readonly unknown[]): Spoil =>
  (body, random) => ({ ...body, [field]: random.pick(values) });

const owner = (rest: object = {}): object => ({
  apiVersion: 'management.gitplane.dev/v1',
  kind: 'Team',
  name: 'boss',
  uid: STRANGER,
  ...rest,
});

const own = (field: string, value: unknown): object => ({
  manager: 'me',
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { 'f:displayName': {} } },
  [field]: value,
});

/** The body stays an object. */
export const SPOILED_OBJECTS: readonly Spoil[] = [
  top('kind', 'Squad', '', 1, null),
  top('apiVersion', 'v9', 'management.gitplane.dev/v2', '', 1, null, 'a/b/c'),
  top('metadata', 'x', [], null, {}, 1),
  top('unknown', 1, {}),
  (body, random, profile) =>
    top(
      Object.keys(profile.content(random))[0] ?? 'spec',
      'x',
      1,
      [],
      null,
      {},
    )(body, random, profile),
  ({ kind: _kind, ...rest }) => rest,
  ({ apiVersion: _version, ...rest }) => rest,
  ({ kind: _kind, apiVersion: _version, ...rest }) => rest,
  ({ metadata: _metadata, ...rest }) => rest,
  meta('name', 'other', 'Upper', '', 1, null, 'a/b', 'x'.repeat(254)),
  meta('namespace', 'elsewhere', 'default', '', 1),
  meta('uid', STRANGER, '{uid}', 'short', '', 1),
  meta('resourceVersion', '1', '0', 'abc', '', '{version}', 5),
  meta('finalizers', ['example.com/hold'], ['a b'], ['plain'], 'x', [1], [], ['orphan']),
  meta('ownerReferences', [owner()], [owner({ uid: '' })], [owner({ kind: '' })], [{}], 'x', []),
  meta('ownerReferences', [owner({ controller: true }), owner({ uid: '1', controller: true })]),
  meta('ownerReferences', [owner(), owner()], [owner({ controller: 'x' })], [owner({ odd: 1 })]),
  meta('managedFields', [], [{}], 'x', null, [own('manager', 'x')]),
  meta('managedFields', [own('operation', 'Guess')], [own('fieldsType', 'V9')]),
  meta(
    'managedFields',
    [own('fieldsV1', 'x')],
    [own('fieldsV1', { odd: {} })],
    [own('apiVersion', '')],
  ),
  meta('managedFields', [own('manager', 'x'.repeat(129))], [own('time', 'now')]),
  meta('labels', { a: 1 }, 'x', { 'a b': 'c' }, { a: '-x' }, { a: null }, null, [], { a: 'b' }),
  meta('annotations', { a: 1 }, 'x', { 'a b': 'c' }, { a: null }, null, { a: 'ä' }, {}),
  meta('creationTimestamp', '2001-01-01T00:00:00Z', 'yesterday', null, 5),
  meta('deletionTimestamp', '2001-01-01T00:00:00Z', null),
  meta('deletionGracePeriodSeconds', 5, 'x'),
  meta('generation', 50, -1, 'x', 1.5, null),
  meta('generateName', 'generated-', 1, ''),
  meta('selfLink', '/x'),
  meta('unknown', 'x'),
  top('status', {}, 'x', { odd: 1 }, null),
  (body, random, { fields }) =>
    withAt(
      body,
      random.pick(fields).path,
      random.pick([1, 'x', [], {}, null, true, 1.5, [1], [null]]),
    ),
  (body, random, { fields }) => {
    const path = [...random.pick(fields).path];
    path[path.length - 1] = 'unknown';
    return withAt(body, path, random.pick([1, 'x', {}]));
  },
];

/** What a server may take, each in its own way. */
export const ODD_OBJECTS: readonly Spoil[] = [
  meta('labels', { a: null }),
  meta('annotations', { a: null }),
  meta('generation', 50, -1),
  meta('generateName', 'generated-'),
  meta('selfLink', '/x'),
  meta('deletionGracePeriodSeconds', 5),
  meta('managedFields', [own('manager', 'x'.repeat(129))]),
  top('status', {}, 'x'),
];

/** The body is no text of an object. */
export const SPOILED_TEXTS: readonly Spoil[] = [
  (body) => JSON.stringify(body).slice(0, -5),
  (body) => `${JSON.stringify(body)} x`,
  (body) => `${JSON.stringify(body)}{}`,
  (body) => JSON.stringify(body).replace('{', '{"metadata":{"name":"first"},'),
  (body) => JSON.stringify(body).replace('{', '{"kind":"First","kind":"Second",'),
  (body) => JSON.stringify(body).replace('{', "{'a':1,"),
  (body) =>
    JSON.stringify(body).replace('{', '{"deep":'.concat('['.repeat(50), ']'.repeat(50), ',')),
  (body) => JSON.stringify(body).replace('{', '{"big":9007199254740993,'),
  (body) => Buffer.from(JSON.stringify(body).replace('"name":"', '"name":"\u00ff'), 'latin1'),
  () => '',
  () => 'null',
  () => '[]',
  () => '"text"',
  () => '7',
  () => 'a: b',
  () => '{}',
];

export function withAt(body: Body, [field, ...rest]: readonly string[], value: unknown): Body {
  if (field === undefined) return value;
  const inner = typeof body === 'object' && body !== null ? body : {};
  return { ...inner, [field]: withAt(inner[field], rest, value) };
}

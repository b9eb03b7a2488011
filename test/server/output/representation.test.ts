import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { badRequest } from '../../../src/apimachinery/status-error.ts';
import { decodeBody } from '../../../src/server/input/body.ts';
import { bodyOf } from '../../../src/server/output/answer.ts';
import {
  bookmarkObject,
  createEventEncoder,
  errorLine,
  type WatchEventType,
} from '../../../src/server/output/event-lines.ts';
import {
  type AnswerForm,
  encodeDocument,
  encodeList,
  encodeObject,
  readyObject,
} from '../../../src/server/output/representation.ts';
import { toYaml } from '../../../src/server/output/yaml-output.ts';
import { runs } from '../../support/properties.ts';
import { GROUP, kindNamed, NOW, team } from '../sample-objects.ts';

const TEAM = kindNamed('Team');
const ops = readyObject(team('ops'));
const dev = readyObject(team('dev'));
const json: AnswerForm = {
  mediaType: 'application/json',
  transform: undefined,
  pretty: false,
  includeObject: 'Metadata',
  now: NOW,
};
const yaml: AnswerForm = { ...json, mediaType: 'application/yaml' };
const table: AnswerForm = { ...json, transform: { kind: 'Table', version: 'v1' } };
const partial: AnswerForm = {
  ...json,
  transform: { kind: 'PartialObjectMetadata', version: 'v1' },
};
const partialList: AnswerForm = {
  ...json,
  transform: { kind: 'PartialObjectMetadataList', version: 'v1beta1' },
};
const parsed = (body: Buffer): unknown => JSON.parse(body.toString());

describe('the representation of one object', () => {
  test('is the ready bytes themselves as JSON', () => {
    const encoded = encodeObject(TEAM, ops, json);
    expect(encoded.body).toBe(ops.json());
    expect(encoded.contentType).toBe('application/json');
  });

  test('is indented by two spaces and ends its line for people', () => {
    const { body } = encodeObject(TEAM, ops, { ...json, pretty: true });
    expect(body.toString()).toBe(`${JSON.stringify(ops.object, null, 2)}\n`);
  });

  test('is sorted like kubectl -o yaml as YAML', () => {
    const { body, contentType } = encodeObject(TEAM, ops, yaml);
    expect(contentType).toBe('application/yaml');
    expect(body.toString()).toBe(`apiVersion: ${GROUP}/v1
kind: Team
metadata:
  creationTimestamp: "2026-03-01T11:55:30Z"
  labels:
    tier: one
  name: ops
  resourceVersion: "41"
  uid: uid-of-ops
spec:
  displayName: The ops
  users:
    - ada
    - bob
`);
  });

  test('is its metadata on request', () => {
    expect(parsed(encodeObject(TEAM, ops, partial).body)).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: ops.object.metadata,
    });
  });

  test('is a table of one row on request', () => {
    expect(parsed(encodeObject(TEAM, ops, table).body)).toMatchObject({
      kind: 'Table',
      metadata: { resourceVersion: '41' },
      rows: [{ cells: expect.arrayContaining(['ops', '4m30s']) }],
    });
  });
});

describe('a list', () => {
  const metadata = { resourceVersion: '50', continue: 'next', remainingItemCount: 2 };
  const list = { metadata, items: [ops, dev] };
  const whole = {
    kind: 'TeamList',
    apiVersion: `${GROUP}/v1`,
    metadata,
    items: [ops.object, dev.object],
  };

  test('a list as JSON is joined from the ready bytes', () => {
    expect(bodyOf(encodeList(TEAM, list, json)).toString()).toBe(JSON.stringify(whole));
  });

  test('a list of nothing has an empty list of items', () => {
    const empty = { metadata: { resourceVersion: '5' }, items: [] };
    expect(bodyOf(encodeList(TEAM, empty, json)).toString()).toBe(
      `{"kind":"TeamList","apiVersion":"${GROUP}/v1","metadata":{"resourceVersion":"5"},"items":[]}`,
    );
  });

  test('a list of the core group has no group in its version', () => {
    const namespaces = { group: '', version: 'v1', kind: 'Namespace', columns: [] } as const;
    const encoded = encodeList(namespaces, { metadata: {}, items: [] }, json);
    expect(parsed(bodyOf(encoded))).toMatchObject({
      kind: 'NamespaceList',
      apiVersion: 'v1',
    });
  });

  test('a list as indented JSON and as YAML means the same', () => {
    expect(parsed(encodeList(TEAM, list, { ...json, pretty: true }).body)).toEqual(whole);
    expect(decodeBody(encodeList(TEAM, list, yaml).body, 'yaml').value).toEqual(whole);
  });

  test('a list as metadata names the version in the list and in each item', () => {
    expect(parsed(encodeList(TEAM, list, partialList).body)).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1beta1',
      metadata,
      items: [ops, dev].map(({ object }) => ({
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1beta1',
        metadata: object.metadata,
      })),
    });
  });

  test('a list as a table has one row per object', () => {
    expect(parsed(encodeList(TEAM, list, table).body)).toMatchObject({
      kind: 'Table',
      metadata,
      rows: [
        { cells: expect.arrayContaining(['ops']) },
        { cells: expect.arrayContaining(['dev']) },
      ],
    });
  });

  test('any objects joined equal JSON.stringify', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }),
        (specs) => {
          const items = specs.map((spec, i) =>
            readyObject({ ...team(`t${i}`), spec: spec as never }),
          );
          const expected = JSON.stringify({ ...whole, items: items.map(({ object }) => object) });
          // Once more, and with what was kept.
          for (let i = 0; i < 3; i++) {
            const encoded = encodeList(TEAM, { metadata, items }, json);
            expect(bodyOf(encoded).toString()).toBe(expected);
          }
        },
      ),
    );
  });
});

describe('the lines of a watch', () => {
  const lines = (form: AnswerForm, ...events: [WatchEventType, typeof ops][]) => {
    const encode = createEventEncoder(TEAM, form);
    return events.map(([type, object]) => encode(type, object).toString());
  };

  test('hold the ready bytes of the object', () => {
    expect(lines(json, ['ADDED', ops], ['DELETED', dev])).toEqual([
      `{"type":"ADDED","object":${ops.json()}}\n`,
      `{"type":"DELETED","object":${dev.json()}}\n`,
    ]);
  });

  test('the lines of a watch of tables name the columns once per stream', () => {
    const count = (line: string) =>
      (JSON.parse(line) as { object: { columnDefinitions: unknown[] } }).object.columnDefinitions
        .length;
    const [first = '', second = ''] = lines(table, ['ADDED', ops], ['MODIFIED', ops]);
    expect(count(first)).toBeGreaterThan(1);
    expect(count(second)).toBe(0);
    expect(count(lines(table, ['ADDED', ops])[0] ?? '')).toBeGreaterThan(1);
  });

  test('the lines of a watch of metadata contain only metadata', () => {
    expect(JSON.parse(lines(partial, ['ADDED', ops])[0] ?? '')).toEqual({
      type: 'ADDED',
      object: {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: ops.object.metadata,
      },
    });
  });

  test('are shared between watchers when the object is large, and kept apart by type', () => {
    const large = readyObject({ ...team('big'), spec: { description: 'x'.repeat(20_000) } });
    const [one, two] = [createEventEncoder(TEAM, json), createEventEncoder(TEAM, json)];
    expect(one('ADDED', large)).toBe(two('ADDED', large));
    expect(two('MODIFIED', large).toString()).toBe(
      `{"type":"MODIFIED","object":${large.json()}}\n`,
    );
  });

  test.each([
    ['of small objects', json],
    ['of metadata', partial],
  ])('%s are shared in the tick of a change, and not kept after it', async (_name, form) => {
    const [one, two] = [createEventEncoder(TEAM, form), createEventEncoder(TEAM, form)];
    const first = one('ADDED', ops);

    expect(two('ADDED', ops)).toBe(first);
    expect(two('MODIFIED', ops)).not.toEqual(first);
    expect(two('ADDED', dev)).not.toEqual(first);
    await new Promise((done) => setImmediate(done));
    expect(two('ADDED', ops)).not.toBe(first);
    expect(two('ADDED', ops)).toEqual(first);
  });

  test('never hold a line feed but the last', () => {
    const multiline = readyObject({ ...team('lines'), spec: { description: 'a\nb\r\nc' } });
    for (const form of [json, table, partial]) {
      expect(lines(form, ['ADDED', multiline])[0]).toMatch(/^[^\n]*\n$/);
    }
  });

  test('an error carries its Status', () => {
    expect(JSON.parse(errorLine(badRequest('no').toStatus()).toString())).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 400, message: 'no' },
    });
  });

  test.each([
    [true, { 'k8s.io/initial-events-end': 'true' }],
    [false, undefined],
  ])('a bookmark (end of the initial events: %s)', (initialEventsEnd, annotations) => {
    const bookmark = bookmarkObject(TEAM, { resourceVersion: 77, initialEventsEnd });
    expect(bookmark).toMatchObject({ kind: 'Team', apiVersion: `${GROUP}/v1` });
    expect(bookmark.metadata.resourceVersion).toBe('77');
    expect(bookmark.metadata.annotations).toEqual(annotations);
  });
});

test('a Status is encoded in the negotiated type', () => {
  const status = badRequest('no').toStatus();
  expect(parsed(encodeDocument(status, json).body)).toEqual(status);
  const asYaml = encodeDocument(status, yaml);
  expect(asYaml.contentType).toBe('application/yaml');
  expect(decodeBody(asYaml.body, 'yaml').value).toEqual(status);
});

describe('YAML that is written', () => {
  test('reads back as the same value', () => {
    const scalar = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0123456789_.-+exXobABf:<=~ yYnNofus\n#') }),
      fc.constantFrom(
        'yes',
        'No',
        'on',
        'y',
        'null',
        '~',
        '',
        '<<',
        '=',
        '.inf',
        '2001-01-01',
        '0o7',
      ),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => Math.abs(n) < 1e15),
      fc.boolean(),
      fc.constant(null),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        scalar,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const object = JSON.parse(JSON.stringify({ value })) as unknown;
        fc.pre(!JSON.stringify(object).includes('__proto__'));
        expect(decodeBody(Buffer.from(toYaml(object)), 'yaml').value).toEqual(object);
      }),
      { numRuns: runs(500) },
    );
  });

  test('uses no anchors for values that occur twice', () => {
    const twice = { a: 1 };
    expect(toYaml({ x: twice, y: twice })).toBe('x:\n  a: 1\n"y":\n  a: 1\n');
  });
});

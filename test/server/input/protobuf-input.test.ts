import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StatusError } from '../../../src/apimachinery/status-error.ts';
import { decodeProtobuf, type MessageShape } from '../../../src/server/input/protobuf-input.ts';
import '../../support/properties.ts';

const SHAPE: MessageShape = {
  2: ['spec', { 1: ['verb'], 4: ['groups', 'strings'] }],
};

function bytes(field: number, value: string | Buffer): Buffer {
  const content = Buffer.from(value);
  return Buffer.concat([Buffer.from([field * 8 + 2]), length(content.length), content]);
}

function length(value: number): Buffer {
  return value < 128 ? Buffer.from([value]) : Buffer.from([(value & 127) | 128, value >> 7]);
}

function envelope(...message: Buffer[]): Buffer {
  const head = Buffer.concat([bytes(1, 'authorization.k8s.io/v1'), bytes(2, 'Review')]);
  return Buffer.concat([Buffer.from('k8s\0'), bytes(1, head), bytes(2, Buffer.concat(message))]);
}

test('a message is read with its type, lists in order, unknown fields skipped', () => {
  const spec = [bytes(1, 'get'), bytes(4, 'a'), bytes(4, 'b'), bytes(9, 'skipped')];
  const numbers = Buffer.from([0x18, 0x96, 0x01, 0x29, 1, 2, 3, 4, 5, 6, 7, 8, 0x35, 1, 2, 3, 4]);
  const message = envelope(bytes(1, 'metadata'), numbers, bytes(2, Buffer.concat(spec)));
  expect(decodeProtobuf(message, SHAPE)).toEqual({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'Review',
    spec: { verb: 'get', groups: ['a', 'b'] },
  });
});

test('an empty string is as good as none, and a long one is whole', () => {
  const long = 'x'.repeat(5000);
  const message = envelope(bytes(2, Buffer.concat([bytes(1, ''), bytes(4, long)])));
  expect(decodeProtobuf(message, SHAPE)['spec']).toEqual({ groups: [long] });
});

test.each<[string, Buffer]>([
  ['JSON', Buffer.from('{"kind":"Review"}')],
  ['nothing', Buffer.alloc(0)],
  ['a field that is longer than the body', Buffer.from('k8s\0\x0a\x7fx')],
  ['a length without an end', Buffer.from([0x6b, 0x38, 0x73, 0, 0x0a, 0xff, 0xff])],
  ['a length beyond all numbers', Buffer.concat([Buffer.from('k8s\0\x0a'), Buffer.alloc(12, 255)])],
  ['a group', Buffer.from('k8s\0\x0b')],
  ['a number that is cut off', Buffer.from('k8s\0\x09\x01')],
])('%s is refused', (_claim, body) => {
  expect(() => decodeProtobuf(body, SHAPE)).toThrow(StatusError);
});

/** A field that holds a number. */
function number(field: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([field * 8]), length(value)]);
}

test('numbers, booleans and times are read, and values that are empty in Go are left out', () => {
  const shape: MessageShape = {
    1: ['port', 'count'],
    2: ['grace', 'int'],
    3: ['shown', 'flag'],
    4: ['held', 'bool'],
    5: ['since', 'time'],
    6: ['until', 'time'],
    7: ['target', 'intOrString'],
    8: ['named', 'intOrString'],
    9: ['fields', 'json'],
  };
  const zeros = [number(1, 0), number(2, 0), number(3, 0), number(4, 0), bytes(5, '')];
  expect(decodeProtobuf(envelope(...zeros), shape)).toMatchObject({ grace: 0, held: false });
  expect(Object.keys(decodeProtobuf(envelope(...zeros), shape)).sort()).toEqual(
    ['apiVersion', 'grace', 'held', 'kind'].sort(),
  );
  const minusOne = Buffer.concat([Buffer.from([2 * 8]), Buffer.alloc(9, 255), Buffer.from([1])]);
  const said = [
    ...[number(1, 443), minusOne, number(3, 1), number(4, 1)],
    bytes(6, number(1, 1000)),
    bytes(7, Buffer.concat([number(1, 0), number(2, 80), bytes(3, '')])),
    bytes(8, Buffer.concat([number(1, 1), number(2, 0), bytes(3, 'web')])),
    bytes(9, bytes(1, '{"f:spec":{}}')),
  ];
  expect(decodeProtobuf(envelope(...said), shape)).toMatchObject({
    port: 443,
    grace: -1,
    shown: true,
    held: true,
    until: '1970-01-01T00:16:40Z',
    target: 80,
    named: 'web',
    fields: { 'f:spec': {} },
  });
});

test('maps and lists of messages keep every entry', () => {
  const shape: MessageShape = {
    1: ['labels', 'map'],
    2: ['data', 'bytesMap'],
    3: ['rules', [{ 1: ['verbs', 'strings'] }]],
  };
  const entry = (key: string, value: string): Buffer =>
    Buffer.concat([bytes(1, key), bytes(2, value)]);
  const read = decodeProtobuf(
    envelope(
      bytes(1, entry('__proto__', 'kept')),
      bytes(1, entry('empty', '')),
      bytes(2, entry('token', 'hello')),
      bytes(3, bytes(1, 'get')),
      bytes(3, Buffer.concat([bytes(1, 'list'), bytes(1, 'watch')])),
    ),
    shape,
  );
  expect(JSON.stringify(read['labels'])).toBe('{"__proto__":"kept","empty":""}');
  expect(read['data']).toEqual({ token: 'aGVsbG8=' });
  expect(read['rules']).toEqual([{ verbs: ['get'] }, { verbs: ['list', 'watch'] }]);
});

test('a list of very many entries is read in time', () => {
  const shape: MessageShape = { 1: ['labels', 'map'], 4: ['groups', 'strings'] };
  const groups = Array.from({ length: 200_000 }, () => bytes(4, 'g'));
  const labels = Array.from({ length: 100_000 }, (_, i) => bytes(1, bytes(1, `k${i}`)));
  const read = decodeProtobuf(longEnvelope(Buffer.concat([...groups, ...labels])), shape);
  expect(read['groups']).toHaveLength(200_000);
  expect(Object.keys(read['labels'] as object)).toHaveLength(100_000);
});

function longEnvelope(message: Buffer): Buffer {
  const size: number[] = [];
  for (let rest = message.length; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      size.push(rest);
      break;
    }
    size.push((rest % 128) + 128);
  }
  return Buffer.concat([Buffer.from('k8s\0'), Buffer.from([2 * 8 + 2, ...size]), message]);
}

test.each<[string, Buffer]>([
  ['a number where a text is', number(1, 7)],
  ['a text where a number is', bytes(2, 'x')],
  ['bytes that are no text', bytes(1, Buffer.from([0xff, 0xfe]))],
  ['a time beyond all times', bytes(3, Buffer.from([0x08, ...Array(8).fill(255), 0x7f]))],
])('%s is refused', (_claim, field) => {
  const shape: MessageShape = { 1: ['name'], 2: ['port', 'int'], 3: ['since', 'time'] };
  expect(() => decodeProtobuf(envelope(field), shape)).toThrow(StatusError);
});

test('any bytes decode to an object or a 400', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      for (const body of [
        Buffer.concat([Buffer.from('k8s\0'), noise]),
        envelope(Buffer.from(noise)),
      ]) {
        try {
          expect(typeof decodeProtobuf(body, SHAPE)).toBe('object');
        } catch (error) {
          expect(error).toBeInstanceOf(StatusError);
        }
      }
    }),
  );
});

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

test('whatever the bytes, the answer is an object or 400', () => {
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

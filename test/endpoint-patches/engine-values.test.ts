/** Values in the binary format of the engine, beside its own JSON. */
import fc from 'fast-check';
import type { QuickJSContext } from 'quickjs-emscripten-core';
import { beforeAll, expect, test } from 'vitest';
import type { JsonValue } from '../../src/apimachinery/object.ts';
import { instantiate } from '../../src/endpoint-patches/sandbox/engine-module.ts';
import { decodeValue, encodeValue } from '../../src/endpoint-patches/sandbox/engine-values.ts';

let context: QuickJSContext;

beforeAll(async () => {
  const { engine } = await instantiate(32 * 1024 * 1024);
  context = engine.newContext();
});

/** JSON of `value` as the engine writes it, after it got the value in its binary format. */
function jsonInside(value: JsonValue): string {
  const json = context.getProp(context.global, 'JSON');
  const stringify = context.getProp(json, 'stringify');
  const given = context.decodeBinaryJSON(context.newArrayBuffer(encodeValue(value)));
  const result = context.unwrapResult(context.callFunction(stringify, context.undefined, given));
  const text = context.getString(result);
  for (const handle of [json, stringify, given, result]) handle.dispose();
  return text;
}

/** Undefined where the engine or the reader refuses it. */
function decoded(expression: string): JsonValue | undefined {
  const value = context.unwrapResult(context.evalCode(`(${expression})`));
  const document = context.encodeBinaryJSON(value);
  if (context.typeof(document) !== 'object') return undefined;
  return decodeValue(context.getArrayBuffer(document).value);
}

const anyJson = fc.json({ maxDepth: 5, stringUnit: 'binary' });

test('the engine reads every value as its JSON', () => {
  fc.assert(
    fc.property(anyJson, (text) => {
      expect(jsonInside(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('every value that the engine writes is read as its JSON', () => {
  fc.assert(
    fc.property(anyJson, (text) => {
      const value = decoded(`JSON.parse(${JSON.stringify(text)})`);
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test.each<[string, JsonValue]>([
  ['numbers', [0, -1, 63, 64, -64, -65, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 0.1, 1e300, -1e-9]],
  ['texts', ['', 'ÿ', 'Ā', '名\0', '\ud800', 'a'.repeat(63), 'a'.repeat(64), '名'.repeat(70_000)]],
  ['keys', { '': 1, 0: 2, 10: 3, 4294967295: 4, '-1': 5, größe: 6, 名: 7, length: 8, value: 9 }],
  ['a key that is the prototype', JSON.parse('{"__proto__":{"polluted":1}}')],
  ['many keys', Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key-${i}`, i]))],
  ['a long list', Array.from({ length: 30_000 }, (_, i) => ({ i, text: `item ${i}` }))],
])('%s come back from the engine', (_name, value) => {
  expect(jsonInside(value)).toBe(JSON.stringify(value));
  const text = JSON.stringify(JSON.stringify(value));
  expect(JSON.stringify(decoded(`JSON.parse(${text})`))).toBe(JSON.stringify(value));
});

test.each<[string, JsonValue]>([
  ['-0', 0],
  ['[1, , undefined]', [1, null, null]],
  ['{ a: undefined, b: null, [Symbol("c")]: 1 }', { b: null }],
  ['new (class { #hidden = 1; shown = 2 })()', { shown: 2 }],
  ['Object.assign([1], { more: 2 })', [1]],
  ['Object.defineProperty({ a: 1 }, "b", { value: 2 })', { a: 1 }],
  ['"a".repeat(9000) + "b".repeat(9000)', 'a'.repeat(9000) + 'b'.repeat(9000)],
])('%s is read as its JSON', (expression, value) => {
  expect(decoded(expression)).toEqual(value);
});

test.each([
  'NaN',
  '[{ a: -Infinity }]',
  '1n',
  'new String("a")',
  'new Map()',
  'new Date(0)',
  'new Uint8Array(1)',
  '/a/',
  '{ a() {} }',
  '{ get a() { return 1 } }',
  'new Proxy({}, {})',
  '((shared) => [shared, shared])({})',
  '((list) => (list.push(list), list))([])',
])('%s is left to the JSON of the engine', (expression) => {
  expect(decoded(expression)).toBeUndefined();
});

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/apimachinery/object.ts';
import { patchJson } from '../../../src/server/input/json-patch.ts';
import {
  acceptedPatchTypes,
  applyJsonPatch,
  applyMergePatch,
  mergePatch,
  patchTypeOf,
} from '../../../src/server/input/patch.ts';
import { processorMs } from '../../support/calls.ts';
import { runs } from '../../support/properties.ts';

const unprocessable = (why: string) =>
  expect.objectContaining({
    code: 422,
    reason: 'Invalid',
    message: expect.stringContaining(why),
    details: {},
  });

interface PublicCase {
  comment?: string;
  doc: JsonValue;
  patch: unknown;
  expected?: JsonValue;
  error?: string;
}

/** The public JSON Patch test suite, github.com/json-patch/json-patch-tests, Apache-2.0. */
function publicCases(file: string): [string, PublicCase][] {
  const url = new URL(`./json-patch-tests/${file}`, import.meta.url);
  const cases = JSON.parse(readFileSync(url, 'utf8')) as PublicCase[];
  return cases.map((entry, i) => [`${i} ${entry.comment ?? entry.error ?? ''}`, entry]);
}

describe.each(['tests.json', 'spec-tests.json'])('the public suite: %s', (file) => {
  test.each(publicCases(file))('%s', (_, { doc, patch, expected, error }) => {
    const before = structuredClone(doc);
    if (error === undefined) {
      const patched = patchJson(doc, patch);
      if (expected !== undefined) expect(patched).toEqual(expected);
    } else {
      expect(() => patchJson(doc, patch)).toThrow(
        expect.objectContaining({ code: expect.any(Number), reason: expect.stringMatching(/./) }),
      );
    }
    expect(doc).toEqual(before);
  });
});

describe('a JSON patch that cannot be applied is 422', () => {
  const object = { metadata: { name: 'a' }, spec: { users: ['x', 'y'], n: null } };
  test.each<[unknown, string]>([
    [{ op: 'add', path: '/metadata/annotations/k', value: 'v' }, 'no "annotations" there'],
    [{ op: 'replace', path: '/spec/displayName', value: 'v' }, 'no "displayName" there'],
    [{ op: 'remove', path: '/spec/displayName' }, 'no "displayName" there'],
    [{ op: 'remove', path: '/spec/users/2' }, 'the list has only 2 items'],
    [{ op: 'remove', path: '/spec/users/-' }, '"-" is no position in a list'],
    [{ op: 'replace', path: '/spec/users/-', value: 1 }, '"-" is no position in a list'],
    [{ op: 'add', path: '/spec/users/3', value: 1 }, 'the list has only 2 items'],
    [{ op: 'add', path: '/spec/users/-1', value: 1 }, '"-1" is no position in a list'],
    [{ op: 'add', path: '/spec/users/length', value: 0 }, '"length" is no position in a list'],
    [{ op: 'add', path: '/metadata/name/x', value: 1 }, 'the path leads through a scalar'],
    [{ op: 'add', path: '/spec/n/x', value: 1 }, 'the path leads through a scalar'],
    [{ op: 'test', path: '/metadata/name', value: 'b' }, 'the value there is a different one'],
    [{ op: 'test', path: '/spec/missing', value: null }, 'no "missing" there'],
    [{ op: 'move', from: '/spec', path: '/spec/users' }, 'moved into itself'],
    [{ op: 'copy', path: '/x' }, 'the operation has no from'],
    [{ op: 'add', path: '/x' }, 'the operation has no value'],
    [{ op: 'spam', path: '/x', value: 1 }, 'none of add, remove'],
    [{ op: 'toString', path: '/x', value: 1 }, 'none of add, remove'],
    [{ path: '/x', value: 1 }, 'op and path are required'],
    [{ op: 'add', value: 1 }, 'op and path are required'],
    [{ op: 'add', path: 'x', value: 1 }, 'a path begins with /'],
    [{ op: 'add', path: '/a~2b', value: 1 }, 'a ~ in a path'],
    [{ op: 'remove', path: '' }, 'the whole document cannot be removed'],
    [{ op: 'replace', path: '', value: [] }, 'leaves no object'],
  ])('%j', (operation, why) => {
    expect(() => applyJsonPatch(object, [operation])).toThrow(unprocessable(why));
  });

  test('the message names the operation and no value', () => {
    const patch = [
      { op: 'test', path: '/metadata/name', value: 'a' },
      { op: 'test', path: '/spec/users', value: 's3cr3t' },
    ];
    expect(() => applyJsonPatch(object, patch)).toThrow(
      unprocessable('operation 1 (test /spec/users): the value there is a different one'),
    );
    expect(() => applyJsonPatch(object, patch)).not.toThrow(/s3cr3t/);
  });
});

describe('a body that is no JSON patch is 400', () => {
  test.each<[unknown]>([
    [{}],
    ['x'],
    [null],
    [['add']],
    [[[]]],
    [[null]],
    [[{ op: 'add', path: 5, value: 1 }]],
    [[{ op: 1, path: '/a', value: 1 }]],
    [[{ op: 'copy', path: '/a', from: {} }]],
  ])('%j', (patch) => {
    expect(() => applyJsonPatch({}, patch)).toThrow(
      expect.objectContaining({ code: 400, reason: 'BadRequest' }),
    );
  });
});

describe('nothing reaches prototypes', () => {
  test.each(['/__proto__/polluted', '/a/__proto__', '/__proto__'])('add %s', (path) => {
    expect(() => applyJsonPatch({ a: {} }, [{ op: 'add', path, value: { x: 1 } }])).toThrow(
      unprocessable('__proto__'),
    );
  });

  test.each(['constructor', 'toString', 'hasOwnProperty'])('inherited %s does not exist', (key) => {
    for (const operation of [
      { op: 'replace', path: `/${key}`, value: 1 },
      { op: 'copy', from: `/${key}`, path: '/x' },
      { op: 'add', path: `/${key}/prototype`, value: 1 },
    ]) {
      expect(() => applyJsonPatch({}, [operation])).toThrow(unprocessable(`no "${key}" there`));
    }
    expect(applyJsonPatch({}, [{ op: 'add', path: `/${key}`, value: 1 }])).toEqual({ [key]: 1 });
    expect(applyMergePatch({}, { [key]: { a: null, b: 1 } })).toEqual({ [key]: { b: 1 } });
  });

  test('a merge patch with __proto__ is 400', () => {
    const patch = JSON.parse('{"spec":{"__proto__":{"polluted":true}}}') as unknown;
    expect(() => applyMergePatch({ spec: {} }, patch)).toThrow(
      expect.objectContaining({ code: 400 }),
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('a hostile patch costs little', () => {
  const add = { op: 'add', path: '/a', value: 1 };

  test('more than 10,000 operations are 413', () => {
    expect(applyJsonPatch({}, Array(10_000).fill(add))).toEqual({ a: 1 });
    expect(() => applyJsonPatch({}, Array(10_001).fill(add))).toThrow(
      expect.objectContaining({
        code: 413,
        message: 'The allowed maximum operations in a JSON patch is 10000, got 10001',
      }),
    );
  });

  test('copies cannot double a document again and again', () => {
    const patch = Array.from({ length: 60 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }));
    expect(() => applyJsonPatch({ a: ['x'.repeat(100)] }, patch)).toThrow(
      unprocessable('copies add more than'),
    );
  });

  test.each([
    ['inserted', { op: 'add', path: '/a/0', value: 1 }],
    ['removed', { op: 'remove', path: '/a/0' }],
    ['moved', { op: 'move', from: '/a/0', path: '/a/-' }],
    ['copied', { op: 'copy', from: '/a/0', path: '/a/0' }],
  ])(
    'items that are %s at the head of a long list do not move the list again and again',
    (_, step) => {
      const items = (count: number) => ({ a: Array(count).fill(0) });
      const patch = Array(5000).fill(step);
      expect(() => applyJsonPatch(items(5000), patch)).not.toThrow();
      expect(() => applyJsonPatch(items(1_000_000), patch)).toThrow(
        unprocessable('moves more than 100000000 items of lists'),
      );
    },
  );

  test('small copies in a large document do not copy the document', () => {
    const large = { spec: { text: 'x'.repeat(2_000_000), small: 1 } };
    const patch = Array.from({ length: 10_000 }, () => ({
      op: 'copy',
      from: '/spec/small',
      path: '/b',
    }));
    const ms = processorMs(() => {
      applyJsonPatch(large, patch);
    });
    expect(ms).toBeLessThan(2000);
  });
});

describe('the copy that comes back shares nothing', () => {
  test('the copy is independent of the object and of the patch', () => {
    const object = { spec: { a: { x: [1] } } };
    const value = { y: [1] };
    const patched = applyJsonPatch(object, [
      { op: 'add', path: '/spec/b', value },
      { op: 'copy', from: '/spec/a', path: '/spec/c' },
    ]) as { spec: Record<string, { x?: number[]; y?: number[] }> };
    patched.spec['a']?.x?.push(2);
    patched.spec['b']?.y?.push(2);
    expect(object).toEqual({ spec: { a: { x: [1] } } });
    expect(value).toEqual({ y: [1] });
    expect(patched.spec['c']).toEqual({ x: [1] });

    const patch = { spec: { b: value } };
    const merged = applyMergePatch(object, patch) as typeof patched;
    merged.spec['a']?.x?.push(3);
    merged.spec['b']?.y?.push(3);
    expect(object).toEqual({ spec: { a: { x: [1] } } });
    expect(value).toEqual({ y: [1] });
  });
});

test('a patch that fast-json-patch applies too gives the same document', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', '0', '1', '-'), { maxLength: 3 })
    .map((steps) => steps.map((step) => `/${step}`).join(''));
  const value = fc.jsonValue({ maxDepth: 1 }).map((any) => JSON.parse(JSON.stringify(any)));
  const op = fc.constantFrom('add', 'remove', 'replace', 'test', 'move', 'copy');
  const operation = fc.record({ op, path, from: path, value });
  const document = fc.constantFrom<JsonValue[]>(
    { a: { a: 1, b: [1, 2] }, b: [{ a: 1 }, [0]] },
    { a: [], b: 'text' },
    [[{ a: 1 }], { b: null }],
  );
  fc.assert(
    fc.property(document, fc.array(operation, { maxLength: 4 }), (doc, patch) => {
      let mine: JsonValue;
      let theirs: unknown;
      try {
        mine = patchJson(doc, patch);
        theirs = jsonPatch.applyPatch(
          structuredClone(doc),
          structuredClone(patch) as never,
          true,
        ).newDocument;
      } catch {
        return;
      }
      expect(mine).toEqual(theirs);
    }),
    { numRuns: runs(2000) },
  );
});

describe('a merge patch does what RFC 7396 appendix A says', () => {
  test.each<[JsonValue, JsonValue, JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j and %j make %j', (original, patch, result) => {
    expect(mergePatch(structuredClone(original), patch)).toEqual(result);
  });

  test('nulls inside of lists stay', () => {
    expect(applyMergePatch({}, { a: [null, { b: null }] })).toEqual({ a: [null, { b: null }] });
  });

  test('applying it twice is applying it once, and leaves no key that it nulls', () => {
    // The keys of a prototype are refused, which is another claim.
    const value = fc
      .jsonValue({ maxDepth: 2 })
      .filter((any) => !JSON.stringify(any).includes('__proto__'));
    const map = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value);
    fc.assert(
      fc.property(map, map, (object, patch) => {
        const before = structuredClone(object);
        const once = applyMergePatch(object as JsonObject, patch);
        expect(object).toEqual(before);
        expect(applyMergePatch(once, patch)).toEqual(once);
        for (const [key, value] of Object.entries(patch)) {
          if (value === null) expect(once).not.toHaveProperty(key);
        }
      }),
    );
  });

  test.each([[[]], ['x'], [null], [1]])('a patch that is %j is 400', (patch) => {
    expect(() => applyMergePatch({}, patch)).toThrow(expect.objectContaining({ code: 400 }));
  });
});

describe('types of patches', () => {
  const without = { serverSideApply: false };
  const withApply = { serverSideApply: true };

  test.each([
    ['application/json-patch+json', 'json'],
    ['application/merge-patch+json; charset=utf-8', 'merge'],
    ['Application/Merge-Patch+JSON', 'merge'],
    ['application/apply-patch+yaml', 'apply'],
  ])('%s is %s', (contentType, type) => {
    expect(patchTypeOf(contentType, withApply)).toBe(type);
  });

  test.each([undefined, '', 'application/json', 'application/apply-patch+yaml', 'text/plain'])(
    '%s is 415 and the accepted ones are named',
    (contentType) => {
      expect(() => patchTypeOf(contentType, without)).toThrow(
        expect.objectContaining({
          code: 415,
          message:
            'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json',
        }),
      );
    },
  );

  test('a strategic merge patch is 415 with the way out', () => {
    expect(() => patchTypeOf('application/strategic-merge-patch+json', withApply)).toThrow(
      expect.objectContaining({
        code: 415,
        reason: 'UnsupportedMediaType',
        message: expect.stringMatching(/--type=merge .*application\/apply-patch\+yaml$/),
      }),
    );
    expect(acceptedPatchTypes(without)).not.toContain('application/apply-patch+yaml');
  });
});

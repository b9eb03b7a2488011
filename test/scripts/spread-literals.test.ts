import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withEmptySpreads } from '../../scripts/spread-literals.mjs';

describe('spread literals of a bundle', () => {
  it.each([
    ['a key after the spread', 'x = { ...a, b: 1 };', 'x = { ...null, ...a, b: 1 };'],
    ['two spreads', 'x = { ...a, ...b };', 'x = { ...null, ...a, ...b };'],
    ['a spread alone', 'x = { ...a };', 'x = { ...null, ...a };'],
    ['a literal within one', 'x = { ...{ ...a } };', 'x = { ...null, ...{ ...null, ...a } };'],
    ['a literal in a template', `\`\${{ ...a, b }}\`;`, `\`\${{ ...null, ...a, b }}\`;`],
    ['text beyond ASCII before it', '"é😀"; x = { ...a };', '"é😀"; x = { ...null, ...a };'],
  ])('begin with an empty one: %s', (_, code, changed) => {
    expect(withEmptySpreads(code)).toBe(changed);
  });

  it.each([
    ['a key before the spread', 'x = { b: 1, ...a };'],
    ['a rest of a pattern', 'const { ...a } = b;'],
    ['a rest of an assignment', '({ ...a } = b);'],
    ['a spread of an array', 'x = [...a, 1];'],
    ['a spread of arguments', 'f(...a, 1);'],
    ['a string, a comment and an expression', '"{ ...a }"; /* { ...a } */ /{ ...a }/;'],
  ])('are left as they are: %s', (_, code) => {
    expect(withEmptySpreads(code)).toBe(code);
  });

  it('refuse what is no JavaScript', () => {
    expect(() => withEmptySpreads('x = { ...a')).toThrow(SyntaxError);
  });

  it('give the same keys in the same order', () => {
    const literal = '({ ...a, name: 1, ...b })';
    const plain = new Function('a', 'b', `return ${literal}`);
    const changed = new Function('a', 'b', `return ${withEmptySpreads(literal)}`);
    const key = fc.oneof(fc.string(), fc.constantFrom('name', '__proto__', 'constructor', '0'));
    const part = fc.oneof(fc.dictionary(key, fc.nat()), fc.constant(null), fc.string());
    fc.assert(
      fc.property(part, part, (a, b) => {
        expect(Object.entries(changed(a, b))).toEqual(Object.entries(plain(a, b)));
      }),
    );
  });

  it('give objects of one map', () => {
    const literal = withEmptySpreads('({ ...a, name: 1 })');
    const program = `const of = (a) => ${literal};
      for (let i = 0; i < 1000; i++) of({ kind: i });
      console.log(%HaveSameMap(of({ kind: 1 }), of({ kind: 2 })))`;
    expect(
      execFileSync(process.execPath, ['--allow-natives-syntax', '-e', program], {
        encoding: 'utf8',
      }),
    ).toBe('true\n');
  });
});

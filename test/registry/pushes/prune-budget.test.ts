import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowedPrunes, exceeds } from '../../../src/registry/pushes/prune-budget.ts';

const budget = { objects: 10, percent: 20 };

describe('a move needs approval', () => {
  test.each([
    ['never when it removes nothing', 0, 100, 100, false],
    ['not for 10 of 11 objects', 10, 11, 1, false],
    ['not for 20 of 100 objects', 20, 100, 80, false],
    ['for 21 of 100 objects', 21, 100, 79, true],
    ['for 11 of 12 objects', 11, 12, 1, true],
    ['not for 11 of 100 objects', 11, 100, 89, false],
    ['for all of 2 objects', 2, 2, 0, true],
    ['for all of 2 objects, even where others appear', 2, 2, 5, true],
    ['for the only object', 1, 1, 0, true],
    ['not for the only object when another takes its place', 1, 1, 1, false],
  ])('%s', (_title, prunes, before, after, expected) => {
    expect(exceeds(budget, { prunes, before, after })).toBe(expected);
  });

  test('a move that removes everything needs approval, for any budget', () => {
    const property = fc.property(fc.nat(1000), fc.nat(100), fc.integer({ min: 1 }), (o, p, n) =>
      exceeds({ objects: o, percent: p }, { prunes: n, before: n, after: 0 }),
    );
    fc.assert(property);
  });

  test('the more it removes, the sooner', () => {
    const counts = fc.tuple(fc.nat(200), fc.nat(200), fc.nat(200));
    const property = fc.property(counts, fc.nat(50), fc.nat(100), ([a, b, c], objects, percent) => {
      const [few = 0, more = 0, before = 0] = [a, b, c].sort((x, y) => x - y);
      const is = (prunes: number): boolean =>
        exceeds({ objects, percent }, { prunes, before, after: before - prunes });
      return !is(few) || is(more);
    });
    fc.assert(property);
  });
});

describe('a commit message agrees to removals', () => {
  test.each([
    ['by its trailer', 'Clean up\n\nGitplane-Allow-Prune: 12\n', 12],
    ['in any case of letters', 'Clean up\n\ngitplane-allow-prune:12', 12],
    ['among other trailers', 'x\n\nSigned-off-by: A <a@x>\nGitplane-Allow-Prune: 3\nX: y\n', 3],
    ['with lines that end in CRLF', 'x\r\n\r\nGitplane-Allow-Prune: 3\r\n', 3],
    ['by the last of several', 'x\n\nGitplane-Allow-Prune: 3\nGitplane-Allow-Prune: 4\n', 4],
  ])('%s', (_title, message, expected) => {
    expect(allowedPrunes(message)).toBe(expected);
  });

  test.each([
    ['in its subject', 'Gitplane-Allow-Prune: 12\n'],
    ['in a sentence', 'x\n\nWe once wrote\nGitplane-Allow-Prune: 12\nand regretted it\n'],
    ['in a paragraph that is not the last', 'x\n\nGitplane-Allow-Prune: 12\n\nSigned-off-by: A\n'],
    ['without a number', 'x\n\nGitplane-Allow-Prune: all\n'],
    ['with a number below zero', 'x\n\nGitplane-Allow-Prune: -1\n'],
    ['where it quotes a revert', 'Revert "x"\n\n> Gitplane-Allow-Prune: 12\n'],
    ['in nothing', ''],
  ])('a commit message does not agree to removals: %s', (_title, message) => {
    expect(allowedPrunes(message)).toBe(0);
  });
});

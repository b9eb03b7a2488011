import { describe, expect, test } from 'vitest';
import { damageIn } from '../../../src/git/reading/object-check.ts';

const PACK = `pack-${'9'.repeat(40)}`;
const SHORT_LIVED = `pack-gitplane-${'a'.repeat(40)}`;
const ID = 'b'.repeat(40);
const present = new Set([`${PACK}.pack`, `${PACK}.idx`]);

const unopened = (name: string): string =>
  `error: packfile ./objects/pack/${name}.pack index not opened`;

/** Messages and exit codes of git 2.39. */
describe('damage in the output of git fsck', () => {
  test.each([
    ['no message', 0, '', undefined],
    ['content that git warns of', 1, `warning in tree ${ID}: zeroPaddedFilemode`, undefined],
    ['a pack that a checkpoint removed', 4, unopened(SHORT_LIVED), undefined],
    [
      'a removed pack, and the branch that HEAD names',
      4,
      `${unopened(SHORT_LIVED)}\nnotice: HEAD points to an unborn branch (master)\n`,
      undefined,
    ],
    ['a pack that is there', 4, unopened(PACK), unopened(PACK)],
    [
      'a removed pack beside a damaged one',
      4,
      `${unopened(SHORT_LIVED)}\nerror: ${PACK}.pack SHA1 checksum mismatch`,
      `error: ${PACK}.pack SHA1 checksum mismatch`,
    ],
    [
      'an object that was lost with its pack',
      6,
      unopened(SHORT_LIVED),
      'an object that another one names is missing',
    ],
  ])('%s', (_, code, stderr, expected) => {
    expect(damageIn({ code, stderr }, present)).toBe(expected);
  });
});

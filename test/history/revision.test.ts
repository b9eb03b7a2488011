/** Names of commits that readers may use, and names that are refused. */
import { describe, expect, test } from 'vitest';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { CommitIndex } from '../../src/history/commit-index.ts';
import { checkRevision, checkTime, findCommit } from '../../src/history/revision.ts';

const id = (start: string): string => start.padEnd(40, '0');

function indexOf(
  commits: readonly { id: string; parents?: string[]; time: number }[],
): CommitIndex {
  const index = new CommitIndex();
  for (const { id, parents = [], time } of commits) index.add({ id, parents, committerTime: time });
  return index;
}

function codeOf(work: () => unknown): number {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
  return 200;
}

describe('a commit by its id', () => {
  test.each(['abcd', 'ABCDEF0123', id('1')])('%s may be one', (text) => {
    expect(checkRevision(text)).toBe(text.toLowerCase());
  });

  test.each([
    '',
    'abc',
    'main',
    'HEAD',
    'HEAD~1',
    '--output=x',
    '-p',
    'abcd..ef01',
    'refs/heads/main',
    ' abcd',
    'abcd\n',
    `${id('1')}0`,
    'a'.repeat(100_000),
  ])('%s is refused before anything looks for it', (text) => {
    expect(codeOf(() => checkRevision(text))).toBe(400);
  });

  const index = indexOf([
    { id: id('aaaa1'), time: 1 },
    { id: id('aaaa2'), parents: [id('aaaa1')], time: 2 },
    { id: id('bbbb'), parents: [id('aaaa2')], time: 3 },
  ]);

  test.each([
    { revision: 'bbbb', at: 2 },
    { revision: 'aaaa2', at: 1 },
    { revision: id('aaaa1'), at: 0 },
  ])('$revision is found', ({ revision, at }) => {
    expect(findCommit(index, 2, { revision })).toBe(at);
  });

  test.each([
    { revision: 'aaaa', code: 400 },
    { revision: 'cccc', code: 404 },
    { revision: id('cccc'), code: 404 },
  ])('$revision is a $code', ({ revision, code }) => {
    expect(codeOf(() => findCommit(index, 2, { revision }))).toBe(code);
  });
});

describe('a commit by a time', () => {
  test.each([
    ['2026-01-31T09:30:00Z', Date.UTC(2026, 0, 31, 9, 30)],
    ['2026-01-31t09:30:00.5z', Date.UTC(2026, 0, 31, 9, 30, 0, 500)],
    ['2026-01-31T09:30:00+02:00', Date.UTC(2026, 0, 31, 7, 30)],
  ])('%s is one', (text, time) => {
    expect(checkTime(text)).toBe(time);
  });

  test.each([
    '',
    'yesterday',
    '2026-01-31',
    '2026-13-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '0',
    '2026-01-31T09:30:00',
    '2026-01-31T09:30:00 02:00',
  ])('%s is none', (text) => {
    expect(codeOf(() => checkTime(text))).toBe(400);
  });

  // The second commit was made with a clock that was late; the fourth is on a side line.
  const index = indexOf([
    { id: id('1'), time: 100 },
    { id: id('2'), parents: [id('1')], time: 50 },
    { id: id('3'), parents: [id('2')], time: 200 },
    { id: id('4'), parents: [id('2')], time: 300 },
    { id: id('5'), parents: [id('3'), id('4')], time: 400 },
  ]);

  test.each([
    { time: 400, at: 4 },
    { time: 399, at: 2 },
    { time: 300, at: 2 },
    { time: 199, at: 1 },
    { time: 60, at: 1 },
  ])('the branch at $time was at the first-parent commit $at', ({ time, at }) => {
    expect(findCommit(index, 4, { time: time * 1000 })).toBe(at);
  });

  test('no commit exists before the first one', () => {
    expect(codeOf(() => findCommit(index, 4, { time: 10_000 }))).toBe(404);
  });
});

/** Merges in a thread: the same results as in place, and a limit for what a push may cost. */
import { expect, onTestFinished, test } from 'vitest';
import {
  FileMerger,
  MergeLimitError,
  type MergeLimits,
} from '../../../src/registry/pushes/merge/file-merger.ts';
import type { FileTexts } from '../../../src/registry/pushes/merge/object-merge.ts';
import { kinds } from '../../support/platform.ts';

const TEAMS = 80;

/** For tests of something else: a busy machine starts a thread slowly. */
const PATIENT: MergeLimits = { memoryMib: 512, deadlineMs: 240_000 };

function mergerFor(limits = PATIENT): FileMerger {
  const merger = new FileMerger({ kinds, under: '' }, limits);
  onTestFinished(() => merger.close());
  return merger;
}

/** Teams of a file, each with a field that one side changes. */
function teams({ tip, pushed }: { tip: string; pushed: string }, count = TEAMS): string {
  const documents = Array.from({ length: count }, (_, i) => {
    const spec = `{displayName: "${i % 2 === 0 ? tip : pushed}", description: ${'long '.repeat(40)}}`;
    const head = `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: t${i}}`;
    return `---\n${head}\nspec: ${spec} # of both\n`;
  });
  return documents.join('');
}

const versions: FileTexts = {
  base: teams({ tip: 'old', pushed: 'old' }),
  tip: teams({ tip: 'new', pushed: 'old' }),
  pushed: teams({ tip: 'old', pushed: 'new' }),
};
const both = teams({ tip: 'new', pushed: 'new' });

test('a large file is merged in the thread as a small one is in place', async () => {
  const merger = mergerFor();

  const { files, conflicts } = await merger.objects(new Map([['teams.yaml', versions]]));

  expect(conflicts).toEqual([]);
  expect(files.get('teams.yaml')).toBe(both);
});

test('a conflict in a large file names the object and the field', async () => {
  const merger = mergerFor();
  const tip = teams({ tip: 'ours', pushed: 'old' });
  const pushed = teams({ tip: 'theirs', pushed: 'old' });

  const { conflicts } = await merger.objects(new Map([['t.yaml', { ...versions, tip, pushed }]]));

  expect(conflicts).toHaveLength(TEAMS / 2);
  expect(conflicts[0]).toMatchObject({ key: { name: 't0' }, field: ['spec', 'displayName'] });
});

test.each([
  [['new', 'new'], 'both'],
  [['one', 'two'], undefined],
])('large texts are merged line by line: %j', async ([ours = '', theirs = ''], expected) => {
  const lines = Array.from({ length: 9000 }, (_, i) => `line ${i}\n`);
  const isSame = ours === theirs;
  const tip = lines.with(10, `${ours}\n`).join('');
  const pushed = lines.with(isSame ? 8000 : 10, `${theirs}\n`).join('');

  const { text } = await mergerFor().lines({ base: lines.join(''), tip, pushed });

  const result = lines.with(10, 'new\n').with(8000, 'new\n').join('');
  expect(text).toBe(expected === 'both' ? result : undefined);
});

test.each<[string, MergeLimits]>([
  ['time', { memoryMib: 512, deadlineMs: 1 }],
  ['memory', { memoryMib: 16, deadlineMs: 60_000 }],
])(
  'a merge that exceeds the limit of %s is refused, and the next one is answered',
  async (_, limits) => {
    const merger = mergerFor(limits);
    const large = {
      base: teams({ tip: 'a', pushed: 'a' }, 4000),
      tip: teams({ tip: 'b', pushed: 'a' }, 4000),
      pushed: teams({ tip: 'a', pushed: 'b' }, 4000),
    };
    const small = { base: 'a: 1\n', tip: 'a: 2\n', pushed: 'a: 1\n' };

    await expect(merger.objects(new Map([['t.yaml', large]]))).rejects.toThrow(MergeLimitError);

    expect(await merger.lines(small)).toEqual({ text: 'a: 2\n' });
  },
);

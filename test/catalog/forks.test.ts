/** A replay with one catalog for all lines comes to the same as one with a copy per commit. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyString } from '../../src/apimachinery/key.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { type FoldedStep, replay } from '../../src/catalog/replay.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { openForTest } from '../support/git.ts';
import { forMilliseconds } from '../support/properties.ts';
import { replayOnCopies } from './full-copies.ts';
import { picture } from './picture.ts';
import { type Commit, randomSteps, writeCommits, writeHistory } from './random-history.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
const WANTED = process.env['GITPLANE_TEST_HISTORIES'];
const RUNS = Number(WANTED ?? 60);
const LIMIT_MS = WANTED === undefined ? 15_000 : Number.POSITIVE_INFINITY;
const TIMEOUT_MS = Math.max(120_000, RUNS * 2000);

type Repository = Awaited<ReturnType<typeof openForTest>>;

/** Changes of each step in an order that does not depend on how they came about. */
function shown({ commit, changes }: Pick<FoldedStep, 'commit' | 'changes'>): unknown {
  const versions = changes
    .map(({ key, before, after }) =>
      [before, after]
        .map((one) => one && [one.identity.uid, one.identity.generation])
        .concat([[keyString(key)]]),
    )
    .map((one) => JSON.stringify(one));
  return { commit: commit.id, versions: versions.sort() };
}

async function expectSame(repository: Repository, revisions: readonly string[]): Promise<void> {
  const [last = ''] = revisions;
  const wanted = await replayOnCopies({ repository, reader }, last);
  const steps: FoldedStep[] = [];
  const onStep = (step: FoldedStep): void => void steps.push(step);
  const recorded = await replay({ repository, reader, under: '', onStep }, last);
  expect(steps.map(shown)).toEqual(wanted.steps.map(shown));
  expect(picture(recorded.catalog)).toEqual(
    picture(wanted.heads.get(last)?.catalog ?? recorded.catalog),
  );
  for (const revision of revisions) {
    const { catalog, view } = await replay({ repository, reader, under: '' }, revision);
    const head = wanted.heads.get(revision);
    if (head === undefined || head.catalog.rootCommit !== catalog.rootCommit) continue;
    expect(picture(catalog)).toEqual(picture(head.catalog));
    expect(view.ignoreBlob).toBe(head.view.ignoreBlob);
  }
}

test('forks, merges and unrelated roots at random', { timeout: TIMEOUT_MS }, async () => {
  const repository = await openForTest();
  await fc.assert(
    fc.asyncProperty(
      randomSteps,
      forMilliseconds(LIMIT_MS, async (steps) => {
        const { line, all } = writeHistory(repository.gitDir, steps);
        await expectSame(repository, [line.at(-1) ?? '', all[all.length >> 1] ?? '']);
      }),
    ),
    { numRuns: RUNS },
  );
});

function team(name: string, text: string): [string, string] {
  const head = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n';
  return [`${name}.yaml`, `${head}  name: ${name}\nspec:\n  displayName: "${text}"\n`];
}

/** Builds a history commit by commit; each has the files of its first parent, and more. */
class Drawing {
  readonly commits: Commit[] = [];

  add(parents: readonly number[], ...files: readonly [string, string][]): number {
    const mark = this.commits.length + 1;
    const before = this.commits[(parents[0] ?? 0) - 1]?.files ?? new Map();
    this.commits.push({ mark, parents, files: new Map([...before, ...files]) });
    return mark;
  }
}

const LINES = 12;

/** Lines that each begin at an older commit of the trunk. */
function openLines(drawing: Drawing): { trunk: number; lines: number[] } {
  let trunk = drawing.add([], team('trunk', '0'));
  const lines: number[] = [];
  for (let i = 0; i < LINES; i += 1) {
    lines.push(drawing.add([trunk], team(`line${i}`, 'own'), team('shared', `${i}`)));
    trunk = drawing.add([trunk], team('trunk', `${i}`), team(`trunk${i}`, 'x'));
  }
  return { trunk, lines };
}

function mergeAll(drawing: Drawing, { trunk, lines }: ReturnType<typeof openLines>): void {
  let tip = trunk;
  for (const line of lines) {
    const files = drawing.commits[line - 1]?.files ?? new Map<string, string>();
    tip = drawing.add([tip, line], ...[...files].filter(([path]) => /^(line|shared)/.test(path)));
  }
}

test.each<[string, (drawing: Drawing) => void]>([
  ['lines with older and older bases, merged oldest first', (d) => mergeAll(d, openLines(d))],
  [
    'lines with older and older bases, merged newest first',
    (d) => {
      const { trunk, lines } = openLines(d);
      mergeAll(d, { trunk, lines: lines.reverse() });
    },
  ],
  [
    'all lines in one merge',
    (d) => {
      const { trunk, lines } = openLines(d);
      d.add([trunk, ...lines], team('octopus', 'x'));
    },
  ],
  [
    'merges that name a parent twice',
    (d) => {
      const chain: number[] = [];
      for (let i = 0; i < LINES; i += 1) {
        chain.push(d.add(chain.slice(-1), team('a', `${i}`), team(`a${i}`, 'x')));
      }
      const [early = 0, one = 0, two = 0, late = 0] = chain;
      const twice = d.add([chain.at(-1) ?? 0, one, two, one], team('twice', 'x'));
      const lines = [early, late].map((at) => d.add([twice, at], team(`of${at}`, 'x')));
      d.add(lines, team('end', 'x'));
    },
  ],
  [
    'two lines that are merged crosswise again and again',
    (d) => {
      let [one, two] = [d.add([], team('a', '0')), 0];
      two = d.add([one], team('b', '0'));
      for (let i = 0; i < LINES; i += 1) {
        const [left, right] = [d.add([one], team('a', `${i}`)), d.add([two], team('b', `${i}`))];
        one = d.add([left, right], team('b', `${i}`));
        two = d.add([right, left], team('a', `${i}`));
      }
      d.add([one, two]);
    },
  ],
  [
    'an empty first commit with two lines',
    (d) => {
      const root = d.add([]);
      const [one, two] = [d.add([root], team('a', '1')), d.add([root], team('a', '2'))];
      d.add([one, two], team('b', '1'));
    },
  ],
])('%s', async (_shape, draw) => {
  const repository = await openForTest();
  const drawing = new Drawing();
  draw(drawing);
  const ids = writeCommits(repository.gitDir, drawing.commits);
  await expectSame(repository, ids.reverse());
});

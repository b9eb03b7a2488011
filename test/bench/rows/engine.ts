/** The git engine alone: chained commits of one file each, durable in groups of 100. */
import type { BareRepository } from '../../../src/git/bare-repository.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import type { Corpus, CorpusFile } from '../corpus.ts';
import type { Fixture } from '../fixture.ts';
import { AUTHOR, BRANCH, copyRepository, fastImport, git, importStream, TIME } from '../git.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

const GROUP = 100;
const GROUPS = 30;
const COMMITS = GROUP * GROUPS;

interface Edit {
  readonly file: CorpusFile;
  readonly message: string;
}

export async function measureEngine(fixture: Fixture): Promise<Line[]> {
  const edits = editsOf(fixture.corpus);
  const rates = { inTurn: [] as number[], overlapping: [] as number[], git: [] as number[] };
  for (let i = 0; i < fixture.repetitions; i++) {
    const imported = await importOnce(fixture, edits);
    rates.git.push(imported.rate);
    rates.inTurn.push(await writeOnce(fixture, { edits, write: writeInTurn, tip: imported.tip }));
    rates.overlapping.push(
      await writeOnce(fixture, { edits, write: writeOverlapping, tip: imported.tip }),
    );
  }
  const reference = { name: 'git fast-import, same commits', measured: summarize(rates.git) };
  const line = (name: string, samples: number[]): Line =>
    withGoal({ name, unit: '/s', measured: summarize(samples), reference }, { atLeast: 1 });
  return [
    line(`engine, groups of ${GROUP}`, rates.inTurn),
    line(`engine, groups of ${GROUP}, building ahead`, rates.overlapping),
  ];
}

function editsOf(corpus: Corpus): Edit[] {
  return Array.from({ length: COMMITS }, (_, i) => ({
    file: corpus.secretFile((i * 7919) % corpus.secrets, `change-${i}`),
    message: `change ${i}`,
  }));
}

async function importOnce(
  fixture: Fixture,
  edits: readonly Edit[],
): Promise<{ rate: number; tip: string }> {
  const gitDir = await copyOf(fixture);
  const head = await git(gitDir, 'rev-parse', BRANCH);
  const commits = edits.map(({ file, message }) => ({ files: [file], message: `${message}\n` }));
  const stream = [...importStream(`refs/heads/${BRANCH}`, head, commits)];
  const whole = [Buffer.concat(stream.map((part) => Buffer.from(part)))];
  const { ms } = await timed(() => fastImport(gitDir, whole));
  return { rate: (COMMITS * 1000) / ms, tip: await git(gitDir, 'rev-parse', BRANCH) };
}

async function writeOnce(
  fixture: Fixture,
  of: {
    edits: readonly Edit[];
    write: (repository: BareRepository, edits: readonly Edit[]) => Promise<void>;
    tip: string;
  },
): Promise<number> {
  const repository = await openRepository({ gitDir: await copyOf(fixture), branch: BRANCH });
  try {
    const { ms } = await timed(() => of.write(repository, of.edits));
    const tip = await repository.head();
    if (tip !== of.tip) throw new Error(`The engine made ${tip} and git ${of.tip}`);
    return (COMMITS * 1000) / ms;
  } finally {
    await repository.close();
  }
}

/** Each group waits until the one before it is durable. */
async function writeInTurn(repository: BareRepository, edits: readonly Edit[]): Promise<void> {
  let parent = await repository.head();
  for (let start = 0; start < edits.length; start += GROUP) {
    const batch = repository.begin(parent);
    for (const edit of edits.slice(start, start + GROUP)) await batch.add(commitOf(edit));
    await batch.publish();
    parent = batch.tip;
  }
}

/** The next group is built while the last one is on its way to the disk. */
async function writeOverlapping(repository: BareRepository, edits: readonly Edit[]): Promise<void> {
  let parent = await repository.head();
  let last: Promise<void> = Promise.resolve();
  for (let start = 0; start < edits.length; start += GROUP) {
    const batch = repository.begin(parent);
    for (const edit of edits.slice(start, start + GROUP)) await batch.add(commitOf(edit));
    await last;
    last = batch.publish();
    parent = batch.tip;
  }
  await last;
}

function commitOf({
  file,
  message,
}: Edit): Parameters<ReturnType<BareRepository['begin']>['add']>[0] {
  return { changes: [file], author: AUTHOR, committer: AUTHOR, time: TIME, message };
}

async function copyOf(fixture: Fixture): Promise<string> {
  return await copyRepository(await fixture.repository(), fixture.workspace.path('engine.git'));
}

/** The load of `throughput.ts` into one directory of 10,000 files, which every commit changes. */
import { join } from 'node:path';
import { Corpus } from '../corpus.ts';
import type { Fixture } from '../fixture.ts';
import { copyRepository } from '../git.ts';
import { type Line, withGoal } from '../report.ts';
import { type Summary, summarize } from '../statistics.ts';
import { CLIENTS, importRates, writeRates } from './throughput.ts';

const FILES = 10_000;
/** A corpus has so many teams beside its secrets. */
const TEAMS = 1000;

export async function measureWide(fixture: Fixture): Promise<Line[]> {
  const size = FILES + TEAMS;
  const narrow = await rates(fixture.on(new Corpus(size)));
  const wide = await rates(fixture.on(new Corpus(size, FILES)));
  const name = `create, ${CLIENTS} clients, directory of ${FILES} files`;
  const line = { name, unit: '/s', measured: wide.written } as const;
  return [
    withGoal(
      { ...line, reference: { name: 'the same, 100 files a directory', measured: narrow.written } },
      { atLeast: 0.25 },
    ),
    { ...line, reference: { name: 'git fast-import, same commits', measured: wide.imported } },
    {
      name: 'git fast-import into that directory',
      unit: '/s',
      measured: wide.imported,
      reference: { name: 'the same, 100 files a directory', measured: narrow.imported },
    },
  ];
}

async function rates(fixture: Fixture): Promise<{ written: Summary; imported: Summary }> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const before = await copyRepository(gitDir, fixture.workspace.path('before.git'));
  const written = summarize(await writeRates(fixture, dataDir));
  return { written, imported: summarize(await importRates(fixture, before, gitDir)) };
}

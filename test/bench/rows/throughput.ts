/** 64 clients that write: commits a second, each durable and acknowledged. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runGit } from '../../../src/git/process/git-process.ts';
import type { Fixture } from '../fixture.ts';
import { AUTHOR, BRANCH, copyRepository, FAST_IMPORT, feedGit, git } from '../git.ts';
import { throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';
import { createRequest } from './write.ts';

export const CLIENTS = 64;
/** A daemon that has run for a while is measured: until then V8 compiles. */
const WARM_UP_MS = 8000;
const MEASURED_MS = 3000;
/** `git commit` takes tens of milliseconds. */
const LOOP_COMMITS = 20;

export async function measureThroughput(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const before = await copyRepository(gitDir, fixture.workspace.path('before.git'));
  const measured = summarize(await writeRates(fixture, dataDir));
  const imported = summarize(await importRates(fixture, before, gitDir));
  const looped = summarize(await commitRates(fixture, before));
  const line = { name: `create, ${CLIENTS} clients`, unit: '/s', measured } as const;
  return [
    withGoal(
      { ...line, reference: { name: 'git fast-import, same commits', measured: imported } },
      { atLeast: 0.5 },
    ),
    withGoal(
      { ...line, reference: { name: 'git add + git commit, in a loop', measured: looped } },
      { atLeast: 30 },
    ),
  ];
}

export async function writeRates(fixture: Fixture, dataDir: string): Promise<number[]> {
  const daemon = await fixture.start(dataDir);
  let made = 0;
  const load = {
    endpoint: daemon.http,
    connections: CLIENTS,
    status: 201,
    next: () => createRequest(fixture, daemon.token, made++),
  };
  const rates: number[] = [];
  try {
    await throughput({ ...load, ms: WARM_UP_MS });
    for (let i = 0; i < fixture.repetitions; i++) {
      rates.push(await throughput({ ...load, ms: MEASURED_MS }));
    }
  } finally {
    await daemon.stop();
  }
  return rates;
}

/** The commits that the daemon just made, written again by git on a copy of where it began. */
export async function importRates(
  fixture: Fixture,
  before: string,
  after: string,
): Promise<number[]> {
  const from = await git(before, 'rev-parse', BRANCH);
  const tip = await git(after, 'rev-parse', BRANCH);
  const count = Number(await git(after, 'rev-list', '--count', `${from}..${tip}`));
  const range = ['--reference-excluded-parents', '--use-done-feature', `${from}..${BRANCH}`];
  const stream = await runGit({ gitDir: after }, ['fast-export', ...range]);
  const rates: number[] = [];
  for (let i = 0; i < fixture.repetitions; i++) {
    const copy = await copyRepository(before, fixture.workspace.path('imported.git'));
    const { ms } = await timed(() => feedGit(copy, FAST_IMPORT, [stream]));
    rates.push((count * 1000) / ms);
    const made = await git(copy, 'rev-parse', BRANCH);
    if (made !== tip) throw new Error(`git fast-import made ${made} and not the same as ${tip}`);
  }
  return rates;
}

async function commitRates(fixture: Fixture, before: string): Promise<number[]> {
  const gitDir = await copyRepository(before, fixture.workspace.path('loop.git'));
  const workTree = fixture.workspace.path('loop');
  await mkdir(workTree);
  await git(gitDir, 'config', 'core.bare', 'false');
  await git(gitDir, 'config', 'user.name', AUTHOR.name);
  await git(gitDir, 'config', 'user.email', AUTHOR.email);
  const run = (...args: string[]) => git(gitDir, '-C', workTree, '--work-tree', workTree, ...args);
  await run('reset', '-q', '--hard');
  const rates: number[] = [];
  let made = 0;
  for (let i = 0; i < fixture.repetitions; i++) {
    const { ms } = await timed(async () => {
      for (let k = 0; k < LOOP_COMMITS; k++) {
        const { namespace, name, body } = fixture.corpus.newSecret(made++);
        const path = `namespaces/${namespace}/sharedsecrets/${name}.yaml`;
        await mkdir(dirname(join(workTree, path)), { recursive: true });
        await writeFile(join(workTree, path), body);
        await run('add', path);
        await run('commit', '-q', '-m', `create ${name}`);
      }
    });
    rates.push((LOOP_COMMITS * 1000) / ms);
  }
  return rates;
}

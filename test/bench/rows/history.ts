/** The past: the first question after a start, objects and lists as they were, what became of one. */
import { join } from 'node:path';
import { type Corpus, secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { BRANCH, fastImport, feedGit, git, type ImportedCommit, importStream } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

const COMMITS = 2000;
/** So often one and the same object is changed, to have one with a long history. */
const HOT_EVERY = 20;
const OBJECTS = 200;
const LISTS = 20;
const GIT_SAMPLES = 20;

export async function measureHistory(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const from = await git(gitDir, 'rev-parse', BRANCH);
  await fastImport(gitDir, importStream(`refs/heads/${BRANCH}`, from, changes(fixture)));
  const line = (await git(gitDir, 'rev-list', '--first-parent', BRANCH)).split('\n');
  const daemon = await fixture.start(dataDir);
  try {
    return await measure(fixture, { daemon, gitDir, line });
  } finally {
    await daemon.stop();
  }
}

function* changes({ corpus }: Fixture): Generator<ImportedCommit> {
  for (let i = 1; i <= COMMITS; i++) {
    const secret = i % HOT_EVERY === 0 ? 0 : changedBy(i, corpus.secrets);
    yield { files: [corpus.secretFile(secret, `change-${i}`)], message: `Change ${i}\n` };
  }
}

function changedBy(commit: number, secrets: number): number {
  return (commit * 7919) % Math.max(secrets, 1);
}

interface Setting {
  readonly daemon: DaemonProcess;
  readonly gitDir: string;
  /** Newest first. */
  readonly line: readonly string[];
}

async function measure(fixture: Fixture, setting: Setting): Promise<Line[]> {
  const { daemon, gitDir, line } = setting;
  const { corpus } = fixture;
  const connection = await HttpConnection.open(daemon.http);
  const ask = async (path: string): Promise<number> => {
    const request = requestBytes({ method: 'GET', path, token: daemon.token });
    const { ms, result } = await timed(() => connection.send(request));
    assertStatus(result, 200);
    return ms;
  };
  const back = (commits: number): string => `atRevision=${line[commits] ?? ''}`;
  const middle = Math.floor(COMMITS / 2);
  const first = await ask(`${pathOf(1, corpus)}?${back(middle)}`);
  const objects: number[] = [];
  const lists: number[] = [];
  for (let i = 2; i < OBJECTS + 2; i++) {
    objects.push(await ask(`${pathOf(i, corpus)}?${back(middle)}`));
  }
  for (let i = 1; i <= LISTS; i++) {
    const namespace = `${API}/namespaces/${corpus.namespaceOf(0)}/sharedsecrets`;
    lists.push(await ask(`${namespace}?${back((i * COMMITS) / LISTS - 1)}`));
  }
  const hot = `${API}/namespaces/${corpus.namespaceOf(0)}/sharedsecrets/${secretName(0)}/history`;
  const histories = [await ask(hot)];
  connection.close();
  const log = (await timed(() => feedGit(gitDir, LOG, []))).ms;
  return [
    withGit(`first past read, ${COMMITS} commits`, [first], { name: 'git log --raw', ms: [log] }),
    withGit('GET one, past', objects, {
      name: 'git log -- path',
      ms: await gitLogs(fixture, setting),
    }),
    { name: `LIST of a namespace, up to ${COMMITS} back`, unit: 'ms', measured: summarize(lists) },
    { name: 'history of 100 changes', unit: 'ms', measured: summarize(histories) },
  ];
}

const LOG = ['log', '--raw', '--no-abbrev', '--no-renames', '-m', BRANCH];

function withGit(
  name: string,
  ms: readonly number[],
  reference: { name: string; ms: readonly number[] },
): Line {
  const measured = summarize(reference.ms);
  return {
    name,
    unit: 'ms',
    measured: summarize(ms),
    reference: { name: reference.name, measured },
  };
}

/** What a script would run to find out which commit to read. */
async function gitLogs({ corpus }: Fixture, { gitDir }: Setting): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < GIT_SAMPLES; i++) {
    const { path } = corpus.secretFile(i, '');
    const args = ['log', '-1', '--format=%H', BRANCH, '--', path];
    samples.push((await timed(() => feedGit(gitDir, args, []))).ms);
  }
  return samples;
}

function pathOf(commit: number, corpus: Corpus): string {
  const secret = changedBy(commit, corpus.secrets);
  return `${API}/namespaces/${corpus.namespaceOf(secret)}/sharedsecrets/${secretName(secret)}`;
}

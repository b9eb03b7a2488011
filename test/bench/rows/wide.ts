/**
 * Writes to one folder of many files, flat and after `gitplane repo fan-out`, beside writes to folders
 * of 100, by three daemons in turns.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Corpus, secretName } from '../corpus.ts';
import { API, type DaemonProcess, MAIN } from '../daemon-process.ts';
import { bytesBelow } from '../disk.ts';
import type { Fixture } from '../fixture.ts';
import { AUTHOR, BRANCH, copyRepository, git } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize, timed } from '../statistics.ts';
import { CLIENTS, importRates } from './throughput.ts';
import { createRequest } from './write.ts';

const AUTHOR_VARIABLES = {
  GIT_AUTHOR_NAME: AUTHOR.name,
  GIT_AUTHOR_EMAIL: AUTHOR.email,
  GIT_COMMITTER_NAME: AUTHOR.name,
  GIT_COMMITTER_EMAIL: AUTHOR.email,
};
/** A wider one needs `--manifests` of that size. */
const WIDTHS = [6000, 28_000, 100_000];
/** A corpus has so many teams beside its secrets. */
const TEAMS = 1000;
const WARM_UP = 100;
const WRITES = 300;
const LOAD_MS = 3000;
/** Checkpoints and the removal of the packs that they replace are done. */
const REST_MS = 4000;

export async function measureWide(fixture: Fixture): Promise<Line[]> {
  const most = Math.max(28_000, fixture.corpus.size);
  const lines: Line[] = [];
  for (const width of WIDTHS.filter((one) => one <= most)) {
    lines.push(...(await measureWidth(fixture, width)));
  }
  return lines;
}

async function measureWidth(fixture: Fixture, width: number): Promise<Line[]> {
  const corpus = new Corpus(width + TEAMS, width);
  const narrow = await Side.open(fixture.on(new Corpus(width + TEAMS)));
  const flat = await Side.open(fixture.on(corpus));
  const spread = await Side.open(fixture.on(corpus), fanOut);
  const sides = [narrow, flat, spread];
  try {
    for (const write of ['create', 'change'] as const) await measureAlone(sides, write);
    for (let i = 0; i < fixture.repetitions; i++) for (const side of sides) await side.load();
  } finally {
    for (const side of sides) await side.close();
  }
  const imported = summarize(await importRates(flat.fixture, flat.before, flat.gitDir));
  return [
    ...linesOf(`folder of ${width} files`, flat, narrow),
    {
      name: `create, ${CLIENTS} clients, folder of ${width} files`,
      unit: '/s',
      measured: summarize(flat.rates),
      reference: { name: 'git fast-import, same commits', measured: imported },
    },
    ...linesOf(`${width} files fanned out`, spread, narrow),
  ];
}

async function measureAlone(sides: readonly Side[], write: Write): Promise<void> {
  for (let i = 0; i < WARM_UP; i++) for (const side of sides) await side.send(write);
  for (const side of sides) await side.settle(write);
  for (let i = 0; i < WRITES; i++) for (const side of sides) await side.sample(write);
  for (const side of sides) await side.settle(write);
}

function linesOf(where: string, side: Side, narrow: Side): Line[] {
  const line = (name: string, unit: Line['unit'], of: (side: Side) => number[]): Line => ({
    name: `${name}, ${where}`,
    unit,
    measured: summarize(of(side)),
    reference: { name: 'the same, 100 files a folder', measured: summarize(of(narrow)) },
  });
  return [
    withGoal(
      line('create', 'ms', ({ ms }) => ms.create),
      { atMost: 1.2 },
    ),
    line('change', 'ms', ({ ms }) => ms.change),
    withGoal(
      line(`create, ${CLIENTS} clients`, '/s', ({ rates }) => rates),
      { atLeast: 0.8 },
    ),
    line('disk per create', 'KB', ({ kilobytes }) => kilobytes.create),
    line('disk per change', 'KB', ({ kilobytes }) => kilobytes.change),
  ];
}

/** Moves the branch to a commit of `gitplane repo fan-out`. */
async function fanOut(gitDir: string): Promise<void> {
  const args = [MAIN, 'repo', 'fan-out', '--rev', BRANCH, '--output', 'json'];
  const env = { ...process.env, ...AUTHOR_VARIABLES };
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: gitDir,
    env,
    maxBuffer: 256 * 1024 * 1024,
  });
  const commit = /"commit": "(\w{40})"/.exec(stdout.toString())?.[1];
  if (commit === undefined) throw new Error(`gitplane repo fan-out made no commit: ${stderr}`);
  await git(gitDir, 'update-ref', `refs/heads/${BRANCH}`, commit);
}

type Write = 'create' | 'change';

class Side {
  readonly fixture: Fixture;
  readonly gitDir: string;
  /** The repository as it was before the first write. */
  readonly before: string;
  readonly ms: Record<Write, number[]> = { create: [], change: [] };
  readonly kilobytes: Record<Write, number[]> = { create: [], change: [] };
  readonly rates: number[] = [];
  readonly #daemon: DaemonProcess;
  readonly #connection: HttpConnection;
  #sent = 0;
  #settled: number | undefined;

  private constructor(of: {
    fixture: Fixture;
    gitDir: string;
    before: string;
    daemon: DaemonProcess;
    connection: HttpConnection;
  }) {
    this.fixture = of.fixture;
    this.gitDir = of.gitDir;
    this.before = of.before;
    this.#daemon = of.daemon;
    this.#connection = of.connection;
  }

  /** `prepare` changes the repository before the daemon starts. */
  static async open(fixture: Fixture, prepare?: (gitDir: string) => Promise<void>): Promise<Side> {
    const dataDir = await fixture.copyOfPlatform();
    const gitDir = join(dataDir, 'repo.git');
    await prepare?.(gitDir);
    const before = await copyRepository(gitDir, fixture.workspace.path('before.git'));
    const daemon = await fixture.start(dataDir);
    const connection = await HttpConnection.open(daemon.http);
    return new Side({ fixture, gitDir, before, daemon, connection });
  }

  async send(write: Write): Promise<void> {
    const answer = await this.#connection.send(this.#request(write));
    assertStatus(answer, write === 'create' ? 201 : 200);
  }

  async sample(write: Write): Promise<void> {
    this.ms[write].push((await timed(() => this.send(write))).ms);
  }

  /** Waits for the background, and adds the disk per write since the last call. */
  async settle(write: Write): Promise<void> {
    await sleep(REST_MS);
    const bytes = await bytesBelow(join(this.gitDir, 'objects'));
    if (this.#settled !== undefined && this.ms[write].length > 0) {
      this.kilobytes[write].push((bytes - this.#settled) / WRITES / 1024);
    }
    this.#settled = bytes;
  }

  async load(): Promise<void> {
    const rate = await throughput({
      endpoint: this.#daemon.http,
      connections: CLIENTS,
      status: 201,
      ms: LOAD_MS,
      next: () => this.#request('create'),
    });
    this.rates.push(rate);
  }

  async close(): Promise<void> {
    this.#connection.close();
    await this.#daemon.stop();
  }

  #request(write: Write): Buffer {
    const { corpus } = this.fixture;
    const { token } = this.#daemon;
    const i = this.#sent++;
    if (write === 'create') return createRequest(this.fixture, token, i);
    const secret = (i * 7919) % corpus.secrets;
    return requestBytes({
      method: 'PATCH',
      path: `${API}/namespaces/${corpus.namespaceOf(secret)}/sharedsecrets/${secretName(secret)}`,
      token,
      type: 'application/merge-patch+json',
      body: Buffer.from(JSON.stringify({ spec: { description: `changed ${i}` } })),
    });
  }
}

/**
 * Reads while the daemon has other work: a large push is judged and followed, packs are rolled up.
 * What reads wait for is the event loop, so its delay is shown beside them.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGit } from '../../../src/git/process/git-process.ts';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { BRANCH, copyRepository, fastImport, git, importStream } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus } from '../load.ts';
import type { Line } from '../report.ts';
import { type Summary, summarize, timed } from '../statistics.ts';
import { createRequest } from './write.ts';

const QUIET_MS = 3_000;
const UPKEEP_MS = 3_000;
/** Between two reads, so that they meet what the daemon does and are not all that it does. */
const PAUSE_MS = 2;
/** Of all manifests, those that the push changes. */
const PUSHED_SHARE = 0.2;
/** One more pack each; maintenance begins at fifty. */
const PACKS = 60;
const MOST_SLOWER = 2;

interface Observed {
  readonly reads: Summary;
  /** Milliseconds. */
  readonly loopDelayP99: number;
}

export async function measureIsolation(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.copyOfPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const client = await copyRepository(gitDir, fixture.workspace.path('client.git'));
  await prepareLargePush(client, fixture);
  const daemon = await fixture.start(dataDir);
  try {
    const quiet = await observe(fixture, daemon, () => sleep(QUIET_MS));
    const pushing = await observe(fixture, daemon, async () => {
      await runGit({ gitDir: client }, ['push', '-q', gitDir, BRANCH]);
    });
    await addPacks(fixture, daemon);
    const upkeep = await observe(fixture, daemon, () => sleep(UPKEEP_MS));
    return [
      ...linesOf('during a large push', pushing, quiet),
      ...linesOf('during maintenance', upkeep, quiet),
    ];
  } finally {
    await daemon.stop();
  }
}

async function prepareLargePush(client: string, { corpus }: Fixture): Promise<void> {
  const head = await git(client, 'rev-parse', BRANCH);
  const count = Math.ceil(corpus.secrets * PUSHED_SHARE);
  const files = Array.from({ length: count }, (_, i) => corpus.secretFile(i, 'pushed'));
  const commits = [{ files, message: 'Change many' }];
  await fastImport(client, importStream(`refs/heads/${BRANCH}`, head, commits));
}

async function addPacks(fixture: Fixture, daemon: DaemonProcess): Promise<void> {
  const connection = await HttpConnection.open(daemon.http);
  for (let i = 0; i < PACKS; i++) {
    assertStatus(await connection.send(createRequest(fixture, daemon.token, i)), 201);
  }
  connection.close();
}

/** Reads one object again and again until `work` is done. */
async function observe(
  { corpus }: Fixture,
  daemon: DaemonProcess,
  work: () => Promise<unknown>,
): Promise<Observed> {
  const middle = Math.floor(corpus.secrets / 2);
  const path = `${API}/namespaces/${corpus.namespaceOf(middle)}/sharedsecrets/${secretName(middle)}`;
  const request = requestBytes({ method: 'GET', path, token: daemon.token });
  const connection = await HttpConnection.open(daemon.http);
  const samples: number[] = [];
  await loopDelayP99(daemon);
  let over = false;
  const working = work().finally(() => {
    over = true;
  });
  while (!over) {
    const { ms, result } = await timed(() => connection.send(request));
    assertStatus(result, 200);
    samples.push(ms);
    await sleep(PAUSE_MS);
  }
  await working;
  connection.close();
  return { reads: summarize(samples), loopDelayP99: await loopDelayP99(daemon) };
}

/** Since it was asked for the last time, in milliseconds. */
async function loopDelayP99(daemon: DaemonProcess): Promise<number> {
  const connection = await HttpConnection.open(daemon.http);
  const request = requestBytes({ method: 'GET', path: '/metrics', token: daemon.token });
  const { body } = await connection.send(request, true);
  connection.close();
  const text = body?.toString('utf8') ?? '';
  return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1] ?? Number.NaN) * 1000;
}

function linesOf(when: string, busy: Observed, quiet: Observed): Line[] {
  const most = MOST_SLOWER * quiet.reads.p99;
  return [
    {
      name: `GET one ${when}`,
      unit: 'ms',
      measured: busy.reads,
      reference: { name: 'the same with nothing else to do', measured: quiet.reads },
      goal: { text: `p99 ≤ ${MOST_SLOWER}x`, met: busy.reads.p99 <= most },
    },
    {
      name: `event loop, p99, ${when}`,
      unit: 'ms',
      measured: summarize([busy.loopDelayP99]),
      reference: {
        name: 'the same with nothing else to do',
        measured: summarize([quiet.loopDelayP99]),
      },
    },
  ];
}

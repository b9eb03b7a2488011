/**
 * Both roads at once: 20 clients write through the API at full speed, and five people commit and push
 * without a pull, each on objects of their own.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GitProcess } from '../../../src/git/process/git-process.ts';
import { PUSH } from '../../../src/git/process/process-limits.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { AUTHOR, git } from '../git.ts';
import { throughput } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';
import { createRequest } from './write.ts';

const WRITERS = 20;
const PEOPLE = 5;
/** A repetition. */
const MEASURED_MS = 20_000;
const THINK_MS = 800;
const GOAL_MS = 2000;

interface Pushes {
  /** Milliseconds of each push that landed. */
  readonly landed: number[];
  /** What git said of the others. */
  readonly refused: string[];
}

export async function measureRoads(fixture: Fixture): Promise<Line[]> {
  const daemon = await fixture.start(await fixture.copyOfPlatform());
  const pushes: Pushes = { landed: [], refused: [] };
  let made = 0;
  const load = {
    endpoint: daemon.http,
    connections: WRITERS,
    status: 201,
    next: () => createRequest(fixture, daemon.token, made++),
  };
  try {
    const clones = await Promise.all(
      Array.from({ length: PEOPLE }, (_, i) => Clone.make(fixture, daemon, i)),
    );
    const alone = [await throughput({ ...load, ms: MEASURED_MS / 4 })];
    const rates: number[] = [];
    for (let i = 0; i < fixture.repetitions; i += 1) {
      const until = performance.now() + MEASURED_MS;
      const people = clones.map((clone) => clone.pushUntil(until, pushes));
      rates.push(await throughput({ ...load, ms: MEASURED_MS }));
      await Promise.all(people);
    }
    for (const reason of pushes.refused) process.stderr.write(`bench: a push failed: ${reason}\n`);
    const measured = summarize(pushes.landed);
    const all = pushes.refused.length === 0;
    return [
      {
        name: `push beside ${WRITERS} writers, ${pushes.landed.length} of ${pushes.landed.length + pushes.refused.length} at the first try`,
        unit: 'ms',
        measured,
        goal: { text: 'all, p99 < 2 s', met: all && measured.p99 < GOAL_MS },
      },
      {
        name: `create, ${WRITERS} clients, meanwhile`,
        unit: '/s',
        measured: summarize(rates),
        reference: { name: 'without pushes', measured: summarize(alone) },
      },
    ];
  } finally {
    await daemon.stop();
  }
}

class Clone {
  readonly #gitDir: string;
  readonly #folder: string;
  readonly #fixture: Fixture;
  readonly #person: number;
  #commits = 0;

  private constructor(fixture: Fixture, folder: string, person: number) {
    this.#fixture = fixture;
    this.#folder = folder;
    this.#gitDir = join(folder, '.git');
    this.#person = person;
  }

  static async make(fixture: Fixture, daemon: DaemonProcess, person: number): Promise<Clone> {
    const folder = fixture.workspace.path('clone');
    const url = `http://admin:${daemon.token}@127.0.0.1:${daemon.http.port}/git/platform.git`;
    await git(fixture.workspace.root, 'clone', '-q', url, folder);
    const clone = new Clone(fixture, folder, person);
    await git(clone.#gitDir, 'config', 'user.name', AUTHOR.name);
    await git(clone.#gitDir, 'config', 'user.email', AUTHOR.email);
    return clone;
  }

  async pushUntil(until: number, pushes: Pushes): Promise<void> {
    while (performance.now() < until) {
      await this.#commit();
      await sleep(THINK_MS);
      const started = performance.now();
      const push = new GitProcess({ gitDir: this.#gitDir }, ['push', '-q'], PUSH);
      push.stdin.end();
      push.stdout.resume();
      const { code } = await push.ended;
      if (code === 0) pushes.landed.push(performance.now() - started);
      else pushes.refused.push(push.stderr);
    }
  }

  /** Changes a secret that no other person changes. */
  async #commit(): Promise<void> {
    const { corpus } = this.#fixture;
    const secret = (this.#person + PEOPLE * this.#commits) % corpus.secrets;
    const mark = `push-${this.#person}-${this.#commits}`;
    this.#commits += 1;
    const { path, content } = corpus.secretFile(secret, mark);
    const file = join(this.#folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    const workTree = ['-C', this.#folder, '--work-tree', this.#folder];
    await git(this.#gitDir, ...workTree, 'add', path);
    await git(this.#gitDir, ...workTree, 'commit', '-q', '-m', mark);
  }
}

/** Client that pushes commits of two files, each time through another replica. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { manifest } from '../../e2e/clones.ts';
import { type RunResult, scratchDir } from '../../support/daemon.ts';
import type { Replica } from '../../support/replica.ts';
import type { Output } from '../object-model.ts';
import type { Scene } from './scene.ts';

/** What a refusal says that is certain to have changed nothing. */
const SURELY_REFUSED =
  /fetch first|non-fast-forward|moved meanwhile|cannot lock ref|failed to update ref|pre-receive hook declined|remote rejected/;
/** What it says when that is not certain. */
const UNSURE = /not known whether the push counts/;
/** A replica that is stopped would hold git for ever. */
const IMPATIENT = ['-c', 'http.lowSpeedLimit=1', '-c', 'http.lowSpeedTime=10'];
const LONGEST_PAUSE_MS = 300;

export async function usePushes(scene: Scene): Promise<void> {
  const pusher = new Pusher(scene);
  while (!scene.over) {
    await pusher.next();
    await sleep(scene.random.below(LONGEST_PAUSE_MS));
  }
}

class Pusher {
  readonly #scene: Scene;
  readonly #folder = join(scratchDir('gitplane-pusher-'), 'clone');
  #cloned = false;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async next(): Promise<void> {
    const scene = this.#scene;
    const replica = scene.somewhere();
    if (!(await this.#fetched(replica))) return;
    const value = scene.mark();
    const start = scene.random.below(scene.names.length);
    const names = [0, 1].map((i) => scene.names[(start + i) % scene.names.length] ?? '');
    for (const name of names) {
      const text = manifest('Team', name, `{displayName: ${value}}`);
      writeFileSync(join(this.#folder, `teams/${name}.yaml`), text);
    }
    await this.#git(replica, 'add', '--all');
    await this.#git(replica, 'commit', '-q', '-m', `push ${value}`);
    const commit = (await this.#git(replica, 'rev-parse', 'HEAD')).stdout.trim();
    scene.keys.add(commit);
    const called = performance.now();
    const { code, stderr } = await this.#git(
      replica,
      'push',
      '-q',
      this.#url(replica),
      'HEAD:main',
    );
    const refused = code !== 0 && SURELY_REFUSED.test(stderr) && !UNSURE.test(stderr);
    scene.pushesLost = refused ? scene.pushesLost + 1 : 0;
    if (refused) {
      scene.refused.add(commit);
      return;
    }
    if (code === 0) scene.pushes += 1;
    const output: Output | undefined = code === 0 ? { ok: true } : undefined;
    const returned = code === 0 ? performance.now() : Number.POSITIVE_INFINITY;
    const end = code === 0 ? 'pushed' : stderr;
    for (const name of names) {
      const input = { op: 'push', value } as const;
      scene.operations.push({ name, input, output, called, returned, key: commit, commit, end });
    }
  }

  /** On top of the branch as this replica shows it. */
  async #fetched(replica: Replica): Promise<boolean> {
    const url = this.#url(replica);
    if (!this.#cloned) {
      const { code } = await replica.daemon.git(
        [...IMPATIENT, 'clone', '-q', url, this.#folder],
        '/',
      );
      this.#cloned = code === 0;
      return this.#cloned;
    }
    if ((await this.#git(replica, 'fetch', '-q', url, 'main')).code !== 0) return false;
    return (await this.#git(replica, 'reset', '-q', '--hard', 'FETCH_HEAD')).code === 0;
  }

  #url({ place, port }: Replica): string {
    return `https://admin:${this.#scene.set.token}@${place.host}:${port}/git/platform.git`;
  }

  #git(replica: Replica, ...args: string[]): Promise<RunResult> {
    return replica.daemon.git([...IMPATIENT, ...args], this.#folder);
  }
}

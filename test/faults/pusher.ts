/**
 * Client that pushes commits of two files each, over HTTPS and by path. Both files must arrive, or
 * neither.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, type RunResult, run, scratchDir } from '../support/daemon.ts';
import { gitEnv } from '../support/git.ts';
import type { Random } from '../support/random.ts';
import type { Journal } from './journal.ts';
import { created, type Life, manifestOf, specOf, type View } from './life.ts';

/** What a refusal says that is certain to have changed nothing. */
const SURELY_REFUSED =
  /fetch first|non-fast-forward|moved meanwhile|cannot lock ref|failed to update ref|pre-receive hook declined|remote rejected/;

export interface PusherOptions {
  readonly lives: readonly Life[];
  readonly journal: Journal;
  readonly random: Random;
}

export class Pusher {
  readonly lives: readonly Life[];
  readonly #options: PusherOptions;
  readonly #folder = join(scratchDir('gitplane-pusher-'), 'clone');
  #cloned = false;

  constructor(options: PusherOptions) {
    this.lives = options.lives;
    this.#options = options;
  }

  /** Pushes until the daemon is gone or it is told to stop. */
  async pushUntil(daemon: Daemon, stopped: () => boolean): Promise<void> {
    const { random } = this.#options;
    while (!stopped() && this.lives.every(({ pending }) => pending === undefined)) {
      const key = await this.#commit(daemon);
      if (key === undefined) return;
      await this.#push(daemon, key);
      await sleep(random.below(60));
    }
  }

  /** On top of the branch as it is now. Undefined: it cannot be read. */
  async #commit(daemon: Daemon): Promise<string | undefined> {
    const { journal, random } = this.#options;
    const bare = join(daemon.dataDir, 'repo.git');
    if (!this.#cloned) {
      if ((await run('git', ['clone', '-q', bare, this.#folder], { env: gitEnv })).code !== 0) {
        return undefined;
      }
      this.#cloned = true;
    }
    if ((await this.#git('fetch', '-q', bare, 'main')).code !== 0) return undefined;
    await this.#git('reset', '-q', '--hard', 'FETCH_HEAD');
    const key = journal.key('push');
    for (const life of this.lives) {
      life.pending = { key, expected: this.#next(life, key, random), commits: true };
    }
    await this.#git('add', '--all');
    await this.#git('commit', '-q', '-m', `push ${key}`);
    return key;
  }

  #next(life: Life, mark: string, random: Random): View | null {
    const file = join(this.#folder, life.file);
    const { known, kind } = life;
    if (known !== null && random.chance(0.2)) {
      rmSync(file);
      return null;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, manifestOf(life, mark));
    if (known === null) return created(kind, mark, []);
    return { ...known, spec: specOf(kind, mark), generation: known.generation + 1 };
  }

  async #push(daemon: Daemon, key: string): Promise<void> {
    const { journal, random } = this.#options;
    const target = random.chance(0.5) ? join(daemon.dataDir, 'repo.git') : urlOf(daemon);
    const { code, stderr } = await this.#gitOf(daemon, 'push', '-q', target, 'HEAD:main');
    if (code === 0) {
      const commit = (await this.#git('rev-parse', 'HEAD')).stdout.trim();
      journal.counts.pushes += 1;
      journal.pushesLost = 0;
      journal.answered();
      journal.acknowledged.push({ key, commit });
      for (const life of this.lives) {
        life.known = life.pending?.expected ?? null;
        life.pending = undefined;
      }
    } else if (SURELY_REFUSED.test(stderr)) {
      for (const life of this.lives) life.pending = undefined;
      journal.pushesLost += 1;
    }
  }

  #git(...args: string[]): Promise<RunResult> {
    return run('git', args, { cwd: this.#folder, env: gitEnv });
  }

  #gitOf(daemon: Daemon, ...args: string[]): Promise<RunResult> {
    return daemon.git(args, this.#folder);
  }
}

function urlOf({ token, port }: Daemon): string {
  return `https://admin:${token}@127.0.0.1:${port}/git/platform.git`;
}

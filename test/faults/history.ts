/** What the repository says happened, read by git itself. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAbandoned } from '../../src/files/owner.ts';
import { run } from '../support/daemon.ts';
import { gitEnv } from '../support/git.ts';

export interface LoggedCommit {
  readonly id: string;
  readonly subject: string;
  /** Of the write or push that made it; undefined for commits of nobody of ours. */
  readonly key: string | undefined;
  readonly requestIds: readonly string[];
}

const LEFTOVER = /tmp_gitplane|claim-|refs\/heads\/.*\.lock$|\.new$/;

/** Twice what is kept ready, as what is not needed any more goes later. */
const MOST_CLAIMS = 64;

function isOfRunning(name: string): boolean {
  const owner = /claim-(.+)-[0-9a-f]{12}$/.exec(name)?.[1];
  return owner !== undefined && !isAbandoned(owner, 0);
}

export class GitReader {
  readonly gitDir: string;

  constructor(gitDir: string) {
    this.gitDir = gitDir;
  }

  async head(): Promise<string> {
    return await this.#git('rev-parse', '--verify', 'refs/heads/main');
  }

  async isAncestor(older: string, newer: string): Promise<boolean> {
    const args = ['merge-base', '--is-ancestor', older, newer];
    return (await run('git', args, { cwd: this.gitDir, env: gitEnv })).code === 0;
  }

  /** Oldest first, without the merges that the platform made of pushes that were overtaken. */
  async commits(range: string): Promise<LoggedCommit[]> {
    const trailer = (name: string): string =>
      `%(trailers:key=${name},valueonly=true,separator=%x2C)`;
    const format = `%H%x09${trailer('Idempotency-Key')}%x09${trailer('Request-Id')}%x09%s`;
    const text = await this.#git(
      'log',
      '--no-merges',
      '--topo-order',
      '--reverse',
      `--format=${format}`,
      range,
    );
    if (text === '') return [];
    return text.split('\n').map((line) => {
      const [id = '', key = '', requestIds = '', subject = ''] = line.split('\t');
      const pushed = /^push (push-\d+)$/.exec(subject)?.[1];
      return {
        id,
        subject,
        key: pushed ?? (key === '' ? undefined : key),
        requestIds: requestIds === '' ? [] : requestIds.split(','),
      };
    });
  }

  /** Every path of the branch. */
  async files(): Promise<Set<string>> {
    const text = await this.#git('ls-tree', '-r', '--name-only', 'refs/heads/main');
    return new Set(text.split('\n'));
  }

  /** Undefined when all is well. Asks again while packs are being rolled up: damage stays. */
  async damage(): Promise<string | undefined> {
    let found: string | undefined;
    for (let attempt = 0; attempt < 5; attempt++) {
      const args = ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'];
      const { code, stdout, stderr } = await run('git', args, { cwd: this.gitDir, env: gitEnv });
      if (code === 0 && stdout === '' && stderr === '') return undefined;
      found = `git fsck ended with ${code}: ${stdout}${stderr}`;
      await sleep(300);
    }
    return found;
  }

  /**
   * What a process that died may leave, and the next one must remove. Asks again while the daemon
   * saves what its log holds: those files go. A running one has some for what it writes next.
   */
  async leftovers(): Promise<string[]> {
    for (let attempt = 0; ; attempt++) {
      const names = await readdir(this.gitDir, { recursive: true, encoding: 'utf8' }).catch(
        () => undefined,
      );
      const found = names?.filter((name) => LEFTOVER.test(name));
      const inUse = found?.filter(isOfRunning).slice(0, MOST_CLAIMS);
      const left = found?.filter((name) => !inUse?.includes(name));
      if (left?.length === 0 || attempt === 100) return left ?? [`${this.gitDir} unread`];
      await sleep(200);
    }
  }

  async #git(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run('git', args, { cwd: this.gitDir, env: gitEnv });
    if (code !== 0) throw new Error(`git ${args.join(' ')} in ${this.gitDir}: ${stderr}`);
    return stdout.trim();
  }
}

export function repositoryOf(dataDir: string): GitReader {
  return new GitReader(join(dataDir, 'repo.git'));
}

/** Exchanges with a remote that the launcher starts, as in the daemon. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startLauncher } from '../../../src/git/process/launcher.ts';
import { commitOf, publish, temporaryFolder } from '../../support/git.ts';
import { elsewhere, follow, serveGit } from '../../support/remote.ts';

beforeAll(() => startLauncher());

test.runIf(process.platform === 'linux')(
  'a push that runs when the launcher is lost counts as one with an unknown outcome, and is confirmed',
  async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository } = await follow({ url: server.url, outcomeTimeoutMs: 20_000 });
    const before = there.head();
    // The server goes on with what it has received, after its client has ended.
    mkdirSync(join(there.gitDir, 'hooks'));
    const lost = join(temporaryFolder(), 'lost');
    const hook = `#!/bin/sh\ntouch ${lost}.runs\nuntil test -e ${lost}; do sleep 0.05; done\n`;
    writeFileSync(join(there.gitDir, 'hooks/pre-receive'), hook, { mode: 0o755 });

    const published = publish(repository, commitOf({ a: '1' }));
    await expect.poll(() => existsSync(`${lost}.runs`), { timeout: 10_000 }).toBe(true);
    const launcher = launcherPid();
    expect(commandsOf(launcher)).toContain('git push');
    process.kill(launcher, 'SIGKILL');
    await expect.poll(() => commandsOf(launcher)).not.toContain('git push');
    expect(there.head()).toBe(before);
    writeFileSync(lost, '');

    const [id] = await published;
    expect(there.head()).toBe(id);
    expect(await repository.head()).toBe(id);
  },
);

interface Listed {
  readonly pid: number;
  readonly parent: number;
  readonly args: string;
}

function processes(): Listed[] {
  const all = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return all.split('\n').map((line) => {
    const [pid, parent, ...args] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), args: args.join(' ') };
  });
}

function launcherPid(): number {
  const isLauncher = ({ parent, args }: Listed): boolean =>
    parent === process.pid && args.includes('launcher-program');
  const found = processes().find(isLauncher);
  if (found === undefined) throw new Error('no launcher runs');
  return found.pid;
}

/** Commands of the children of a process, by their first two words. */
function commandsOf(parent: number): string[] {
  return processes()
    .filter((one) => one.parent === parent)
    .map(({ args }) => args.split(' ').slice(0, 2).join(' '));
}

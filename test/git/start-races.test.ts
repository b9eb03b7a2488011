/**
 * A start while git still works in the repository: children of a killed daemon (`git repack`,
 * `git receive-pack`) go on, and an operator packs refs. Git acts once before each operation on files
 * that a start makes; no such order refuses the start or loses a commit.
 */
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisOwner } from '../../src/files/owner.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { type DurableFiles, realFiles } from '../../src/git/publication/durable-files.ts';
import { walPaths } from '../../src/git/wal/wal-file.ts';
import {
  commitOf,
  expectSound,
  foreignCommit,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
  tryGit,
} from '../support/git.ts';

const LOG_BYTES = 64 * 1024;
const BRANCH = 'teams/x';
const deadOwner = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');

interface Left {
  readonly gitDir: string;
  readonly head: string;
}

/** The files of a daemon that was killed after two acknowledged writes. */
async function killed(): Promise<Left> {
  const folder = temporaryFolder();
  const live = join(folder, 'live.git');
  await initRepository({ gitDir: live, branch: BRANCH });
  const options = { gitDir: live, branch: BRANCH, owner: deadOwner, segmentBytes: LOG_BYTES };
  const repository = await openForTest(options);
  const commits: string[] = [];
  for (const name of ['1', '2']) {
    commits.push(...(await publish(repository, commitOf({ [`a/${name}`]: name }))));
  }
  const gitDir = join(folder, 'left.git');
  cpSync(live, gitDir, { recursive: true });
  return { gitDir, head: commits.at(-1) ?? '' };
}

/** Real files, with a call before the operation of a number. */
function interrupted(at: number, act: () => void): { files: DurableFiles; made(): number } {
  let made = 0;
  const files = Object.fromEntries(
    Object.entries(realFiles).map(([name, operation]) => [
      name,
      (...given: unknown[]) => {
        if (made++ === at) act();
        return (operation as (...all: unknown[]) => unknown)(...given);
      },
    ]),
  );
  return { files: files as unknown as DurableFiles, made: () => made };
}

/** A start, with an act of git before one of its operations. Returns how many operations it made. */
async function start(left: Left, at: number, act: (gitDir: string) => void): Promise<number> {
  const { gitDir, head } = left;
  const { files, made } = interrupted(at, () => act(gitDir));
  const repository = await openRepository({
    ...{ gitDir, branch: BRANCH, files, segmentBytes: LOG_BYTES, lockTimeoutMs: 500 },
    packThreshold: Number.POSITIVE_INFINITY,
  });
  const operations = made();
  try {
    // If a push ended on an older commit, the writes are in another ref.
    const reachable = git(gitDir, ['rev-list', '--all']).split('\n');
    expect(reachable).toContain(head);
    expect(reachable).toContain(await repository.head());
    expectSound(gitDir);
    return operations;
  } finally {
    await repository.close();
  }
}

const repack = ['repack', '-d', '-q', '--geometric=2', '--write-midx'];
const packRefs = ['pack-refs', '--all', '--prune'];

/** Leftovers of the kill. */
const scenes: Readonly<Record<string, (left: Left) => void>> = {
  'groups in the log': () => undefined,
  'groups in the log, the branch behind': ({ gitDir, head }) =>
    git(gitDir, ['update-ref', `refs/heads/${BRANCH}`, `${head}~1`]),
  'groups in the log, the branch gone': ({ gitDir }) =>
    git(gitDir, ['update-ref', '-d', `refs/heads/${BRANCH}`]),
  'groups in packs that the log gave up': ({ gitDir }) => {
    for (const path of walPaths(gitDir)) rmSync(path);
    expect(packFiles(gitDir).some((name) => name.startsWith('pack-gitplane-'))).toBe(true);
  },
};

/** Concurrent operations of git. */
const acts: Readonly<Record<string, (gitDir: string) => void>> = {
  'packs are put together': (gitDir) => void git(gitDir, repack),
  'refs are packed': (gitDir) => {
    git(gitDir, packRefs);
  },
  'a push ends': (gitDir) => {
    const branch = `refs/heads/${BRANCH}`;
    if (!existsSync(join(gitDir, branch))) return;
    const pushed = foreignCommit(gitDir, { parents: [branch], files: { pushed: '1' } });
    // Refused where the start has the lock.
    tryGit(gitDir, ['update-ref', branch, pushed]);
  },
};

test.each([
  ['groups in the log', 'packs are put together'],
  ['groups in the log, the branch gone', 'refs are packed'],
  ['groups in the log, the branch behind', 'refs are packed'],
  ['groups in the log, the branch behind', 'a push ends'],
  ['groups in packs that the log gave up', 'packs are put together'],
])('a start with %s, while %s', async (scene, act) => {
  const one = await killed();
  scenes[scene]?.(one);
  const again = (): Left => {
    const gitDir = join(temporaryFolder(), 'repo.git');
    cpSync(one.gitDir, gitDir, { recursive: true });
    return { ...one, gitDir };
  };
  const operations = await start(again(), Number.POSITIVE_INFINITY, () => undefined);
  expect(operations).toBeGreaterThan(3);

  const refused: string[] = [];
  for (let at = 0; at < operations; at++) {
    await start(again(), at, acts[act] ?? (() => undefined)).catch((error: unknown) => {
      refused.push(`${at}: ${String(error)}`);
    });
  }

  expect(refused).toEqual([]);
});

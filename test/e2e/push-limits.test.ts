/** Pushes and followed commits that would take down a process that walks them: refused or held, in time. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  blob,
  commitWithEntry,
  deepBomb,
  type Entry,
  limitedGit,
  tree,
  wideBomb,
} from '../support/bombs.ts';
import { API, type Daemon, type RunResult, scratchDir, startDaemon } from '../support/daemon.ts';
import { gitEnv, git as gitSync } from '../support/git.ts';
import { commitFiles, hookSaid, manifest } from './clones.ts';

const SECONDS = 1000;
const path = limitedGit(scratchDir());
let daemon: Daemon;
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon({ env: { PATH: path } });
  clone = await daemon.clone();
});
afterAll(async () => {
  await daemon.stop();
});

function hosted(): string {
  return join(daemon.dataDir, 'repo.git');
}

function head(): string {
  return gitSync(hosted(), ['rev-parse', 'main']);
}

/** Over HTTP, or by path with the hook of the repository. */
async function push(refspec: string, road: 'http' | 'path' = 'http'): Promise<RunResult> {
  if (road === 'http') return await daemon.git(['push', 'origin', refspec], clone);
  return await daemon.git(['push', `file://${hosted()}`, refspec], clone);
}

function entryOf(made: Partial<Entry>): Entry {
  return { mode: '100644', name: 'added', id: blob(clone), ...made };
}

/** Bytes of memory that the daemon has. */
function resident(): number {
  const status = readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

describe.each(['http', 'path'] as const)('a push over %s', (road) => {
  test.each<[string, () => Entry, RegExp]>([
    [
      'of 10^8 paths in nine trees',
      () => entryOf({ mode: '040000', name: 'bomb', id: wideBomb(clone, 10, 8) }),
      /"bomb.*" has more than 1000000 paths \(--push-max-paths\)/,
    ],
    [
      'of 100^16 paths in 17 trees',
      () => entryOf({ mode: '040000', name: 'bomb', id: wideBomb(clone, 100, 16) }),
      /"bomb.*" has more than 1000000 paths/,
    ],
    [
      'of 70 folders below each other',
      () => entryOf({ mode: '040000', name: 'deep', id: deepBomb(clone, 70) }),
      /is more than 64 folders deep/,
    ],
    [
      'of 300 folders below each other',
      () => entryOf({ mode: '040000', name: 'deep', id: deepBomb(clone, 300) }),
      /is more than 64 folders deep/,
    ],
    [
      'of 10^7 empty folders',
      () => {
        let id = tree(clone, []);
        for (let i = 0; i < 7; i += 1) {
          const names = Array.from({ length: 10 }, (_, n) => `${n}`);
          id = tree(
            clone,
            names.map((name) => ({ mode: '040000', name, id })),
          );
        }
        return entryOf({ mode: '040000', name: 'empty', id });
      },
      /"empty.*" has more than 1000000 paths/,
    ],
    [
      'of a name of 300 bytes',
      () => entryOf({ name: 'n'.repeat(300) }),
      /^n{100}.*:1:1: The path cannot be used: a segment is longer than 255 bytes/,
    ],
    [
      'of a submodule without .gitmodules',
      () => entryOf({ mode: '160000', name: 'vendor', id: 'a'.repeat(40) }),
      /^vendor:1:1: A submodule is never followed/,
    ],
    [
      'of a Windows device',
      () => entryOf({ name: 'aux.yaml' }),
      /^aux\.yaml:1:1: The path cannot be used: it is the name of a Windows device/,
    ],
    [
      'of a name below a folder that is no manifest',
      () => entryOf({ mode: '040000', name: 'docs', id: tree(clone, [entryOf({ name: 'a\nb' })]) }),
      /^"docs\/a\\u000ab":1:1: The path cannot be used: it has a control character/,
    ],
  ])('%s is refused within seconds, with the place', async (_what, make, said) => {
    const commit = commitWithEntry(clone, make(), 'origin/main');
    const [before, memory] = [head(), resident()];
    const started = performance.now();
    const result = await push(`${commit}:refs/heads/main`, road);
    expect(performance.now() - started).toBeLessThan(30 * SECONDS);
    expect(result.code, result.stderr).toBe(1);
    expect(hookSaid(result).join('\n')).toMatch(said);
    expect(head()).toBe(before);
    expect(resident() - memory).toBeLessThan(200e6);
    expect((await daemon.call('GET', '/livez')).code).toBe(200);
  });

  test.each([
    ['replacements', 'refs/replace/HEAD'],
    ['notes', 'refs/notes/commits'],
    ['what git keeps of rewrites', 'refs/original/refs/heads/main'],
    ['our own', 'refs/gitplane/kept/x'],
    ['no folder of refs', 'refs/other'],
    ['an option', 'refs/heads/-x'],
    ['a tag like an option', 'refs/tags/--upload-pack=x'],
    ['a branch like HEAD', 'refs/heads/HEAD'],
    ['a device', 'refs/heads/con'],
    ['a name too long for a file', `refs/heads/${'x'.repeat(256)}`],
  ])('a push of a ref among %s is refused', async (_what, ref) => {
    const before = gitSync(hosted(), ['for-each-ref']);
    // Older clients refuse some names themselves.
    const result = await push(`origin/main:${ref}`, road);
    expect(result.code, result.stderr).toBe(1);
    expect(result.stderr).toMatch(/neither a branch|does not begin|not the name|device|255|hidden/);
    expect(gitSync(hosted(), ['for-each-ref'])).toBe(before);
  });

  test('a push of a bomb to another branch, or below a tag, is refused', async () => {
    const commit = commitWithEntry(
      clone,
      entryOf({ mode: '040000', name: 'bomb', id: wideBomb(clone, 10, 8) }),
      'origin/main',
    );
    gitSync(clone, ['tag', '-f', '-a', '-m', 'a tag', 'hostile', commit]);
    for (const refspec of [`${commit}:refs/heads/side`, 'hostile:refs/tags/hostile']) {
      const result = await push(refspec, road);
      expect(result.code, result.stderr).toBe(1);
      expect(hookSaid(result).join('\n')).toMatch(/has more than 1000000 paths/);
    }
  });

  test('a push of a tag on a tree or a blob is refused', async () => {
    const result = await push(`${blob(clone, 'data')}:refs/tags/data`, road);
    expect(result.code, result.stderr).toBe(1);
    expect(hookSaid(result).join('\n')).toMatch(/leads to a blob, not to a commit/);
  });

  test('a push of an octopus of 101 parents, or a message of 2 MiB, is refused', async () => {
    const root = gitSync(clone, ['rev-parse', 'origin/main^{tree}']);
    const parents = Array.from({ length: 101 }, (_, i) =>
      gitSync(clone, ['commit-tree', '-p', 'origin/main', '-m', `${i}`, root]),
    );
    const merge = ['commit-tree', ...parents.flatMap((id) => ['-p', id]), '-m', 'merge', root];
    const long = gitSync(clone, ['commit-tree', '-p', 'origin/main', '-F', '-', root], {
      input: 'x'.repeat(2 ** 21),
    });
    const results = [
      await push(`${gitSync(clone, merge)}:refs/heads/main`, road),
      await push(`${long}:refs/heads/main`, road),
    ];
    expect(results.map(({ code }) => code)).toEqual([1, 1]);
    expect(hookSaid(results[0] ?? fail()).join()).toMatch(/has 101 parents, more than 100/);
    expect(hookSaid(results[1] ?? fail()).join()).toMatch(
      /with its message it may have at most 262144/,
    );
  });

  test('a push of branches, tags and ordinary names is still accepted', async () => {
    const commit = commitWithEntry(clone, entryOf({ name: `conduit-${road}.txt` }), 'origin/main');
    for (const ref of [`refs/heads/feature/${road}`, `refs/tags/v1-${road}`, 'refs/heads/main']) {
      const result = await push(`${commit}:${ref}`, road);
      expect(result.code, result.stderr).toBe(0);
    }
    gitSync(clone, ['fetch', '-q', hosted(), '+refs/heads/*:refs/remotes/origin/*']);
  });
});

function fail(): never {
  throw new Error('There is no such result');
}

test('a plan of a bomb gives the error of a push, on the command line and over HTTP', async () => {
  const commit = commitWithEntry(
    clone,
    entryOf({ mode: '040000', name: 'bomb', id: wideBomb(clone, 10, 8) }),
    'origin/main',
  );
  const main = join(import.meta.dirname, '../../dist/main.js');
  const args = [main, 'plan', commit, '--repo-dir', clone, '--format', 'json'];
  const { status, stdout } = spawnSync(process.execPath, args, {
    env: { ...gitEnv, PATH: path },
    encoding: 'utf8',
    timeout: 20 * SECONDS,
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(/has more than 1000000 paths/);

  // Objects that no push can bring are written by hand.
  gitSync(hosted(), ['fetch', '-q', clone, `${commit}:refs/heads/by-hand`]);
  const answer = await daemon.call('POST', '/plan', { body: { ref: 'by-hand' } });
  expect(answer.text).toMatch(/has more than 1000000 paths/);
  gitSync(hosted(), ['update-ref', '-d', 'refs/heads/by-hand']);
});

/** A repository elsewhere with a history that no process should walk. */
function elsewhere(): { folder: string; commitBomb(): string; fix(): string } {
  const folder = join(scratchDir(), 'elsewhere');
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', folder], { env: gitEnv });
  const one = {
    mode: '100644',
    name: 'one.yaml',
    id: blob(folder, manifest('Team', 'one')),
  } as const;
  const first = gitSync(folder, ['commit-tree', '-m', 'one', tree(folder, [one])]);
  gitSync(folder, ['update-ref', 'refs/heads/main', first]);
  return {
    folder,
    commitBomb: () => {
      const bomb = wideBomb(folder, 10, 8);
      const id = commitWithEntry(folder, { mode: '040000', name: 'bomb', id: bomb }, 'main');
      gitSync(folder, ['update-ref', 'refs/heads/main', id]);
      return id;
    },
    fix: () => {
      const text = manifest('Team', 'two');
      const entry = { mode: '100644', name: 'two.yaml', id: blob(folder, text) } as const;
      const clean = commitWithEntry(folder, entry, 'main^');
      const fixed = gitSync(folder, [
        'commit-tree',
        '-p',
        'main',
        '-m',
        'Take the bomb out',
        `${clean}^{tree}`,
      ]);
      gitSync(folder, ['update-ref', 'refs/heads/main', fixed]);
      return fixed;
    },
  };
}

async function teams(of: Daemon): Promise<string[]> {
  const answer = await of.call('GET', `${API}/teams`);
  const { items } = answer.json() as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).sort();
}

/** A data directory with nothing but the key of the first administrator. */
function withKeyOf({ dataDir }: Daemon): string {
  const folder = join(scratchDir(), 'data');
  mkdirSync(folder, { mode: 0o700 });
  copyFileSync(join(dataDir, 'admin.token'), join(folder, 'admin.token'));
  return folder;
}

async function follow(folder: string, dataDir: string): Promise<Daemon> {
  const args = ['--repo', folder, '--fetch-interval', '1s'];
  return await startDaemon({ seed: undefined, dataDir, args, env: { PATH: path } });
}

describe('a bomb in a followed branch', () => {
  test('is held with its place, and released by a commit without it', async () => {
    const { folder, commitBomb, fix } = elsewhere();
    const following = await follow(folder, join(scratchDir(), 'data'));
    try {
      const bomb = commitBomb();
      const sync = async () => (await following.call('GET', '/sync')).json();
      await expect.poll(sync, { timeout: 20 * SECONDS }).toMatchObject({
        head: bomb,
        state: 'held',
        held: {
          reason: 'TreeTooLarge',
          message: expect.stringMatching(/"bomb.*" has more than 1250000 paths/),
        },
      });
      expect(await teams(following)).toContain('one');
      const fixed = fix();
      await expect
        .poll(sync, { timeout: 20 * SECONDS })
        .toMatchObject({ head: fixed, revision: fixed, state: 'applied' });
      expect(await teams(following)).toContain('two');
    } finally {
      await following.stop();
    }
  });

  test('kills no start: neither at the tip nor in the past', async () => {
    const { folder, commitBomb, fix } = elsewhere();
    const first = await follow(folder, join(scratchDir(), 'data'));
    await first.stop();
    commitBomb();
    const dataDir = withKeyOf(first);
    const cold = await follow(folder, dataDir);
    expect(await teams(cold)).toContain('one');
    expect((await cold.call('GET', '/sync')).json().held.reason).toBe('TreeTooLarge');
    expect((await cold.call('GET', '/readyz')).code).toBe(200);
    await cold.stop();
    // With the state of the last run, still held.
    const warm = await follow(folder, dataDir);
    expect((await warm.call('GET', '/sync')).json().held.reason).toBe('TreeTooLarge');
    await warm.stop();
    fix();
    const past = await follow(folder, withKeyOf(first));
    expect(await teams(past)).toEqual(expect.arrayContaining(['one', 'two']));
    expect((await past.call('GET', '/sync')).json().state).toBe('applied');
    await past.stop();
  });
});

test('a first start on a held branch serves, without a first administrator', async () => {
  const { folder, commitBomb } = elsewhere();
  commitBomb();
  let end = (): Promise<unknown> => Promise.resolve();
  let said = (): string => '';
  startDaemon({
    seed: undefined,
    args: ['--repo', folder],
    env: { PATH: path },
    onSpawn: (child, output) => {
      end = () => new Promise((done) => child.once('exit', done).kill());
      said = output;
    },
  }).catch(() => undefined);
  await expect.poll(() => said(), { timeout: 20 * SECONDS }).toContain('Try next');
  expect(said()).toMatch(/The first administrator could not be created/);
  await end();
});

describe('a bomb that was put into the hosted repository by hand', () => {
  test('a bomb as the first commit is removed by a push by path', async () => {
    const dataDir = join(scratchDir(), 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    const gitDir = join(dataDir, 'repo.git');
    execFileSync('git', ['init', '-q', '--bare', '-b', 'main', gitDir], { env: gitEnv });
    const bomb = { mode: '040000', name: 'bomb', id: wideBomb(gitDir, 10, 8) } as const;
    const first = gitSync(gitDir, ['commit-tree', '-m', 'one', tree(gitDir, [bomb])]);
    gitSync(gitDir, ['update-ref', 'refs/heads/main', first]);
    const held = await startDaemon({
      dataDir,
      seed: undefined,
      env: { PATH: path },
      token: 'none',
    });
    try {
      const work = join(scratchDir(), 'work.git');
      execFileSync('git', ['clone', '-q', '--bare', gitDir, work], { env: gitEnv });
      const text = manifest('Team', 'mended');
      const entry = { mode: '100644', name: 'team.yaml', id: blob(work, text) } as const;
      const clean = tree(work, [entry]);
      const mended = gitSync(work, ['commit-tree', '-p', first, '-m', 'Take it out', clean]);
      const pushed = await held.git(['push', gitDir, `${mended}:main`], work);
      expect(pushed.code, pushed.stderr).toBe(0);
    } finally {
      await held.stop();
    }
    // The first administrator is made by the next start.
    const next = await startDaemon({ dataDir, seed: undefined, env: { PATH: path } });
    try {
      const answer = await next.call('GET', `${API}/teams/mended`);
      expect(answer.code, answer.text).toBe(200);
    } finally {
      await next.stop();
    }
  });

  test('is held, and the platform goes on', async () => {
    const own = await startDaemon({ env: { PATH: path } });
    try {
      const gitDir = join(own.dataDir, 'repo.git');
      const before = gitSync(gitDir, ['rev-parse', 'main']);
      const entry = { mode: '040000', name: 'bomb', id: wideBomb(gitDir, 10, 8) } as const;
      gitSync(gitDir, ['update-ref', 'refs/heads/main', commitWithEntry(gitDir, entry, 'main')]);
      const reason = async () => (await own.call('GET', '/sync')).json().held?.reason;
      await expect.poll(reason, { timeout: 10 * SECONDS }).toBe('TreeTooLarge');
      gitSync(gitDir, ['update-ref', 'refs/heads/main', before]);
      await expect.poll(reason, { timeout: 10 * SECONDS }).toBeUndefined();
      const work = await own.clone();
      await commitFiles(own, work, { 'teams/after.yaml': manifest('Team', 'after') });
      expect((await own.git(['push'], work)).code).toBe(0);
    } finally {
      await own.stop();
    }
  });
});

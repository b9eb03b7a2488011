/**
 * Everybody moves the branch at once: the API, pushes over HTTPS and by path, `git update-ref`. What
 * anybody was told is done is in history exactly once, and nothing else is.
 */
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { commitFiles, gitIn, manifest } from '../e2e/clones.ts';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { gitEnv } from '../support/git.ts';
import { budget, say, timeoutMs } from './budget.ts';
import { repositoryOf } from './history.ts';

const SECONDS = 6;
const TEAMS = `${API}/teams`;
const API_CLIENTS = 3;
/** Of each of the slower writers, however long it takes. */
const FEWEST = 2;

let daemon: Daemon;
let gitDir: string;

beforeAll(async () => {
  daemon = await startDaemon();
  gitDir = join(daemon.dataDir, 'repo.git');
});
afterAll(async () => {
  await daemon.stop();
});

/** What was acknowledged: the name of a team and the commit that made it. */
interface Made {
  readonly name: string;
  readonly commit: string;
}

interface Race {
  readonly made: Made[];
  /** Attempts in a row that found the branch elsewhere, by writer: git is slower than the API. */
  readonly lost: Map<string, number>;
  over: boolean;
}

/** A writer that uses git tries until it was first; returns how often it was. */
async function insist(
  race: Race,
  who: string,
  attempt: (name: string) => Promise<string | undefined>,
): Promise<number> {
  let count = 0;
  for (let tries = 0; !race.over || count < FEWEST; tries++) {
    const name = `${who}-${tries}`;
    const commit = await attempt(name);
    if (commit === undefined) race.lost.set(who, (race.lost.get(who) ?? 0) + 1);
    else {
      count += 1;
      race.made.push({ name, commit });
      race.lost.set(who, 0);
    }
    // Who was first makes room for those who were not.
    const others = [...race.lost].filter(([name]) => name !== who).map(([, times]) => times);
    const room = commit === undefined ? 0 : 300 * Math.max(0, ...others);
    await sleep(Math.random() * 50 + room);
  }
  race.lost.set(who, 0);
  return count;
}

async function createByApi(race: Race, client: number): Promise<void> {
  for (let i = 0; !race.over; i++) {
    const name = `api-${client}-${i}`;
    const answer = await daemon.call('POST', TEAMS, { body: { metadata: { name }, spec: {} } });
    expect(answer.code, answer.text).toBe(201);
    race.made.push({ name, commit: answer.headers['gitplane-commit'] as string });
    await sleep(10 + 250 * Math.max(0, ...race.lost.values()));
  }
}

/** Undefined: the branch moved meanwhile. */
async function push(clone: string, target: string, name: string): Promise<string | undefined> {
  await gitIn(daemon, clone, 'fetch', '-q', gitDir, 'main');
  await gitIn(daemon, clone, 'reset', '-q', '--hard', 'FETCH_HEAD');
  await commitFiles(daemon, clone, { [`teams/${name}.yaml`]: manifest('Team', name) });
  const { code, stderr } = await daemon.git(['push', '-q', target, 'HEAD:main'], clone);
  if (code === 0) return await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  expect(stderr).toMatch(
    /fetch first|non-fast-forward|moved meanwhile|cannot lock ref|failed to update/,
  );
  return undefined;
}

/** A commit made and moved to with nothing but plumbing, past every hook of ours. */
async function updateRef(name: string): Promise<string | undefined> {
  const index = join(scratchDir(), 'index');
  const env = { ...gitEnv, GIT_INDEX_FILE: index };
  const git = async (args: string[], input?: string) =>
    await run('git', args, { cwd: gitDir, env, input });
  const text = async (args: string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await git(args, input);
    expect(code, `git ${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout.trim();
  };
  const old = await text(['rev-parse', 'refs/heads/main']);
  const blob = await text(['hash-object', '-w', '--stdin'], manifest('Team', name));
  await text(['read-tree', old]);
  await text(['update-index', '--add', '--cacheinfo', `100644,${blob},teams/${name}.yaml`]);
  const tree = await text(['write-tree']);
  const commit = await text(['commit-tree', tree, '-p', old, '-m', name]);
  const { code, stderr } = await git(['update-ref', 'refs/heads/main', commit, old]);
  if (code === 0) return commit;
  expect(stderr).toMatch(/cannot lock ref/);
  return undefined;
}

test(
  'four ways to move the branch lose none of their commits',
  async () => {
    const goOn = budget(SECONDS);
    const git = repositoryOf(daemon.dataDir);
    const before = await git.head();
    const race: Race = { made: [], lost: new Map(), over: false };
    const [byPath, byHttps] = [await daemon.clone(), await daemon.clone()];
    const clients = Array.from({ length: API_CLIENTS }, (_c, i) => createByApi(race, i));
    const others = [
      insist(race, 'update-ref', updateRef),
      insist(race, 'path', (name) => push(byPath, gitDir, name)),
      insist(race, 'https', (name) => push(byHttps, 'origin', name)),
    ];
    while (goOn()) await sleep(50);
    race.over = true;
    const counts = await Promise.all(others);
    await Promise.all(clients);

    // The platform merges a push over HTTPS that another way overtook.
    const merges = await gitIn(
      daemon,
      gitDir,
      'rev-list',
      '--merges',
      `${before}..refs/heads/main`,
    );
    const commits = (await git.commits(`${before}..refs/heads/main`))
      .map(({ id }) => id)
      .filter((id) => !merges.includes(id));
    expect(commits.toSorted()).toEqual(race.made.map(({ commit }) => commit).toSorted());
    const expected = race.made.map(({ name }) => name).toSorted();
    await vi.waitFor(
      async () => {
        const { items } = (await daemon.call('GET', TEAMS)).json();
        const names: string[] = items.map(
          ({ metadata }: { metadata: { name: string } }) => metadata.name,
        );
        expect(names.filter((name) => /-\d+$/.test(name)).toSorted()).toEqual(expected);
      },
      { timeout: 10_000 },
    );
    expect(await git.damage()).toBeUndefined();
    expect(await git.leftovers()).toEqual([]);
    say(`races: ${race.made.length} commits, of them ${counts} by update-ref, path, HTTPS`);
  },
  timeoutMs(SECONDS),
);

test.runIf(existsSync('/proc/self/stat'))(
  'a push that is killed while it holds the branch keeps no user out for long',
  async () => {
    const clone = await daemon.clone();
    await commitFiles(daemon, clone, { 'teams/killed.yaml': manifest('Team', 'killed') });
    const armed = join(scratchDir(), 'armed');
    const hook = join(gitDir, 'hooks/reference-transaction');
    writeFileSync(armed, '');
    // Git asks this hook while it holds the locks of all refs that it is about to move.
    writeFileSync(
      hook,
      `#!/bin/sh\n[ "$1" = prepared ] && rm '${armed}' && kill -9 $PPID\nexit 0\n`,
    );
    chmodSync(hook, 0o755);
    // By path, where git itself moves the branch.
    expect((await daemon.git(['push', gitDir, 'main:main'], clone)).code).not.toBe(0);
    expect(existsSync(armed)).toBe(false);
    expect(existsSync(join(gitDir, 'refs/heads/main.lock'))).toBe(true);

    const body = { metadata: { name: 'after' }, spec: {} };
    const first = await daemon.call('POST', TEAMS, { body });
    expect([first.code, first.headers['retry-after']]).toEqual([503, '2']);
    expect(first.json().message).toBe(
      'Another git process holds the branch: nothing was written; reads go on',
    );
    await vi.waitFor(
      async () => expect((await daemon.call('POST', TEAMS, { body })).code).toBe(201),
      { timeout: 15_000, interval: 200 },
    );
    await gitIn(daemon, clone, 'pull', '-q', '--rebase');
    const again = await daemon.git(['push'], clone);
    expect(again.code, again.stderr).toBe(0);
    expect((await daemon.call('GET', `${TEAMS}/killed`)).code).toBe(200);
  },
);

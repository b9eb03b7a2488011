/** Consent from the outside: refused pushes, held moves, and what `/sync` tells and does. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, type RunResult, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const TEAMS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];

let daemon: Daemon;
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon({
    seed: undefined,
    args: ['--prune-budget-objects', '3', '--prune-budget-percent', '10'],
  });
  clone = await daemon.clone();
  await commitFiles(
    daemon,
    clone,
    files(TEAMS, (name) => manifest('Team', name)),
  );
  await gitIn(daemon, clone, 'push', '-q');
});
afterAll(async () => {
  await daemon.stop();
});

function files<T>(names: readonly string[], text: (name: string) => T): Record<string, T> {
  return Object.fromEntries(names.map((name) => [`teams/${name}.yaml`, text(name)]));
}

function push(...args: string[]): Promise<RunResult> {
  return daemon.git(['push', ...args], clone);
}

const tip = (): Promise<string> => gitIn(daemon, clone, 'rev-parse', 'HEAD');

async function teams(): Promise<string[]> {
  const { items } = (await daemon.call('GET', `${API}/teams`)).json();
  return items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
async function status(): Promise<any> {
  return (await daemon.call('GET', '/sync')).json();
}

const wait = (revision: string, timeout = '20s') =>
  daemon.call('POST', `/sync?wait=${revision}&timeout=${timeout}`);

/** The commands of an operator who knows no hooks. */
async function moveBranch(revision: string): Promise<void> {
  await gitIn(daemon, clone, 'push', '-q', 'origin', `${revision}:refs/heads/${revision}`);
  const repository = join(daemon.dataDir, 'repo.git');
  await gitIn(daemon, repository, 'update-ref', 'refs/heads/main', revision);
}

test('/sync reports that everything is applied', async () => {
  const revision = await tip();

  expect(await status()).toEqual({
    head: revision,
    revision,
    state: 'applied',
    held: null,
    problems: [],
    problemCount: 0,
    lastAppliedTime: expect.stringMatching(/^20\d\d-.*Z$/),
  });
  const waited = await wait(revision);
  expect(waited.code).toBe(200);
  expect(waited.json().waited).toMatchObject({
    revision,
    result: 'applied',
    files: expect.arrayContaining([{ path: 'teams/a.yaml', result: 'applied', problems: [] }]),
  });
});

describe('a push that removes more than the budget', () => {
  test('is refused with the removals and the remedy, and the remedy works', async () => {
    await commitFiles(
      daemon,
      clone,
      files(['a', 'b', 'c', 'd'], () => null),
    );
    const refused = await push();
    const wiped = await tip();

    expect(refused.code).toBe(1);
    expect(hookSaid(refused)).toEqual([
      ...['a', 'b', 'c', 'd'].map((name) => `removes Team "${name}" (teams/${name}.yaml)`),
      expect.stringMatching(
        /^This push would remove 4 of the 16 objects, more than the prune budget allows \(3 objects or 10%\)/,
      ),
      expect.stringContaining('the trailer "Gitplane-Allow-Prune: 4"'),
      'git commit --amend --no-edit --trailer "Gitplane-Allow-Prune: 4"',
      'or have this revision approved, and push again:',
      `gitplane approve ${wiped} --reason "…"`,
    ]);
    expect(await teams()).toEqual(TEAMS);
    const waited = await wait(wiped);
    expect([waited.code, waited.json().waited]).toMatchObject([409, { result: 'refused' }]);

    const trailer = ['--trailer', 'Gitplane-Allow-Prune: 4'];
    await gitIn(daemon, clone, 'commit', '-q', '--amend', '--no-edit', ...trailer);
    expect(hookSaid(await push()).at(-1)).toBe('accepted: 0 created, 0 changed, 4 removed');
    expect(await teams()).toEqual(TEAMS.slice(4));
  });

  test('is accepted once its revision is approved', async () => {
    await commitFiles(
      daemon,
      clone,
      files(['e', 'f', 'g', 'h'], () => null),
    );
    const revision = await tip();
    expect((await push()).code).toBe(1);

    const body = { revision, reason: 'The teams were merged' };
    const approved = await daemon.call('POST', '/sync/approve', { body });

    expect([approved.code, approved.json().state]).toEqual([200, 'applied']);
    expect((await push()).code).toBe(0);
    expect(await teams()).toEqual(['i', 'j', 'k', 'l']);
    expect((await wait(revision)).code).toBe(200);
    await expect
      .poll(() => daemon.output())
      .toMatch(/"reason":"The teams were merged".*"Revision approved"/);
  });
});

describe('a branch that was moved without asking', () => {
  test('is held: reads go on, writes say why, and an approval releases it', async () => {
    const before = await tip();
    await commitFiles(
      daemon,
      clone,
      files(['i', 'j', 'k', 'l'], () => null),
    );
    const wipe = await tip();
    await moveBranch(wipe);

    const waited = await wait(wipe);
    expect([waited.code, waited.json().waited.result]).toEqual([409, 'held']);
    expect(await status()).toMatchObject({
      head: wipe,
      revision: before,
      state: 'held',
      held: {
        revision: wipe,
        reason: 'PruneBudgetExceeded',
        pruneCount: 4,
        prunes: expect.arrayContaining([
          expect.objectContaining({ kind: 'Team', name: 'i', path: 'teams/i.yaml' }),
        ]),
        remedy: expect.stringContaining('Gitplane-Allow-Prune: 4'),
      },
    });
    expect(await teams()).toEqual(['i', 'j', 'k', 'l']);
    const write = await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'x' } } });
    expect([write.code, write.json().message]).toEqual([
      503,
      expect.stringContaining('would remove 4 of the 8 objects'),
    ]);
    const metrics = (await daemon.call('GET', '/metrics')).text;
    expect(metrics).toContain('gitplane_held{reason="PruneBudgetExceeded"} 1');
    expect(metrics).toContain('gitplane_held_prunes 4');
    expect((await daemon.call('GET', '/readyz', { token: null })).code).toBe(200);

    const body = { revision: wipe, reason: 'yes' };
    const approved = (await daemon.call('POST', '/sync/approve', { body })).json();
    expect(approved).toMatchObject({ revision: wipe, state: 'applied', held: null });
    expect(await teams()).toEqual([]);
    await vi.waitFor(() => expect(daemon.output()).toContain('Branch held'));
  });

  test('back in history is quarantined, and a push on top of it does not get past', async () => {
    await gitIn(daemon, clone, 'fetch', '-q');
    const applied = await tip();
    await moveBranch(await gitIn(daemon, clone, 'rev-parse', 'HEAD~1'));
    await daemon.call('POST', '/sync');
    expect((await status()).held).toMatchObject({ reason: 'HistoryRewritten' });

    await gitIn(daemon, clone, 'checkout', '-q', '-B', 'side', 'HEAD~1');
    await commitFiles(daemon, clone, { 'teams/y.yaml': manifest('Team', 'y') });
    const side = await push('origin', 'side:main');
    expect([side.code, hookSaid(side).join()]).toEqual([1, expect.stringContaining('is held')]);

    // A push that goes on from what is served brings the branch back by itself.
    await gitIn(daemon, clone, 'checkout', '-q', '-B', 'main', applied);
    await commitFiles(daemon, clone, { 'teams/z.yaml': manifest('Team', 'z') });
    expect((await push('origin', 'main:main')).stderr).toContain('accepted: 1 created');
    expect(await status()).toMatchObject({ state: 'applied', head: await tip() });
    expect(await teams()).toEqual(['z']);
  });
});

test('a tree that leads out of itself is refused by git before any user looks at it', async () => {
  const line = `100644 blob ${await gitIn(daemon, clone, 'rev-parse', 'HEAD:teams/z.yaml')}\t..\n`;
  const file = join(clone, '.git', 'tree');
  await writeFile(file, line);
  const made = await daemon.git(['-c', `alias.t=!git mktree < ${file}`, 't'], clone);
  const tree = made.stdout.trim();
  const commit = await gitIn(daemon, clone, 'commit-tree', tree, '-p', 'HEAD', '-m', 'm');

  const result = await push('origin', `${commit}:refs/heads/main`);

  expect([result.code, result.stderr]).toEqual([1, expect.stringContaining('hasDotdot')]);
});

describe('asking for the wrong thing', () => {
  test.each<[string, string, object | undefined, number, RegExp]>([
    ['POST', '/sync?wait=main', undefined, 400, /all 40 hexadecimal digits/],
    ['POST', `/sync?wait=${'0'.repeat(40)}&timeout=0`, undefined, 504, /not seen on the branch/],
    ['POST', '/sync?timeout=soon', undefined, 400, /is not a duration/],
    ['POST', '/sync/approve', { revision: 'abc', reason: 'x' }, 400, /40 hexadecimal/],
    ['POST', '/sync/approve', { revision: 'a'.repeat(40) }, 400, /must say why/],
    [
      'POST',
      '/sync/approve',
      { revision: 'a'.repeat(40), reason: 'a\n\u001b[2J' },
      400,
      /one line/,
    ],
    ['DELETE', '/sync', undefined, 404, /page not found/],
  ])('%s %s %j is answered with %d', async (method, path, body, code, message) => {
    const answer = await daemon.call(method, path, body === undefined ? {} : { body });

    expect([answer.code, answer.text]).toEqual([code, expect.stringMatching(message)]);
  });

  test('takes rights on the paths', async () => {
    const key = async (name: string, rules: readonly object[]): Promise<string> => {
      const create = async (path: string, body: object) => {
        const answer = await daemon.call('POST', path, { body });
        expect(answer.code, answer.text).toBe(201);
        return answer.json();
      };
      await create(`${API}/users`, { metadata: { name } });
      await create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
      await create(`${RBAC}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
      });
      const made = await create(`${API}/ownedaccesskeys`, {
        metadata: { name },
        spec: { user: name },
      });
      return made.spec.key;
    };
    const reader = await key('reader', [{ nonResourceURLs: ['/sync'], verbs: ['get'] }]);
    const body = { revision: 'a'.repeat(40), reason: 'x' };
    const codes = async (token: string | null) => [
      (await daemon.call('GET', '/sync', { token })).code,
      (await daemon.call('POST', '/sync', { token })).code,
      (await daemon.call('POST', '/sync/approve', { token, body })).code,
    ];

    expect(await codes(null)).toEqual([401, 401, 401]);
    expect(await codes(reader)).toEqual([200, 403, 403]);
  });
});

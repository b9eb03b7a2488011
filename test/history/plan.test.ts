/** Plans: what a commit would bring, with the verdict of a push, and nothing secret in it. */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { plan as planCommand } from '../../src/cli/plan.ts';
import { patchOf } from '../../src/history/field-changes.ts';
import { type Plan, type PlanChange, planOf, withEffects } from '../../src/history/plan.ts';
import { Planner } from '../../src/history/planner.ts';
import { secretsOf } from '../../src/kinds/secrets/masking.ts';
import { PLAN_OPTIONS } from '../../src/options/manifest-options.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import { cloneForTest, git } from '../support/git.ts';
import { ann, kinds, openTestPlatform, type TestPlatform, team } from '../support/platform.ts';

type Files = Readonly<Record<string, string | null>>;

/** A commit on top of another that no branch has; returns its id. */
function commitOn(platform: TestPlatform, files: Files, parent = 'main'): string {
  const { gitDir } = platform.repository;
  const env = { GIT_INDEX_FILE: join(gitDir, 'test-index') };
  git(gitDir, ['read-tree', parent], { env });
  for (const [path, text] of Object.entries(files)) {
    if (text === null) {
      const input = `0 ${'0'.repeat(40)}\t${path}\n`;
      git(gitDir, ['update-index', '--index-info'], { env, input });
    } else {
      const blob = git(gitDir, ['hash-object', '-w', '--stdin'], { input: text });
      git(gitDir, ['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`], { env });
    }
  }
  const tree = git(gitDir, ['write-tree'], { env });
  return git(gitDir, ['commit-tree', tree, '-p', parent, '-m', 'planned']);
}

async function planned(platform: TestPlatform, to: string): Promise<Plan> {
  const { judge, repository } = platform;
  return await planOf(kinds, to, await judge.dryRun({ to, source: repository, user: ann }));
}

const secret = (value: string): string =>
  `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata: {name: s, namespace: vault}\nspec:\n  displayName: S\n  data:\n    token: ${value}\n`;

async function seeded(): Promise<TestPlatform> {
  const platform = await openTestPlatform();
  await platform.commit({
    'teams/a.yaml': team('a', { displayName: 'A' }),
    'teams/b.yaml': team('b'),
    'teams/c.yaml': team('c'),
    's.yaml': secret('Zmlyc3Q='),
  });
  return platform;
}

test('adds, changes, removals and moves are listed, and none is applied', async () => {
  const platform = await seeded();
  const before = await platform.repository.head();
  const to = commitOn(platform, {
    'teams/a.yaml': team('a', { displayName: 'AA', users: ['x'] }),
    'teams/b.yaml': null,
    'x/b.yaml': team('b'),
    'teams/c.yaml': null,
    'teams/d.yaml': team('d', { displayName: 'D' }),
    's.yaml': secret('c2Vjb25k'),
  });

  const plan = await planned(platform, to);
  expect(plan).toMatchObject({
    from: before,
    to,
    verdict: 'accepted',
    summary: { create: 1, update: 2, delete: 1, recreate: 0, move: 1 },
    problems: [],
    objections: [],
  });
  expect(plan.changes).toMatchObject([
    {
      verb: 'update',
      kind: 'SharedSecret',
      namespace: 'vault',
      fields: [{ path: 'spec.data.token', before: '***', after: '***', masked: true }],
      patch: [{ op: 'replace', path: '/spec/data/token', value: '***' }],
    },
    {
      verb: 'update',
      name: 'a',
      fields: [
        { path: 'spec.displayName', before: 'A', after: 'AA' },
        { path: 'spec.users', after: ['x'] },
      ],
      patch: [
        { op: 'replace', path: '/spec/displayName', value: 'AA' },
        { op: 'add', path: '/spec/users', value: ['x'] },
      ],
    },
    { verb: 'move', name: 'b', path: 'x/b.yaml', previousPath: 'teams/b.yaml', fields: [] },
    { verb: 'delete', name: 'c', path: 'teams/c.yaml' },
    { verb: 'create', name: 'd', path: 'teams/d.yaml' },
  ]);
  expect(JSON.stringify(plan)).not.toMatch(/Zmlyc3Q|c2Vjb25k/);
  expect(await platform.repository.head()).toBe(before);
  expect(platform.names('teams')).toEqual(['a', 'b', 'c']);

  const verdict = await platform.push(to);
  expect(verdict.ok).toBe(true);
});

test('a new secret is masked as a whole, and so is one that goes', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'teams/a.yaml': team('a') });
  const to = commitOn(platform, { 's.yaml': secret('Zmlyc3Q=') });

  const plan = await planned(platform, to);
  expect(plan.changes[0]?.fields).toContainEqual({
    path: 'spec.data.token',
    after: '***',
    masked: true,
  });
  await platform.commit({ 's.yaml': secret('Zmlyc3Q=') });
  const gone = await planned(platform, commitOn(platform, { 's.yaml': null }));
  expect(JSON.stringify([plan, gone])).not.toContain('Zmlyc3Q');
});

test('a patch masks secret values below added and removed parts', () => {
  const kind = kinds.byKind('management.gitplane.dev/v1', 'SharedSecret');
  if (kind === undefined) throw new Error('SharedSecret is a kind');
  const manifest = (spec: JsonObject): KubeObject => ({
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'SharedSecret',
    metadata: { name: 's', namespace: 'n' },
    spec,
  });
  const [none, some] = [manifest({}), manifest({ data: { 'a/b': 'hidden', c: 'hidden' } })];
  expect(patchOf(none, some, secretsOf(kind))).toEqual([
    { op: 'add', path: '/spec/data', value: { 'a/b': '***', c: '***' } },
  ]);
  expect(patchOf(some, manifest({ data: { 'a/b': 'other' } }), secretsOf(kind))).toEqual([
    { op: 'remove', path: '/spec/data/c' },
    { op: 'replace', path: '/spec/data/a~1b', value: '***' },
  ]);
  expect(patchOf(some, none, secretsOf(kind))).toEqual([{ op: 'remove', path: '/spec/data' }]);
});

test('a mistake is reported with its place, and the verdict is that of the push', async () => {
  const platform = await seeded();
  const to = commitOn(platform, { 'teams/a.yaml': team('a', { displayNam: 'A' }) });

  const plan = await planned(platform, to);
  expect(plan.verdict).toBe('refused');
  expect(plan.problems).toMatchObject([{ path: 'teams/a.yaml', line: 5 }]);
  expect(plan.changes).toMatchObject([{ verb: 'update', name: 'a', degraded: true, fields: [] }]);
  expect((await platform.push(to)).ok).toBe(false);
});

test('several commits are planned as their combined result', async () => {
  const platform = await seeded();
  const first = commitOn(platform, { 'teams/a.yaml': null });
  const to = commitOn(platform, { 'teams/a.yaml': team('a', { displayName: 'A' }) }, first);

  const plan = await planned(platform, to);
  expect(plan.summary).toMatchObject({ recreate: 1 });
  expect(plan.changes).toMatchObject([{ verb: 'recreate', name: 'a' }]);
});

test('a commit that does not follow is shown, and refused', async () => {
  const platform = await seeded();
  const old = (await platform.repository.head()) ?? '';
  await platform.commit({ 'teams/a.yaml': team('a', { displayName: 'new' }) });

  const plan = await planned(platform, old);
  expect(plan.verdict).toBe('refused');
  expect(plan.objections[0]).toMatch(/rewrite history/);
  expect(plan.changes).toMatchObject([
    { verb: 'update', fields: [{ path: 'spec.displayName', before: 'new', after: 'A' }] },
  ]);
});

test('a plan for applied commits is empty', async () => {
  const platform = await seeded();
  const plan = await planned(platform, (await platform.repository.head()) ?? '');

  expect(plan).toMatchObject({ verdict: 'accepted', changes: [], objections: [] });
});

test('a pull request without a plan is not found, and its name is no name of a branch', async () => {
  const { repository, judge } = await seeded();
  const alone = new Planner({ repository, judge, kinds });
  const planner = alone.with({ pulls: () => undefined });
  const ref = 'refs/pull/7/head';
  await expect(planner.plan({ ref }, ann)).rejects.toMatchObject({
    code: 404,
    message: expect.stringContaining('there is no plan of pull request 7'),
  });
  await expect(alone.plan({ ref }, ann)).rejects.toMatchObject({ code: 400 });
  for (const other of ['refs/pull/x/head', 'refs/pull/7/merge', 'refs/pull/../7/head']) {
    await expect(planner.plan({ ref: other }, ann)).rejects.toMatchObject({ code: 400 });
  }
});

test('a plan takes only commits that a ref leads to, by id or by name', async () => {
  const platform = await seeded();
  const { repository, judge } = platform;
  const planner = new Planner({ repository, judge, kinds });
  const loose = commitOn(platform, { 'teams/a.yaml': null });
  const code = (target: Parameters<Planner['plan']>[0]): Promise<number> =>
    planner.plan(target, ann).then(
      () => 200,
      (error: { code: number }) => error.code,
    );

  expect(await code({ revision: loose })).toBe(404);
  expect(await code({ revision: '0123456789' })).toBe(404);
  for (const bad of ['main', '--output=x', 'HEAD~1', '']) {
    expect(await code({ revision: bad })).toBe(400);
  }
  for (const bad of ['--all', 'refs/heads/../x', 'a b', 'main~1', '', 'x'.repeat(1000)]) {
    expect(await code({ ref: bad })).toBe(400);
  }
  expect(await code({ ref: 'feature' })).toBe(404);
  git(repository.gitDir, ['update-ref', 'refs/heads/feature', loose]);
  const byRef = await planner.plan({ ref: 'feature' }, ann);
  expect(byRef.summary.delete).toBe(1);
  expect(await planner.plan({ revision: loose.slice(0, 12) }, ann)).toEqual(byRef);

  git(repository.gitDir, ['tag', '-a', '-m', 'A release', 'v1', loose]);
  git(repository.gitDir, ['tag', 'feature', 'main']);
  expect(await planner.plan({ ref: 'v1' }, ann)).toEqual(byRef);
  expect(await planner.plan({ ref: 'refs/tags/v1' }, ann)).toEqual(byRef);
  expect(await planner.plan({ ref: 'feature' }, ann)).toEqual(byRef);
});

test('the command reads a clone, changes nothing in it, and exits 1 on problems', async () => {
  const platform = await seeded();
  const clone = cloneForTest(platform.repository.gitDir);
  const run = async (...args: readonly string[]): Promise<{ code: number; text: string }> => {
    let text = '';
    const options = parseOptions(PLAN_OPTIONS, ['--repo-dir', clone, ...args], {});
    const code = await planCommand(options, {
      write: (part) => {
        text += part;
      },
    });
    return { code, text };
  };
  git(clone, ['rm', '-q', 'teams/c.yaml']);
  git(clone, ['commit', '-q', '-m', 'Remove c']);
  const before = git(clone, ['for-each-ref']);

  const good = await run('HEAD');
  expect(good.code).toBe(0);
  expect(good.text).toContain(
    '- Team "c" (teams/c.yaml)\naccepted: 0 created, 0 changed, 1 removed\n',
  );
  const json = JSON.parse((await run('HEAD', '--format', 'json')).text);
  expect(json).toMatchObject({ verdict: 'accepted', summary: { delete: 1 } });
  expect(git(clone, ['for-each-ref'])).toBe(before);

  git(clone, ['rm', '-q', '-r', '.']);
  git(clone, ['commit', '-q', '-m', 'Remove all']);
  const wiped = await run('HEAD');
  expect(wiped.code).toBe(1);
  expect(wiped.text).toMatch(/\nheld: 0 created, 0 changed, 4 removed\n$/);

  for (const bad of [[], ['HEAD', 'HEAD'], ['nothing'], ['HEAD', '--format', 'xml']]) {
    await expect(run(...bad)).rejects.toThrow(/.+/);
  }
  await expect(run('--', '--output=x')).rejects.toThrow(/There is no commit "--output=x"/);
});

test('gitplane plan shows the effect of changed patches on given Endpoints', async () => {
  const platform = await openTestPlatform();
  const file = (expression: string): string =>
    `sync:\n  toHost:\n    endpoints:\n      patches:\n      - path: metadata.labels.team\n        expression: ${expression}\n`;
  await platform.commit({ 'tenants/blue/vcluster.yaml': file('value') });
  const to = commitOn(platform, { 'tenants/blue/vcluster.yaml': file('value.toUpperCase()') });
  const endpoints = (name: string, labels: object): object => ({
    ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name, namespace: 'shop', labels } },
  });
  const items = [endpoints('db', { team: 'a' }), endpoints('web', {})];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  let text = '';
  const args = ['--repo-dir', platform.repository.gitDir, '--endpoints', '-', to];
  const code = await planCommand(
    parseOptions(PLAN_OPTIONS, args, {}),
    { write: (more) => (text += more) },
    Readable.from([list]),
  );

  expect(code).toBe(0);
  expect(text).toContain('~ Tenant "blue" (tenants/blue/vcluster.yaml)');
  expect(text).toContain(
    '    1 of 2 objects become others on the control-plane cluster\n    ~ Endpoints shop/db',
  );
  expect(text).toMatch(/\n {6}- {4}team: a\n {6}\+ {4}team: A\n/);
});

test('effects of many changes are found in time that follows their number', async () => {
  const changes = Array.from({ length: 60_000 }, (_, i) => ({
    key: { group: 'management.gitplane.dev', kind: 'Team', namespace: '', name: `t${i}` },
    before: undefined,
    after: undefined,
  }));
  const plain = changes.map(({ key: { group, kind, name } }): PlanChange => {
    return { verb: 'create', apiVersion: `${group}/v1`, kind, name, path: 'a', fields: [] };
  });
  const begin = process.cpuUsage();
  const found = await withEffects(plain, {
    kinds,
    effect: { changes, derived: [] },
    computeEffects: () => expect.unreachable(),
  });
  expect(found).toEqual(plain);
  // Fifteen seconds where each change is compared with all others, and a tenth of one otherwise.
  expect(process.cpuUsage(begin).user).toBeLessThan(5_000_000);
});

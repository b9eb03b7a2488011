/** Pushes with real git: what is refused and why, what is accepted, and what readers see of it. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, type RunResult, scratchDir, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const TEAMS = `${API}/teams`;

let daemon: Daemon;
/** A clone that is up to date when a test begins. */
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});
beforeEach(async () => {
  clone = await daemon.clone();
});

function git(...args: string[]): Promise<string> {
  return gitIn(daemon, clone, ...args);
}

function commit(files: Record<string, string | null>): Promise<void> {
  return commitFiles(daemon, clone, files);
}

function push(...args: string[]): Promise<RunResult> {
  return daemon.git(['push', ...args], clone);
}

async function accepted(files: Record<string, string | null>): Promise<string[]> {
  await commit(files);
  const result = await push();
  expect(result.code, result.stderr).toBe(0);
  return hookSaid(result);
}

// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
async function read(path: string): Promise<any> {
  const answer = await daemon.call('GET', path);
  return answer.code === 404 ? undefined : answer.json();
}

async function everything(): Promise<string> {
  const paths = ['teams', 'sharedsecrets', 'users', 'config'].map((plural) => `${API}/${plural}`);
  const answers = await Promise.all(paths.map((path) => daemon.call('GET', path)));
  return answers
    .map(({ text }) => text.replace(/"metadata":\{"resourceVersion":"\d+"\}/, ''))
    .join();
}

function head(): Promise<string> {
  return daemon
    .git(['rev-parse', 'main'], join(daemon.dataDir, 'repo.git'))
    .then(({ stdout }) => stdout.trim());
}

describe.each([
  ['over HTTP', 'http', () => 'origin'],
  ['by path', 'path', () => join(daemon.dataDir, 'repo.git')],
])('a push %s', (_, folder, remote) => {
  test('is warned of each folder that it widens past 5,000 entries', async () => {
    const files = Array.from({ length: 5001 }, (_, i) => [`${folder}/${i}.txt`, ''] as const);
    const pushed = async (changes: Record<string, string>): Promise<string[]> => {
      await commit(changes);
      const result = await push(remote(), 'HEAD:main');
      expect(result.code, result.stderr).toBe(0);
      return hookSaid(result).filter((line) => line.startsWith('warning: '));
    };
    const warned = (entries: number) => [
      expect.stringMatching(
        `^warning: ${folder}:1:1: The folder has ${entries} entries, .*"gitplane repo fan-out ${folder}"`,
      ),
    ];
    expect(await pushed(Object.fromEntries(files.slice(1)))).toEqual([]);
    expect(await pushed({ [`${folder}/0.txt`]: '' })).toEqual(warned(5001));
    expect(await pushed({ 'elsewhere.txt': folder })).toEqual([]);
    expect(await pushed({ [`${folder}/one-more.txt`]: '' })).toEqual(warned(5002));
  });
});

describe('a push that is refused', () => {
  test('names every mistake with its place, and changes nothing', async () => {
    const before = [await everything(), await head()];
    await commit({
      'teams/wrong.yaml': `${manifest('Team', 'wrong', '\n  displayNam: x\n  users: ada')}---\n${manifest('Team', 'good')}`,
      'namespaces/a/sharedsecrets/wrong.yml': manifest(
        'SharedSecret',
        'wrong',
        '\n  data:\n    k: "not base64!"',
      ),
    });
    const result = await push();
    expect(result.code).toBe(1);
    expect(hookSaid(result)).toEqual([
      expect.stringMatching(
        /^namespaces\/a\/sharedsecrets\/wrong\.yml:7:8: spec\.data\.k: .*base64/,
      ),
      expect.stringMatching(/wrong\.yml:7:8: spec\.data\.k: must not be in git as plaintext/),
      expect.stringMatching(/^teams\/wrong\.yaml:6:3: .*displayNam.*did you mean "displayName"/),
      expect.stringMatching(/^teams\/wrong\.yaml:7:10: spec\.users: .*must be of type array/),
      '4 problems; nothing was changed',
    ]);
    expect([await everything(), await head()]).toEqual(before);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'has an object twice',
      { 'a.yaml': manifest('Team', 'payments') },
      /^teams\/payments\.yaml:\d+:1: Team "payments" is also at a\.yaml:1; keep one of them/m,
    ],
    ['is no YAML', { 'a.yaml': 'a: [' }, /^a\.yaml:\d+:\d+: /m],
    [
      'has an unknown kind',
      { 'a.yaml': manifest('Tean', 'x') },
      /^a\.yaml:2:7: .*did you mean "Team"/m,
    ],
    [
      'has a foreign group',
      { 'a.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\n' },
      /^a\.yaml:1:13: apiVersion: Unknown API version "apps\/v1"/m,
    ],
    [
      'contradicts its folder',
      { 'namespaces/a/x.yaml': manifest('SharedSecret', 'x', '{}', 'b') },
      /^namespaces\/a\/x\.yaml:5:14: .*the folder says "a"/m,
    ],
    [
      'has a file that breaks in its second document',
      { 'a.yaml': `${manifest('Team', 'x')}---\nkind: [\n` },
      /^a\.yaml:\d+:\d+: /m,
    ],
    [
      'has a bad configuration',
      {
        'config/platform.yaml': manifest(
          'Config',
          'platform',
          '\n  raw: |\n    audit:\n      maxSize: big',
        ),
      },
      /^config\/platform\.yaml:\d+:\d+: .*maxSize/m,
    ],
  ])('a push is refused because it %s', async (_title, files, message) => {
    const before = await head();
    await commit(files);
    const result = await push();
    expect(result.code).toBe(1);
    expect(hookSaid(result).join('\n')).toMatch(message);
    expect(await head()).toBe(before);
  });

  test('a push is refused because it rewrites history or deletes the branch', async () => {
    const before = await head();
    await git('commit', '-q', '--amend', '-m', 'Rewritten');
    for (const args of [
      ['-o', 'rewrite'],
      ['--force', '-o', 'rewrite'],
    ]) {
      const rewritten = await push(...args);
      expect([rewritten.code, rewritten.stderr]).toEqual([
        1,
        expect.stringContaining('would rewrite history'),
      ]);
    }
    const deleted = await push('origin', ':main');
    expect([deleted.code, deleted.stderr]).toEqual([
      1,
      expect.stringMatching(/remote ref does not exist/),
    ]);
    expect(await head()).toBe(before);
  });

  test('a push is refused because its key is unknown', async () => {
    const url = (credentials: string): string =>
      `https://${credentials}127.0.0.1:${daemon.port}/git/platform.git`;
    const other = daemon.token.endsWith('x') ? 'y' : 'x';
    const bad = `admin:${daemon.token.slice(0, -1)}${other}@`;
    for (const credentials of ['', bad, 'admin:@']) {
      const into = join(scratchDir(), 'x');
      const cloned = await daemon.git(['clone', '-q', url(credentials), into], clone);
      expect([cloned.code, cloned.stderr]).toEqual([
        128,
        expect.stringMatching(/Authentication failed|could not read (Username|Password)/),
      ]);
      const pushed = await push(url(credentials), 'main:main');
      expect(pushed.code).not.toBe(0);
    }
  });
});

describe('a push that is accepted', () => {
  test('may have files anywhere, with many documents, and reports its changes', async () => {
    const said = await accepted({
      'deep/er/all.yml': `# heading\n${manifest('Team', 'in-one')}---\n${manifest('Team', 'in-two')}---\n${manifest('SharedSecret', 'in-three', '{}', 'somewhere')}`,
      'namespaces/by-folder/secret.yaml': manifest('SharedSecret', 'placed'),
      'notes.txt': 'not a manifest',
      '.hidden/x.yaml': 'not: read',
    });
    expect(said).toEqual(['accepted: 4 created, 0 changed, 0 removed']);
    expect(await read(`${TEAMS}/in-two`)).toMatchObject({ metadata: { generation: 1 } });
    expect(await read(`${API}/namespaces/somewhere/sharedsecrets/in-three`)).toBeDefined();
    expect(await read(`${API}/namespaces/by-folder/sharedsecrets/placed`)).toBeDefined();
  });

  test('may leave foreign documents to .gitplaneignore', async () => {
    await accepted({
      '.gitplaneignore': 'charts/\n',
      'charts/x.yaml': 'apiVersion: apps/v1\nkind: Deployment\n',
    });
  });

  test('may move, split and merge files: the objects stay the same', async () => {
    const [one, two] = [manifest('Team', 'moved-one'), manifest('Team', 'moved-two')];
    await accepted({ 'both.yaml': `${one}---\n${two}` });
    const before = await Promise.all([read(`${TEAMS}/moved-one`), read(`${TEAMS}/moved-two`)]);
    const same = async () =>
      expect(await Promise.all([read(`${TEAMS}/moved-one`), read(`${TEAMS}/moved-two`)])).toEqual(
        before,
      );
    const none = 'accepted: 0 created, 0 changed, 0 removed';
    expect(await accepted({ 'both.yaml': null, 'elsewhere/b.yaml': `${one}---\n${two}` })).toEqual([
      none,
    ]);
    await same();
    expect(await accepted({ 'elsewhere/b.yaml': two, 'one.yaml': one })).toEqual([none]);
    await same();
    expect(await accepted({ 'elsewhere/b.yaml': null, 'one.yaml': `${two}---\n${one}` })).toEqual([
      none,
    ]);
    await same();
    await accepted({
      'one.yaml': `${two}---\n${manifest('Team', 'moved-one', '{ displayName: New }')}`,
    });
    expect(await read(`${TEAMS}/moved-one`)).toMatchObject({
      metadata: { uid: before[0].metadata.uid, generation: 2 },
      spec: { displayName: 'New' },
    });
  });

  test('removes the deleted objects, and no other', async () => {
    await accepted({ 'gone.yaml': `${manifest('Team', 'goes')}---\n${manifest('Team', 'stays')}` });
    const said = await accepted({ 'gone.yaml': manifest('Team', 'stays') });
    expect(said).toEqual([
      'removes Team "goes" (gone.yaml)',
      'accepted: 0 created, 0 changed, 1 removed',
    ]);
    expect(await read(`${TEAMS}/goes`)).toBeUndefined();
    expect(await read(`${TEAMS}/stays`)).toBeDefined();
  });

  test('an accepted push to another branch, or of a tag, changes no served object', async () => {
    const before = await everything();
    await commit({
      'teams/branch.yaml': manifest('Team', 'on-a-branch', '{ nonsense: true }'),
      'teams/payments.yaml': null,
    });
    await git('tag', 'v1');
    expect((await push('origin', 'HEAD:refs/heads/proposal', 'v1')).code).toBe(0);
    expect(await everything()).toBe(before);
  });

  test('an accepted push by path is judged by the same rules and seen as soon', async () => {
    clone = join(scratchDir('gitplane-clone-'), 'by-path');
    const bare = join(daemon.dataDir, 'repo.git');
    await daemon.git(['clone', '-q', `file://${bare}`, clone], daemon.dataDir);
    await commit({ 'teams/by-path.yaml': manifest('Team', 'by-path', '{ usrs: [] }') });
    const refused = await push();
    expect([refused.code, hookSaid(refused)[0]]).toEqual([
      1,
      expect.stringMatching(/^teams\/by-path\.yaml:5:9: .*usrs/),
    ]);
    expect(await accepted({ 'teams/by-path.yaml': manifest('Team', 'by-path') })).toEqual([
      'accepted: 1 created, 0 changed, 0 removed',
    ]);
    await vi.waitFor(async () => expect(await read(`${TEAMS}/by-path`)).toBeDefined(), {
      interval: 20,
    });
  });

  test('may merge concurrent writes of the API', async () => {
    await accepted({
      'teams/merged.yaml': manifest('Team', 'merged', '\n  displayName: One\n  description: one'),
    });
    const before = await read(TEAMS);
    await commit({
      'teams/merged.yaml': manifest(
        'Team',
        'merged',
        '\n  displayName: One\n  description: pushed',
      ),
    });
    const body = { spec: { users: ['ada'] } };
    await daemon.call('PATCH', `${TEAMS}/payments`, { body, type: 'application/merge-patch+json' });
    await daemon.call('POST', TEAMS, { body: { metadata: { name: 'meanwhile' }, spec: {} } });
    const between = await read(TEAMS);
    // A merge that the pusher made, instead of the platform.
    await git('pull', '-q', '--no-rebase', '--no-edit');
    const result = await push();
    expect([result.code, hookSaid(result)]).toEqual([
      0,
      ['accepted: 0 created, 1 changed, 0 removed'],
    ]);
    expect(await git('log', '-1', '--format=%p')).toMatch(/^\w+ \w+$/m);
    const after = await read(TEAMS);
    const identities = (list: { items: { metadata: object }[] }) =>
      list.items.map(({ metadata }) => ({ ...metadata, resourceVersion: '' }));
    expect(after.items).toHaveLength(before.items.length + 1);
    const changed = (meta: object) => ({ ...meta, generation: 2 });
    expect(identities(after)).toEqual(
      identities(between).map((meta) =>
        'name' in meta && meta.name === 'merged' ? changed(meta) : meta,
      ),
    );
    expect(await read(`${TEAMS}/merged`)).toMatchObject({ spec: { description: 'pushed' } });
    expect(await read(`${TEAMS}/payments`)).toMatchObject({ spec: { users: ['ada'] } });
  });
});

test('pushes and API writes at the same time lose nothing', async () => {
  const create = async (i: number): Promise<void> => {
    const body = { metadata: { name: `api-${i}` }, spec: {} };
    const answer = await daemon.call('POST', TEAMS, { body });
    expect(answer.code, answer.text).toBe(201);
  };
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < 100) await create(next++);
  };
  const pusher = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await commit({ [`teams/git-${i}.yaml`]: manifest('Team', `git-${i}`) });
      for (let pushed = false; !pushed; ) {
        pushed = (await push()).code === 0;
        if (!pushed) await git('pull', '-q', i % 2 === 0 ? '--rebase' : '--no-rebase', '--no-edit');
      }
    }
  };
  await Promise.all([pusher(), writer(), writer(), writer()]);
  const { items } = await read(TEAMS);
  const names = new Set(items.map((item: { metadata: { name: string } }) => item.metadata.name));
  for (let i = 0; i < 100; i++) expect(names).toContain(`api-${i}`);
  for (let i = 0; i < 5; i++) expect(names).toContain(`git-${i}`);
  const bare = join(daemon.dataDir, 'repo.git');
  // Asks again while packs are being rolled up: what is damaged stays damaged.
  await vi.waitFor(
    async () => {
      const fsck = await daemon.git(['fsck', '--full', '--strict'], bare);
      expect([fsck.code, fsck.stderr]).toEqual([0, '']);
    },
    { timeout: 10_000, interval: 200 },
  );
  const files = (await daemon.git(['ls-tree', '-r', '--name-only', 'main', 'teams/'], bare)).stdout;
  for (let i = 0; i < 100; i++) expect(files).toContain(`teams/api-${i}.yaml\n`);
});

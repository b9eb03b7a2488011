/** The path of a new object in folders of any width. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Keyring, makeIdentity } from '../../../src/sealing/data-keys.ts';
import { filesOf, git } from '../../support/git.ts';
import {
  kindOf,
  openTestPlatform,
  type TestPlatform,
  team,
  writeOptions,
} from '../../support/platform.ts';

const FULL = 256;

const digits = (stem: string): string => hash('sha256', stem);
const firstLevel = (stem: string): string => `${digits(stem).slice(0, 2)}/${stem}.yaml`;
const secondLevel = (stem: string): string =>
  `${digits(stem).slice(0, 2)}/${digits(stem).slice(2, 4)}/${stem}.yaml`;

function paths(platform: TestPlatform): string[] {
  return Object.keys(filesOf(platform.repository.gitDir, 'main'));
}

/** So many files of teams in a folder. */
function teams(folder: string, count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, i) => `team-${String(i).padStart(5, '0')}`);
  return Object.fromEntries(names.map((name) => [`${folder}/${name}.yaml`, team(name)]));
}

test('a folder takes new objects until it is full, and fan-out folders take the others', async () => {
  const platform = await openTestPlatform();
  await platform.commit(teams('teams', FULL - 1));
  // One group of commits: each sees the files of those before it.
  await Promise.all(
    ['a', 'b', 'c'].map((name) => platform.create('teams', { metadata: { name } })),
  );

  const made = paths(platform).filter((path) => !path.includes('team-'));
  expect(made.sort()).toEqual(
    [`teams/${firstLevel('b')}`, `teams/${firstLevel('c')}`, 'teams/a.yaml'].sort(),
  );
  expect(platform.names('teams')).toHaveLength(FULL + 2);
});

test('a full fan-out folder has fan-out folders of its own', async () => {
  const platform = await openTestPlatform();
  const name = 'payments';
  const folder = `teams/${digits(name).slice(0, 2)}`;
  await platform.commit({ ...teams('teams', FULL), ...renamed(teams(folder, FULL)) });

  await platform.create('teams', { metadata: { name } });

  expect(paths(platform)).toContain(`teams/${secondLevel(name)}`);
});

function role(name: string): string {
  const head = 'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n';
  return `${head}metadata:\n  name: ${name}\nrules: []\n`;
}

/** The same files with other objects. */
function renamed(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, text.replace('team-', 'other-')]),
  );
}

test('a namespaced object stays below its namespace, which its folder still gives', async () => {
  const platform = await openTestPlatform();
  const folder = 'namespaces/web/roles';
  const files = Array.from({ length: FULL }, (_, i) => [`${folder}/r${i}.yaml`, role(`r${i}`)]);
  await platform.commit(Object.fromEntries(files));
  await platform.create('roles', { metadata: { name: 'reader' }, rules: [] }, 'web');

  const path = `${folder}/${firstLevel('reader')}`;
  expect(paths(platform)).toContain(path);
  await platform.commit({ [path]: role('reader') });
  expect(platform.find('roles', 'reader', 'web')?.object.metadata.namespace).toBe('web');
  expect(platform.branch.state.catalog.problems()).toEqual([]);
});

test('a name that file systems refuse is placed by the digits of its file name', async () => {
  const platform = await openTestPlatform();
  const folder = 'namespaces/web/roles';
  const files = Array.from({ length: FULL }, (_, i) => [`${folder}/r${i}.yaml`, role(`r${i}`)]);
  await platform.commit(Object.fromEntries(files));
  await platform.create('roles', { metadata: { name: 'system:Reader' }, rules: [] }, 'web');
  expect(paths(platform)).toContain(`${folder}/${firstLevel('system%3A%52eader')}`);
});

test('the same commits and names give the same paths: warm, cold, and in another process', async () => {
  const first = await openTestPlatform();
  await first.commit(teams('teams', FULL - 2));
  const warm = await first.restart();
  const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
  const made: string[][] = [];
  const start = git(first.repository.gitDir, ['rev-parse', 'main']);
  for (const open of [() => warm, () => warm.restart({ disk: new Map() })]) {
    const platform = await open();
    for (const name of names) await platform.create('teams', { metadata: { name } });
    made.push(paths(platform).filter((path) => /\/n\d\.yaml$/.test(path)));
    for (const name of names) await platform.delete('teams', name);
  }
  expect(made[1]).toEqual(made[0]);
  expect(made[0]).toContain(`teams/${firstLevel('n5')}`);
  // The last file takes its fan-out folder with it: the tree is that before.
  const tree = (of: string): string => git(first.repository.gitDir, ['rev-parse', `${of}^{tree}`]);
  expect(tree('main')).toBe(tree(start));
});

test('a document that is at the standard path is joined there, however full its folder is', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ ...teams('teams', FULL), 'teams/a.yaml': team('b') });
  await platform.create('teams', { metadata: { name: 'a' } });
  expect(filesOf(platform.repository.gitDir, 'main')['teams/a.yaml']).toMatch(
    /name: b[\s\S]*name: a/,
  );
});

test('an object that is in git stays where it is, in a full folder too', async () => {
  const platform = await openTestPlatform();
  await platform.commit(teams('teams', FULL + 10));
  await platform.patch('teams', 'team-00003', (object) => {
    object.spec.displayName = 'Three';
  });
  expect(paths(platform)).toEqual(Object.keys(teams('teams', FULL + 10)));
});

test('fan-out folders that are ignored, or whose place a file has, are not used', async () => {
  const platform = await openTestPlatform();
  const blocked = digits('a').slice(0, 2);
  const files = { ...teams('teams', FULL), [`teams/${blocked}`]: 'no folder' };
  await platform.commit({ ...files, '.gitplaneignore': `teams/${digits('b').slice(0, 2)}/\n` });
  await platform.create('teams', { metadata: { name: 'a' } });
  await platform.create('teams', { metadata: { name: 'b' } });
  expect(paths(platform)).toEqual(expect.arrayContaining(['teams/a.yaml', 'teams/b.yaml']));
});

test('a restored object goes to its former file, or to a fan-out folder where that one is full', async () => {
  const platform = await openTestPlatform();
  const files = teams('teams', FULL);
  await platform.commit({
    ...files,
    'teams/a.yaml': `# about a\n${team('a')}`,
    'x/b.yaml': team('b'),
  });
  const blobs = filesOf(platform.repository.gitDir, 'main');
  const blob = (path: string): string =>
    git(platform.repository.gitDir, ['rev-parse', `main:${path}`]);
  const former = {
    a: { path: 'teams/a.yaml', blob: blob('teams/a.yaml') },
    b: { path: 'x/b.yaml', blob: blob('x/b.yaml') },
  };
  for (const name of ['a', 'b'] as const) {
    await platform.delete('teams', name);
    const request = { kind: kindOf('teams'), namespace: '', duplicates: [], options: writeOptions };
    const body = { metadata: { name }, spec: {} };
    await platform.registry.create({
      ...request,
      body,
      path: former[name].path,
      former: former[name],
    });
  }
  const now = filesOf(platform.repository.gitDir, 'main');
  expect(now[`teams/${firstLevel('a')}`]).toBe(blobs['teams/a.yaml']);
  expect(now['x/b.yaml']).toBe(blobs['x/b.yaml']);
});

test('a secret leaves its folder only for one that the same rule of .sops.yaml encrypts', async () => {
  const { identity, recipient } = await makeIdentity();
  const keyring = await Keyring.open([identity], { marks: true });
  const platform = await openTestPlatform({ keyring });
  const rule = (path: string, more: string): string =>
    `  - path_regex: ${path}\n    encrypted_regex: ^data$\n    age: ${recipient}${more}\n`;
  const other = (await makeIdentity()).recipient;
  const config = `creation_rules:\n${rule('^namespaces/web/sharedsecrets/[^/]*$', '')}${rule('.', `,${other}`)}`;
  const folder = (namespace: string): string => `namespaces/${namespace}/sharedsecrets`;
  const files = ['web', 'shop'].flatMap((namespace) =>
    Array.from({ length: FULL }, (_, i) => [`${folder(namespace)}/notes-${i}.txt`, 'x']),
  );
  await platform.commit({ ...Object.fromEntries(files), '.sops.yaml': config });

  const body = {
    metadata: { name: 'cdn' },
    spec: { displayName: 'CDN', data: { a: 'aHVudGVyMg==' } },
  };
  for (const namespace of ['web', 'shop']) await platform.create('sharedsecrets', body, namespace);

  const now = filesOf(platform.repository.gitDir, 'main');
  expect(now[`${folder('web')}/cdn.yaml`]).not.toContain(other);
  expect(now[`${folder('shop')}/${firstLevel('cdn')}`]).toContain(other);
});

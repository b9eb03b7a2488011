/** What `gitplane login` does to kubeconfigs, measured by kubectl where it is there. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  addToKubeconfig,
  type KubeconfigEntry,
  kubeconfigFiles,
  readKubeconfigs,
  removeFromKubeconfig,
} from '../../src/cli/kubeconfig-file.ts';
import { findKubectl, run, scratchDir } from '../support/daemon.ts';

const entry: KubeconfigEntry = {
  name: 'gitplane-a',
  cluster: {
    server: 'https://a.example.com/kubernetes/management',
    'certificate-authority': undefined,
  },
  user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'gitplane' } },
};

const OTHERS = `# mine
apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: work
clusters:
- name: work # the cluster at work
  cluster: {server: "https://work.example.com", proxy-url: "http://proxy"}
contexts:
- {name: work, context: {cluster: work, user: me, namespace: dev}}
users:
- name: me
  user: {token: "0123", as: other}
extensions:
- {name: x, extension: {anything: [1, 2]}}
`;

function file(text?: string, name = 'config'): string {
  const path = join(scratchDir(), name);
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

// biome-ignore lint/suspicious/noExplicitAny: kubeconfigs of every shape
const content = (path: string): any => parse(readFileSync(path, 'utf8'));

describe('the files of $KUBECONFIG', () => {
  test.each([
    ['the one of the command line', 'x', { KUBECONFIG: 'a:b', HOME: '/h' }, ['x']],
    ['those of $KUBECONFIG', undefined, { KUBECONFIG: ':a::b:a', HOME: '/h' }, ['a', 'b']],
    ['the usual one', undefined, { KUBECONFIG: '', HOME: '/h' }, ['/h/.kube/config']],
  ])('%s', (_title, given, environment, expected) => {
    expect(kubeconfigFiles(given, environment)).toEqual(expected);
  });
});

describe('a login is added', () => {
  test('creates a new file that only its owner can read', async () => {
    const path = join(scratchDir(), 'deep', 'config');
    expect(await addToKubeconfig([path], entry)).toBe(path);
    expect(content(path)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'gitplane-a', cluster: { server: entry.cluster['server'] } }],
      users: [{ name: 'gitplane-a', user: entry.user }],
      contexts: [{ name: 'gitplane-a', context: { cluster: 'gitplane-a', user: 'gitplane-a' } }],
      'current-context': 'gitplane-a',
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('keeps all entries of others, and comments', async () => {
    const path = file(OTHERS);
    chmodSync(path, 0o640);
    await addToKubeconfig([path], entry);
    const { clusters, users, contexts, ...rest } = content(path);
    const before = parse(OTHERS);
    expect(rest).toEqual({
      ...before,
      clusters: undefined,
      users: undefined,
      contexts: undefined,
      'current-context': 'gitplane-a',
    });
    expect([clusters[0], users[0], contexts[0]]).toEqual([
      before.clusters[0],
      before.users[0],
      before.contexts[0],
    ]);
    expect([clusters.length, users.length, contexts.length]).toEqual([2, 2, 2]);
    expect(readFileSync(path, 'utf8')).toContain('# the cluster at work');
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(path, '..'))).toEqual(['config']);
  });

  test('replaces an earlier login: namespace and proxy stay, the old token goes', async () => {
    const path = file(
      `clusters: [{name: gitplane-a, cluster: {server: old, certificate-authority: old.crt, proxy-url: "http://p"}}]
users: [{name: gitplane-a, user: {token: old-token}}]
contexts: [{name: gitplane-a, context: {cluster: x, user: y, namespace: payments}}]
`,
    );
    await addToKubeconfig([path], entry);
    const { clusters, users, contexts } = content(path);
    expect(clusters).toEqual([
      { name: 'gitplane-a', cluster: { server: entry.cluster['server'], 'proxy-url': 'http://p' } },
    ]);
    expect(users).toEqual([{ name: 'gitplane-a', user: entry.user }]);
    expect(contexts[0].context).toEqual({
      cluster: 'gitplane-a',
      user: 'gitplane-a',
      namespace: 'payments',
    });
  });

  test.each([
    ['empty', ''],
    ['with nulls', 'clusters: null\nusers: ~\ncontexts:\ncurrent-context: ""\n'],
    ['as JSON', '{"apiVersion":"v1","kind":"Config","clusters":[],"users":[],"contexts":[]}'],
  ])('writes a login to a file that is %s', async (_how, text) => {
    const path = file(text);
    await addToKubeconfig([path], entry);
    const found = await readKubeconfigs([path]);
    expect(found.currentContext).toBe('gitplane-a');
    expect(found.find('users', 'gitplane-a')).toEqual({ name: 'gitplane-a', user: entry.user });
  });

  test('changes the file that has the context, and creates entries in the first file that exists', async () => {
    const folder = scratchDir();
    const [absent, first, second] = ['0', '1', '2'].map((name) => join(folder, name));
    writeFileSync(first ?? '', OTHERS);
    writeFileSync(second ?? '', 'users: [{name: gitplane-a, user: {token: old}}]\n');
    const files = [absent ?? '', first ?? '', second ?? ''];
    expect(await addToKubeconfig(files, entry)).toBe(first);
    expect(existsSync(absent ?? '')).toBe(false);
    expect(content(first ?? '').users).toHaveLength(1);
    expect(content(second ?? '').users).toEqual([{ name: 'gitplane-a', user: entry.user }]);
    expect(content(first ?? '')['current-context']).toBe('gitplane-a');
  });

  test('writes through a symbolic link, which stays a link', async () => {
    const path = file(OTHERS);
    const link = join(scratchDir(), 'link');
    symlinkSync(path, link);
    await addToKubeconfig([link], entry);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(content(path)['current-context']).toBe('gitplane-a');
  });

  test.each([['- a list'], ['a: [unclosed'], ['just text']])(
    'never to a file that is not a kubeconfig: %s',
    async (text) => {
      const path = file(text);
      await expect(addToKubeconfig([path], entry)).rejects.toThrow(/is not a kubeconfig/);
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('many at once, and none is lost', async () => {
    const path = file(OTHERS);
    const names = Array.from({ length: 8 }, (_, index) => `gitplane-${index}`);
    await Promise.all(names.map((name) => addToKubeconfig([path], { ...entry, name })));
    const have = content(path).contexts.map(({ name }: { name: string }) => name);
    expect(have.toSorted()).toEqual([...names, 'work'].toSorted());
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

describe('a login is taken away', () => {
  test('removes the login from every file, and nothing else', async () => {
    const [one, two] = [file(OTHERS), file('users: [{name: gitplane-a, user: {token: old}}]\n')];
    await addToKubeconfig([one, two], entry);
    await removeFromKubeconfig([one, two, '/nowhere'], 'gitplane-a');
    expect(content(one)).toEqual({ ...parse(OTHERS), 'current-context': '' });
    expect(content(two).users).toEqual([]);
  });

  test('keeps the current context of another login', async () => {
    const path = file(OTHERS);
    const text = readFileSync(path, 'utf8');
    await removeFromKubeconfig([path], 'gitplane-a');
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

const kubectl = findKubectl('1.32');

test.skipIf(kubectl === undefined)('kubectl reads what was added, and adds to it', async () => {
  const path = file(OTHERS);
  await addToKubeconfig([path], entry);
  const env = { ...process.env, KUBECONFIG: path, HOME: scratchDir() };
  const config = (...args: string[]) => run(kubectl ?? '', ['config', ...args], { env });
  expect((await config('current-context')).stdout).toBe('gitplane-a\n');
  expect((await config('get-contexts', '-o', 'name')).stdout).toBe('gitplane-a\nwork\n');
  expect((await config('set-context', 'gitplane-a', '--namespace', 'payments')).code).toBe(0);
  await addToKubeconfig([path], entry);
  expect(content(path).contexts.find((one: { name: string }) => one.name === 'gitplane-a')).toEqual(
    {
      name: 'gitplane-a',
      context: { cluster: 'gitplane-a', user: 'gitplane-a', namespace: 'payments' },
    },
  );
});

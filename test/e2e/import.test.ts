/** `gitplane import`: objects of another management cluster as sealed manifests in one commit. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { formatKubeconfig } from '../../src/tls/kubeconfig.ts';
import { type Daemon, type RunResult, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { hasApiServer, startApiServer } from '../support/kube-apiserver/api-server.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
const value = (text: string): string => Buffer.from(text).toString('base64');

const OBJECTS = [
  {
    apiVersion: 'management.loft.sh/v1',
    kind: 'Team',
    metadata: {
      name: 'bakers',
      uid: '1',
      resourceVersion: '7',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{"a":"hunter2"}',
        own: 'x',
      },
    },
    spec: { displayName: 'Bakers', users: ['ada'] },
    status: { x: 1 },
  },
  {
    apiVersion: 'management.loft.sh/v1',
    kind: 'SharedSecret',
    metadata: { name: 'oven', namespace: 'kitchen' },
    spec: { data: { code: value('hunter2') } },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'flour', namespace: 'kitchen' },
    type: 'Opaque',
    data: { code: value('hunter3') },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'readers' },
    rules: [{ apiGroups: ['*'], resources: ['teams'], verbs: ['get'] }],
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'helm.sh/release.v1',
    metadata: { name: 'r', namespace: 'x' },
  },
  { apiVersion: 'management.loft.sh/v1', kind: 'Spaceship', metadata: { name: 'enterprise' } },
  {
    apiVersion: 'management.loft.sh/v1',
    kind: 'Team',
    metadata: { name: 'odd' },
    spec: { nope: 1 },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'system:node' },
    rules: [],
  },
  {
    apiVersion: 'storage.loft.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: { name: 'key' },
    spec: { user: 'ada', key: 'hunter4' },
  },
];

let folder: string;
let recipient: string;

beforeAll(async () => {
  recipient = await identityToRecipient(await generateX25519Identity());
});

beforeEach(async () => {
  folder = scratchDir();
  await git('init', '-q', '-b', 'main');
  await git('config', 'user.name', 'Ada');
  await git('config', 'user.email', 'ada@example.com');
  await git('commit', '-q', '--allow-empty', '-m', 'First');
  writeFileSync(join(folder, 'objects.json'), JSON.stringify({ kind: 'List', items: OBJECTS }));
});

const git = (...args: string[]): Promise<RunResult> => run('git', args, { cwd: folder });
const gitplane = (...args: string[]): Promise<RunResult> =>
  run(process.execPath, [MAIN, ...args], { cwd: folder });

describe('gitplane import', () => {
  test('writes manifests that a push accepts, seals secrets, makes one commit, and reports the rest', async () => {
    mkdirSync(join(folder, 'platform'));
    expect(await gitplane('seal', '--init', '--recipient', recipient, 'platform')).toMatchObject({
      code: 0,
    });
    await git('add', '.sops.yaml');
    await git('commit', '-qm', 'Recipients');
    const { code, stdout, stderr } = await gitplane(
      'import',
      'objects.json',
      '--to',
      'platform',
      '--commit',
      '-o',
      'json',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { imported, leftOut } = JSON.parse(stdout);

    expect(imported.map(({ path }: { path: string }) => path)).toEqual([
      'teams/bakers.yaml',
      'namespaces/kitchen/sharedsecrets/oven.yaml',
      'namespaces/kitchen/sharedsecrets/flour.yaml',
      'clusterroles/readers.yaml',
    ]);
    expect(leftOut).toEqual([
      { object: 'v1 Secret x/r', reason: expect.stringMatching(/type helm\.sh/) },
      {
        object: 'management.loft.sh/v1 Spaceship enterprise',
        reason: 'the platform has no such kind',
      },
      { object: 'management.loft.sh/v1 Team odd', reason: expect.stringMatching(/nope/) },
      { object: expect.stringMatching(/system:node/), reason: 'it belongs to Kubernetes itself' },
      {
        object: expect.stringMatching(/OwnedAccessKey key/),
        reason: expect.stringMatching(/keys create/),
      },
    ]);
    expect(readFileSync(join(folder, 'platform/teams/bakers.yaml'), 'utf8')).toBe(
      stringify({
        apiVersion: 'management.gitplane.dev/v1',
        kind: 'Team',
        metadata: { name: 'bakers', annotations: { own: 'x' } },
        spec: { displayName: 'Bakers', users: ['ada'] },
      }),
    );
    const history = (await git('log', '-p', '--format=%s')).stdout;
    expect(history).toMatch(/^Import 4 objects$/m);
    for (const secret of ['hunter2', 'hunter3', 'hunter4']) {
      expect(history).not.toContain(secret);
      expect(history).not.toContain(value(secret));
    }
    expect((await git('status', '--porcelain', 'platform')).stdout).toBe('');
    expect(await gitplane('validate', 'platform')).toMatchObject({ code: 0 });
  });

  test('texts of another cluster do not reach the terminal as commands or lines', async () => {
    const hostile = '\u001b]0;owned\u0007\nx: 5 imported';
    const items = [
      { apiVersion: 'v1', kind: hostile, metadata: { name: 'a' } },
      { apiVersion: 'v1', kind: 'Secret', type: hostile, metadata: { name: hostile } },
    ];
    writeFileSync(join(folder, 'objects.json'), JSON.stringify({ kind: 'List', items }));
    const { stdout } = await gitplane('import', 'objects.json', '--to', 'platform');
    expect(stdout).toMatch(/^0 imported, 2 left out$/m);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
    expect(stdout.trim().split('\n')).toHaveLength(3);
  });

  test('a folder that is a symbolic link takes no manifest', async () => {
    const elsewhere = join(folder, 'elsewhere');
    for (const path of [elsewhere, join(folder, 'platform')]) mkdirSync(path, { recursive: true });
    symlinkSync(elsewhere, join(folder, 'platform/teams'));
    const { stdout } = await gitplane('import', 'objects.json', '--to', 'platform');
    expect(stdout).toMatch(/left out: .*Team bakers: teams is a symbolic link$/m);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test('a second import overwrites nothing', async () => {
    await gitplane('import', 'objects.json', '--to', 'platform');
    writeFileSync(join(folder, 'platform/teams/bakers.yaml'), '# ours\n');
    const { code, stdout } = await gitplane('import', 'objects.json', '--to', 'platform');

    expect(code).toBe(1);
    expect(stdout).toMatch(/left out: .*Team bakers: teams\/bakers\.yaml exists already/);
    expect(readFileSync(join(folder, 'platform/teams/bakers.yaml'), 'utf8')).toBe('# ours\n');
  });

  test('secrets are left out where there is no .sops.yaml, with the remedy', async () => {
    const { stdout } = await gitplane('import', 'objects.json', '--to', 'platform');

    expect(stdout).toMatch(
      /left out: .*SharedSecret kitchen\/oven: it holds secrets.*gitplane seal --init/,
    );
    expect(stdout).toMatch(/^2 imported, 7 left out$/m);
  });

  test.each<[string[], RegExp]>([
    [[], /Name either files to import/],
    [['nowhere.json'], /Cannot read nowhere\.json/],
    [['objects.json', '--from-context', 'x'], /Name either files to import/],
  ])('%j ends with 2', async (args, message) => {
    const result = await gitplane('import', ...args);

    expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});

describe('gitplane import --from-context', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const importFrom = (kubeconfig: string): Promise<RunResult> => {
    const args = ['import', '--from-context', 'gitplane', '--to', '.', '-o', 'json'];
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    return run(process.execPath, [MAIN, ...args], { cwd: folder, env });
  };

  test('takes over the objects of a daemon, and no key', async () => {
    await gitplane('seal', '--init', '--recipient', recipient, '.');
    const { code, stdout, stderr } = await importFrom(join(daemon.dataDir, 'kubeconfig'));
    expect([code, stderr]).toEqual([0, '']);
    const { imported, leftOut } = JSON.parse(stdout);
    const paths = imported.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['teams/payments.yaml', 'users/ada.yaml', 'config/platform.yaml']),
    );
    expect(paths.filter((path: string) => path.startsWith('ownedaccesskeys/'))).toEqual([]);
    expect(leftOut.map(({ object }: { object: string }) => object).join()).toMatch(
      /OwnedAccessKey/,
    );
    expect(await gitplane('validate', '.')).toMatchObject({ code: 0 });
    const team = readFileSync(join(folder, 'teams/payments.yaml'), 'utf8');
    expect(team).not.toMatch(/uid|resourceVersion|managedFields|status/);
  });

  test.skipIf(!hasApiServer)(
    'takes over roles and Secrets of an API server of Kubernetes',
    async () => {
      const server = await startApiServer([`--token-auth-file=${tokens()}`]);
      onTestFinished(() => server.stop());
      const kubeconfig = join(folder, 'kubeconfig');
      const config = { server: server.url, caPem: server.ca, token: 'token-of-root' };
      writeFileSync(kubeconfig, formatKubeconfig(config));
      const secret = { ...OBJECTS[2], metadata: { name: 'flour', namespace: 'default' } };
      writeFileSync(
        join(folder, 'there.json'),
        JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [secret, OBJECTS[3]] }),
      );
      const applied = await run('kubectl', [
        '--kubeconfig',
        kubeconfig,
        'create',
        '-f',
        join(folder, 'there.json'),
      ]);
      expect(applied.code, applied.stderr).toBe(0);
      await gitplane('seal', '--init', '--recipient', recipient, '.');
      const { code, stdout, stderr } = await importFrom(kubeconfig);
      expect([code, stderr]).toEqual([0, '']);
      const paths = JSON.parse(stdout).imported.map(({ path }: { path: string }) => path);
      expect(paths).toEqual(
        expect.arrayContaining([
          'clusterroles/readers.yaml',
          'namespaces/default/sharedsecrets/flour.yaml',
        ]),
      );
      expect(
        readFileSync(join(folder, 'namespaces/default/sharedsecrets/flour.yaml'), 'utf8'),
      ).toContain('ENC[');
    },
  );

  function tokens(): string {
    const file = join(folder, 'tokens.csv');
    writeFileSync(file, 'token-of-root,root,1,system:masters\n');
    return file;
  }
});

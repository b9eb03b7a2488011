/** Secrets of a real daemon: sealed in git from the first commit on, in the clear for readers. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findSops } from '../sealing/sops.ts';
import { API, type Daemon, run, startDaemon } from '../support/daemon.ts';

const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const FILE = 'namespaces/payments/sharedsecrets/registry.yaml';
const VALUE = 'aHVudGVyMg==';

let daemon: Daemon;
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon();
  clone = await daemon.clone();
});
afterAll(() => daemon.stop());

const read = (path: string): string => readFileSync(join(clone, path), 'utf8');
const write = (path: string, text: string): void => writeFileSync(join(clone, path), text);
const git = (...args: string[]): ReturnType<Daemon['git']> => daemon.git(args, clone);
const dataOf = async (name: string): Promise<Record<string, string>> =>
  (await daemon.call('GET', `${SECRETS}/${name}`)).json().spec.data;

async function push(message: string): Promise<{ code: number; stderr: string }> {
  await git('add', '-A');
  await git('commit', '-qm', message);
  return await git('push', '-q');
}

/** Everything that any commit ever held. */
const history = async (): Promise<string> =>
  (await git('log', '-p', '--format=%B', 'origin/main')).stdout;

describe('the first start', () => {
  test('makes a key for the owner of the daemon alone', () => {
    const file = join(daemon.dataDir, 'age.key');

    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/^# public key: age1\w+\nAGE-SECRET-KEY-1\w+$/m);
  });

  test('seals the secrets of the seed for it, and names it in .sops.yaml', async () => {
    const recipient = /age1\w+/.exec(readFileSync(join(daemon.dataDir, 'age.key'), 'utf8'))?.[0];

    expect(read('.sops.yaml')).toContain(recipient);
    expect(read(FILE)).toMatch(/\.dockerconfigjson: ENC\[AES256_GCM,/);
    expect(await history()).not.toMatch(/dockerconfigjson: eyJ/);
  });

  test('serves them in plaintext', async () => {
    const { '.dockerconfigjson': value = '' } = await dataOf('registry');

    expect(Buffer.from(value, 'base64').toString()).toContain('registry.example.com');
  });
});

describe('a write', () => {
  test('is sealed on the way to the commit, for any verb', async () => {
    const body = { metadata: { name: 'api' }, spec: { data: { one: VALUE, two: 'dHdv' } } };
    expect((await daemon.call('POST', SECRETS, { body })).code).toBe(201);
    const type = 'application/merge-patch+json';
    const patch = { spec: { data: { one: 'bmV3' } } };
    expect((await daemon.call('PATCH', `${SECRETS}/api`, { body: patch, type })).code).toBe(200);
    const { metadata } = (await daemon.call('GET', `${SECRETS}/api`)).json();
    const { resourceVersion } = metadata;
    const put = {
      metadata: { name: 'api', resourceVersion },
      spec: { data: { three: 'dGhyZWU=' } },
    };
    expect((await daemon.call('PUT', `${SECRETS}/api`, { body: put })).code).toBe(200);

    expect(await dataOf('api')).toEqual({ three: 'dGhyZWU=' });
    await git('pull', '-q');
    expect(await history()).not.toMatch(/aHVudGVyMg|dHdv|bmV3|dGhyZWU/);
  });

  test('a rolled back write restores the old value, encrypted', async () => {
    const { json } = await daemon.call('GET', `${SECRETS}/api/history`);
    const created = json().items.at(-1).revision;
    const answer = await daemon.call('POST', `${SECRETS}/api/rollback`, {
      body: { revision: created },
    });

    expect(answer.code).toBe(200);
    expect(await dataOf('api')).toEqual({ one: VALUE, two: 'dHdv' });
    await git('pull', '-q');
    expect(await history()).not.toContain(VALUE);
  });

  test('shows in history by the names of its fields only', async () => {
    const { text } = await daemon.call('GET', `${SECRETS}/api/history`);

    expect(text).toContain('spec.data.three');
    expect(text).not.toMatch(/ENC\[|aHVudGVyMg|dGhyZWU/);
  });

  test('a write of kubectl is encrypted together with its last-applied annotation', async () => {
    const manifest = `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata: {name: applied, namespace: payments}\nspec: {data: {password: ${VALUE}}}\n`;
    const { code } = await daemon.kubectl(['apply', '-f', '-'], { input: manifest });

    expect(code).toBe(0);
    await git('pull', '-q');
    expect(await history()).not.toContain(VALUE);
  });
});

describe('a push', () => {
  test('a push with a secret in plaintext is refused, with the place and the command', async () => {
    const before = read(FILE);
    write(
      FILE,
      before
        .replace(/dockerconfigjson: .*/, `dockerconfigjson: ${VALUE}`)
        .replace(/\nsops:[\s\S]*/, '\n'),
    );
    const { code, stderr } = await push('Leak it');

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /registry\.yaml:\d+:\d+: spec\.data\["\.dockerconfigjson"\]: must not be in git as plaintext; seal it with/,
    );
    expect(stderr).not.toContain(VALUE);
    await git('reset', '-q', '--hard', 'origin/main');
  });

  test('a push with a secret in plaintext to another branch, or of a tag, is refused', async () => {
    write(FILE, read(FILE).replace(/\.dockerconfigjson: ENC.*/, `.dockerconfigjson: ${VALUE}`));
    await git('commit', '-qam', 'leak');
    await git('tag', 'leak');
    for (const ref of ['HEAD:refs/heads/proposal', 'leak']) {
      const { code, stderr } = await git('push', '-q', 'origin', ref);
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`${FILE}:\\d+:\\d+: in commit [0-9a-f]{12}: `));
    }
    const refs = await daemon.git(['for-each-ref'], join(daemon.dataDir, 'repo.git'));
    expect(refs.stdout).not.toMatch(/proposal|leak/);
    await git('tag', '-d', 'leak');
    await git('reset', '-q', '--hard', 'HEAD~1');
  });

  test('is taken after the command that it names', async () => {
    const program = join(import.meta.dirname, '../../dist/main.js');
    const cleared = read(FILE)
      .replace(/dockerconfigjson: .*/, `dockerconfigjson: ${VALUE}`)
      .replace(/\nsops:[\s\S]*/, '\n');
    write(FILE, cleared);
    const sealed = await run(process.execPath, [program, 'seal', FILE], {
      cwd: clone,
      env: { ...process.env, GITPLANE_AGE_KEY_FILE: '', SOPS_AGE_KEY_FILE: '' },
    });
    expect(sealed).toMatchObject({ code: 0, stdout: `sealed ${FILE}\n` });

    expect(await push('Seal it')).toMatchObject({ code: 0 });
    expect(await dataOf('registry')).toEqual({ '.dockerconfigjson': VALUE });
  });

  test.skipIf(findSops() === undefined)(
    'a push of files made by sops is read, and sops edits files made by gitplane',
    async () => {
      const sops = (...args: string[]): ReturnType<typeof run> =>
        run(findSops() ?? '', ['--disable-version-check', ...args], {
          cwd: clone,
          env: { ...process.env, SOPS_AGE_KEY_FILE: join(daemon.dataDir, 'age.key') },
        });
      expect(await sops('set', FILE, '["spec"]["data"]["token"]', '"dG9rZW4="')).toMatchObject({
        code: 0,
      });
      const fresh = 'namespaces/payments/sharedsecrets/fresh.yaml';
      write(
        fresh,
        `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: fresh\nspec:\n  data:\n    a: ${VALUE}\n`,
      );
      expect(await sops('encrypt', '-i', fresh)).toMatchObject({ code: 0 });
      expect(await push('By sops')).toMatchObject({ code: 0 });

      expect(await dataOf('registry')).toMatchObject({ token: 'dG9rZW4=' });
      expect(await dataOf('fresh')).toEqual({ a: VALUE });
    },
  );
});

describe('gitplane secrets', () => {
  const gitplane = (args: string[], input = ''): { status: number | null; text: string } => {
    const env = { ...process.env, KUBECONFIG: join(daemon.dataDir, 'kubeconfig') };
    const of = { env, input, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('node', ['dist/main.js', 'secrets', ...args], of);
    return { status, text: stdout + stderr };
  };

  test('set makes a secret and changes one value of it, a commit each', async () => {
    const made = gitplane(['set', 'payments/cli', 'token'], 'hunter2\n');
    expect(made).toEqual({ status: 0, text: 'payments/cli: token is set (7 bytes)\n' });
    const file = join(daemon.dataDir, 'value');
    writeFileSync(file, Buffer.from([0, 255, 10]));
    gitplane(['set', '--namespace', 'payments', 'cli', 'raw.key', '--from-file', file]);
    await git('pull', '-q');
    const count = async (): Promise<number> =>
      Number((await git('rev-list', '--count', 'HEAD')).stdout);
    const before = await count();
    expect(gitplane(['set', 'payments/cli', 'token'], 'other').status).toBe(0);
    await git('pull', '-q');

    expect(await dataOf('cli')).toEqual({ token: 'b3RoZXI=', 'raw.key': 'AP8K' });
    expect((await count()) - before).toBe(1);
    const { stdout } = await git('show', '--format=', '-U0', 'HEAD');
    const changed = stdout.match(/^\+ +\w[^:]*/gm)?.map((line) => line.slice(1).trim());
    // The time has seconds, and may be the same.
    expect(changed?.filter((field) => field !== 'lastmodified')).toEqual(['token', 'mac']);
  });

  test('get prints names, and a value only by the name of its key', () => {
    expect(gitplane(['get', 'payments/cli'])).toEqual({
      status: 0,
      text: 'KEY       BYTES\nraw.key   3\ntoken     5\n',
    });
    expect(gitplane(['get', 'payments/cli', 'token'])).toEqual({ status: 0, text: 'other' });
    expect(gitplane(['get', '--namespace', 'payments']).text).toMatch(
      /^payments\/cli +raw.key, token$/m,
    );
  });

  test.each<[string[], number, RegExp]>([
    [['set', 'payments/cli', `token=${VALUE}`], 2, /not for the command line/],
    [['set', 'payments/cli', 'token', VALUE], 2, /not for the command line/],
    [['set', 'payments/cli', 'not a key'], 1, /a valid key must consist of/],
    [['set', 'payments/cli', 'x', '--from-file', '/nowhere'], 2, /Cannot read \/nowhere/],
    [['get', 'payments/cli', 'none'], 2, /payments\/cli has no key "none"/],
    [['get', 'a/b/c'], 2, /Write: gitplane secrets get/],
    [['shout'], 2, /Unknown action "shout": use get, set or sync/],
  ])('%j ends with %i, and repeats no value', (args, status, words) => {
    const ended = gitplane(args, 'dont-tell');

    expect(ended.status).toBe(status);
    expect(ended.text).toMatch(words);
    expect(ended.text).not.toMatch(/aHVudGVyMg|dont-tell|ZG9udC10ZWxs/);
  });
});

test('write no value and no key to the log or to a file of the state', async () => {
  const key = /AGE-SECRET-KEY-\w+/.exec(readFileSync(join(daemon.dataDir, 'age.key'), 'utf8'))?.[0];
  const state = join(daemon.dataDir, 'state');
  const { stdout } = await run('grep', ['-rlaE', `${VALUE}|${key}`, state], {});

  expect(existsSync(state)).toBe(true);
  expect(stdout).toBe('');
  expect(daemon.output()).not.toMatch(new RegExp(`${VALUE}|${key}`));
});

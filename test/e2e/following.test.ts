/** The daemon follows a branch elsewhere: what its users and operators see of that. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allowedSigners, sshKey } from '../signatures/keys.ts';
import {
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';

const elsewhere = join(scratchDir(), 'platform.git');
const work = join(scratchDir(), 'work');
let daemon: Daemon;

/** git of a person who works with the repository elsewhere. */
async function git(args: readonly string[], cwd = work): Promise<string> {
  const { code, stdout, stderr } = await run('git', args, {
    cwd,
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: 'Ann Author',
      GIT_AUTHOR_EMAIL: 'ann@example.com',
      GIT_COMMITTER_NAME: 'Ann Author',
      GIT_COMMITTER_EMAIL: 'ann@example.com',
    },
  });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

const start = (dataDir?: string, interval = '300ms', ...more: string[]): Promise<Daemon> =>
  startDaemon({
    seed: undefined,
    args: ['--repo', elsewhere, '--fetch-interval', interval, ...more],
    ...(dataDir === undefined ? {} : { dataDir }),
  });

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
}

const displayName = async (team: string): Promise<string | undefined> =>
  (await daemon.call('GET', `${API}/teams/${team}`)).json().spec?.displayName;

beforeAll(async () => {
  await git(['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere], '/');
  await git(['clone', '-q', elsewhere, work], '/');
  await run('cp', ['-r', `${EXAMPLE_PLATFORM}/.`, work]);
  await git(['checkout', '-q', '-b', 'main']);
  await git(['add', '-A']);
  await git(['commit', '-q', '-m', 'The platform']);
  await git(['push', '-q', 'origin', 'main']);
  daemon = await start();
});

afterAll(async () => {
  await daemon?.stop();
});

test('serves the existing commits, and pushes of others', async () => {
  expect(await displayName('payments')).toBe('Payments');
  await git(['pull', '-q', 'origin', 'main']);
  const file = join(work, 'teams/payments.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Payments', 'Money'));
  // Two pushes, one of them broken: nobody judged it before it was pushed, and only it suffers.
  writeFileSync(join(work, 'teams/platform.yaml'), 'kind: [');
  await git(['commit', '-qam', 'Rename, and break something else']);
  await git(['push', '-q', 'origin', 'main']);
  await until(async () => ((await displayName('payments')) === 'Money' ? true : undefined));
  expect(await displayName('platform')).toBe('Platform');
});

test('a write is at the remote when it is answered, and keeps changes of others', async () => {
  const patch = (name: string) =>
    daemon.call('PATCH', `${API}/teams/storefront`, {
      body: { spec: { displayName: name } },
      type: 'application/merge-patch+json',
    });
  expect((await patch('Shop')).code).toBe(200);
  const log = await git(['log', '-1', '--format=%an|%s', 'main'], elsewhere);
  expect(log).toBe('admin|patch Team "storefront"');

  // Others push, and at once a write comes that does not know of it.
  await git(['pull', '-q', 'origin', 'main']);
  const file = join(work, 'teams/storefront.yaml');
  writeFileSync(file, `# of interest\n${readFileSync(file, 'utf8')}`);
  await git(['commit', '-qam', 'A comment']);
  await git(['push', '-q', 'origin', 'main']);
  expect((await patch('Web shop')).code).toBe(200);
  const text = await git(['show', 'main:teams/storefront.yaml'], elsewhere);
  expect(text).toContain('# of interest');
  expect(text).toContain('Web shop');
});

test('the mirror can be cloned and not pushed to', async () => {
  const clone = await daemon.clone();
  const refs = await daemon.git(['ls-remote', 'origin'], clone);
  expect(refs.stdout).not.toContain('refs/gitplane');
  const message = `This repository follows the branch main of ${elsewhere}: push there`;
  await daemon.git(['commit', '-q', '--allow-empty', '-m', 'x'], clone);
  expect((await daemon.git(['push', 'origin', 'HEAD:main'], clone)).stderr).toContain(message);
  const byPath = await daemon.git(['push', join(daemon.dataDir, 'repo.git'), 'HEAD:main'], clone);
  expect(byPath.stderr).toContain(message);
});

test('reads go on without the remote, writes get 503, and the daemon resumes by itself', async () => {
  renameSync(elsewhere, `${elsewhere}.away`);
  const write = () =>
    daemon.call('PATCH', `${API}/teams/data`, {
      body: { spec: { displayName: 'Data' } },
      type: 'application/merge-patch+json',
    });
  const create = () =>
    daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'data' } } });
  const refused = await create();
  expect(refused.code).toBe(503);
  expect(refused.headers['retry-after']).toBe('5');
  expect(refused.json().message).toContain('nothing was written; reads go on');
  expect(await displayName('storefront')).toBe('Web shop');
  expect((await daemon.call('GET', '/readyz')).code).toBe(200);
  const verbose = (await daemon.call('GET', '/readyz?verbose')).text;
  expect(verbose).toMatch(/^\[!\]remote degraded: The remote repository does not exist.*since/m);
  // Of what readers see no remote could tell anything else.
  const { revision } = (await daemon.call('GET', '/sync')).json();
  expect((await daemon.call('POST', `/sync?wait=${revision}`)).json().waited.result).toBe(
    'applied',
  );
  const unseen = await daemon.call('POST', `/sync?wait=${'a'.repeat(40)}`);
  expect([unseen.code, unseen.headers['retry-after']]).toEqual([503, '5']);

  renameSync(`${elsewhere}.away`, elsewhere);
  await until(async () => ((await create()).code === 201 ? true : undefined));
  expect((await write()).code).toBe(200);
  await until(async () => {
    const { text } = await daemon.call('GET', '/readyz?verbose');
    return text.includes('[+]remote ok') ? true : undefined;
  });
  const metrics = (await daemon.call('GET', '/metrics')).text;
  expect(metrics).toMatch(/^gitplane_remote_pushes_total\{result="failed"\} [1-9]/m);
  expect(metrics).toMatch(/^gitplane_remote_last_fetch_age_seconds \d/m);
});

test('starts again without the remote, with the same objects', async () => {
  const before = (await daemon.call('GET', `${API}/teams`)).json();
  await daemon.stop();
  renameSync(elsewhere, `${elsewhere}.away`);
  daemon = await start(daemon.dataDir);
  const after = (await daemon.call('GET', `${API}/teams`)).json();
  const ids = (list: typeof before) =>
    list.items.map(({ metadata }: { metadata: { name: string; uid: string } }) => metadata.uid);
  expect(ids(after)).toEqual(ids(before));
  renameSync(`${elsewhere}.away`, elsewhere);
});

test('a wipe at the remote is held, whichever client asks and when', async () => {
  await git(['pull', '-q', 'origin', 'main']);
  const before = await git(['rev-parse', 'HEAD']);
  await git(['rm', '-qr', '.']);
  await git(['commit', '-q', '-m', 'Gone']);
  const wipe = await git(['rev-parse', 'HEAD']);
  await git(['push', '-q', 'origin', 'main']);
  const waited = await daemon.call('POST', `/sync?wait=${wipe}`);
  expect(waited.code).toBe(409);
  expect(waited.json().waited.result).toBe('held');
  expect(waited.json().waited.files).toContainEqual({
    path: 'teams/payments.yaml',
    result: 'held',
    problems: [],
  });
  expect(await displayName('payments')).toBe('Money');
  await git(['push', '-q', '--force', 'origin', `${before}:main`]);
  await git(['reset', '-q', '--hard', before]);
  expect((await daemon.call('POST', `/sync?wait=${before}`)).json().waited.result).toBe('applied');
});

test('killed in the middle of a push, it is never ahead of the remote', async () => {
  const hook = join(elsewhere, 'hooks/pre-receive');
  mkdirSync(join(elsewhere, 'hooks'), { recursive: true });
  writeFileSync(hook, '#!/bin/sh\ntouch started\nsleep 1\n', { mode: 0o755 });
  const create = () =>
    daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'killed' } } });
  const lost = create().catch(() => undefined);
  await until(async () => (existsSync(join(elsewhere, 'started')) ? true : undefined));
  await daemon.stop('SIGKILL');
  expect(await lost).toBeUndefined();
  rmSync(hook);
  daemon = await start(daemon.dataDir, '1h');
  const mirror = join(daemon.dataDir, 'repo.git');
  const local = await git(['rev-parse', 'main'], mirror);
  await git(['merge-base', '--is-ancestor', local, 'main'], elsewhere);
  // The git that was pushing may have got through or not; it is there once, either way.
  expect([201, 409]).toContain((await create()).code);
  const subjects = await git(['log', '--format=%s', 'main'], elsewhere);
  expect(subjects.split('\n').filter((line) => line === 'create Team "killed"')).toHaveLength(1);
  await git(['fsck', '--full', '--strict'], mirror);
});

test('a webhook is answered at once, and the push is there long before the next fetch', async () => {
  await git(['pull', '-q', 'origin', 'main']);
  const file = join(work, 'teams/payments.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Money', 'Cash'));
  await git(['commit', '-qam', 'Rename again']);
  await git(['push', '-q', 'origin', 'main']);
  const secret = readFileSync(join(daemon.dataDir, 'hook.secret'), 'utf8').trim();
  const wrong = await daemon.call('POST', '/hooks/x', { token: null, body: {} });
  expect(wrong.code).toBe(404);
  const hook = await daemon.call('POST', `/hooks/${secret}`, { token: null, body: {} });
  expect(hook.code).toBe(202);
  await until(async () => ((await displayName('payments')) === 'Cash' ? true : undefined));
  expect(daemon.output()).not.toContain(secret);
});

test('a push while a client waits for it is found without a webhook', async () => {
  await git(['pull', '-q', 'origin', 'main']);
  await git(['commit', '-q', '--allow-empty', '-m', 'Late']);
  const late = await git(['rev-parse', 'HEAD']);
  const waited = daemon.call('POST', `/sync?wait=${late}&timeout=60s`);
  const asked = (await daemon.call('POST', `/sync?wait=${late}&timeout=0s`)).code;
  await git(['push', '-q', 'origin', 'main']);
  expect(asked).toBe(504);
  expect((await waited).json().waited).toMatchObject({ revision: late, result: 'applied' });
});

test('the daemon pushes nothing to the followed branch with --write-branch', async () => {
  await daemon.stop();
  daemon = await start(daemon.dataDir, '1h', '--write-branch', 'gitplane/writes');
  const before = await git(['rev-parse', 'main'], elsewhere);
  const made = await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'later' } } });
  expect(made.code).toBe(201);
  expect(made.headers['warning']).toContain('pending on branch gitplane/writes');
  expect((await daemon.call('GET', `${API}/teams/later`)).code).toBe(404);
  expect(await git(['rev-parse', 'main'], elsewhere)).toBe(before);
  await git(['update-ref', 'refs/heads/main', 'gitplane/writes'], elsewhere);
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
  expect((await daemon.call('GET', `${API}/teams/later`)).code).toBe(200);
});

test('untrusted commits are reported as held, with the reason, until the branch is back', async () => {
  await daemon.stop();
  await git(['fetch', '-q']);
  await git(['reset', '-q', '--hard', 'origin/main']);
  const key = sshKey(scratchDir(), 'somebody');
  const signers = allowedSigners(scratchDir(), `somebody@example.com ${key.publicLine}`);
  daemon = await start(daemon.dataDir, '1h', '--allowed-signers', signers);
  const before = await git(['rev-parse', 'HEAD']);
  await git(['rm', '-q', 'teams/payments.yaml']);
  await git(['commit', '-q', '-m', 'Unsigned']);
  const unsigned = await git(['rev-parse', 'HEAD']);
  await git(['push', '-q', 'origin', 'main']);

  const waited = await daemon.call('POST', `/sync?wait=${unsigned}`);
  expect(waited.code).toBe(409);
  expect(waited.json()).toMatchObject({
    revision: before,
    state: 'held',
    held: { reason: 'SignatureRequired', revision: unsigned },
    waited: { result: 'held', files: [{ path: 'teams/payments.yaml', result: 'held' }] },
  });
  expect(waited.json().held.message).toContain('it is not signed');
  expect(await displayName('payments')).toBe('Cash');

  await git(['push', '-q', '--force', 'origin', `${before}:main`]);
  expect((await daemon.call('POST', '/sync')).json()).toMatchObject({
    state: 'applied',
    held: null,
  });
});

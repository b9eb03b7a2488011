/** The daemon and a real forge: statuses of commits, also over a crash of the daemon and an outage of the forge. */
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import {
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { GITEA_MISSING, Gitea } from '../support/gitea.ts';

const test = anyTest.skipIf(GITEA_MISSING !== undefined);
if (GITEA_MISSING) process.stderr.write(`SKIPPED: ${GITEA_MISSING}\n`);

const work = join(scratchDir(), 'work');
const tokenFile = join(scratchDir(), 'token');
let gitea: Gitea;
let url: string;
let daemon: Daemon;

async function git(...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: 'Ann Author',
    GIT_AUTHOR_EMAIL: 'ann@example.com',
    GIT_COMMITTER_NAME: 'Ann Author',
    GIT_COMMITTER_EMAIL: 'ann@example.com',
  };
  const { code, stdout, stderr } = await run('git', ['-C', work, ...args], { env });
  if (code !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout.trim();
}

/** Commits files, and pushes them to the branch. */
async function push(files: Readonly<Record<string, string>>, branch = 'main'): Promise<string> {
  for (const [path, text] of Object.entries(files)) writeFileSync(join(work, path), text);
  await git('add', '-A');
  await git('commit', '-q', '-m', 'A change');
  // The daemon has committed the first administrator meanwhile.
  if (branch === 'main' && daemon !== undefined)
    await git('pull', '-q', '--rebase', 'origin', 'main');
  await git('push', '-q', 'origin', `HEAD:${branch}`);
  return await git('rev-parse', 'HEAD');
}

const start = (dataDir?: string, ...more: string[]): Promise<Daemon> =>
  startDaemon({
    seed: undefined,
    args: [
      ...['--repo', url, '--repo-token-file', tokenFile, '--fetch-interval', '300ms'],
      ...['--forge', 'gitea', '--forge-token-file', tokenFile, ...more],
    ],
    ...(dataDir === undefined ? {} : { dataDir }),
  });

/** The newest status of a commit: `success: Applied`. */
async function statusOf(commit: string): Promise<string | undefined> {
  const { body } = await gitea.call('GET', `/repos/bot/platform/commits/${commit}/status`);
  const [status] = body?.statuses ?? [];
  return status && `${status.status}: ${status.description}`;
}

const team = (name: string): string =>
  `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\nspec: {}\n`;

beforeAll(async () => {
  if (GITEA_MISSING !== undefined) return;
  gitea = await Gitea.start();
  writeFileSync(tokenFile, gitea.token);
  const { url: address, authorized } = await gitea.makeRepository('platform');
  url = address;
  cpSync(EXAMPLE_PLATFORM, work, { recursive: true });
  await git('init', '-q', '-b', 'main');
  await git('remote', 'add', 'origin', authorized);
  await push({});
  daemon = await start();
}, 120_000);

afterAll(async () => {
  await daemon?.stop();
  await gitea?.remove();
});

const patient = { timeout: 30_000 };

test('a followed commit is applied, a broken one degraded', async () => {
  const good = await push({ 'teams/good.yaml': team('good') });
  await expect.poll(() => statusOf(good), patient).toBe('success: Applied');
  const broken = await push({ 'teams/good.yaml': 'kind: [' });
  await expect
    .poll(() => statusOf(broken), patient)
    .toMatch(/^failure: Degraded: teams\/good.yaml:\d+:\d+: /);
});

test('a killed daemon reports the commits that it followed, and none twice', async () => {
  await gitea.stop();
  await daemon.stop('SIGKILL');
  await gitea.launch();
  const away = [
    await push({ 'teams/a1.yaml': team('a1') }),
    await push({ 'teams/a2.yaml': team('a2') }),
  ];
  daemon = await start(daemon.dataDir);
  for (const commit of away)
    await expect.poll(() => statusOf(commit), patient).toBe('success: Applied');
  const { body } = await gitea.call('GET', `/repos/bot/platform/commits/${away[0]}/statuses`);
  expect(body).toHaveLength(1);
});

test('a status waits for a forge that refuses the token, over a crash', async () => {
  const apiToken = join(scratchDir(), 'api-token');
  await daemon.stop();
  writeFileSync(apiToken, 'wrong');
  const options = ['--forge-token-file', apiToken];
  daemon = await start(daemon.dataDir, ...options);
  const commit = await push({ 'teams/waits.yaml': team('waits') });
  await expect.poll(() => daemon.output(), patient).toContain('Deliveries wait');
  await expect.poll(() => daemon.output()).toContain('Gitea (POST /repos/bot/platform/statuses/');
  await daemon.stop('SIGKILL');
  daemon = await start(daemon.dataDir, ...options);
  await expect.poll(() => daemon.output(), patient).toContain('Deliveries wait');
  expect(await statusOf(commit)).toBeUndefined();
  // The file is read again at the next attempt.
  writeFileSync(apiToken, gitea.token);
  await expect.poll(() => statusOf(commit), patient).toBe('success: Applied');
  expect(daemon.output()).not.toContain(gitea.token);
});

test('writes for review open one pull request, and their answers say where it is', async () => {
  const dataDir = join(scratchDir(), 'review');
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(daemon.dataDir, 'admin.token'), join(dataDir, 'admin.token'));
  const reviewed = await start(dataDir, '--write-branch', 'gitplane/writes');
  const pulls = async () => await gitea.must('GET', '/repos/bot/platform/pulls?state=all');
  const create = async (name: string): Promise<string> => {
    const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata: { name } };
    const answer = await reviewed.call('POST', `${API}/teams`, { body });
    expect(answer.code).toBe(201);
    return String(answer.headers['warning']);
  };
  try {
    expect(await pulls()).toEqual([]);
    await create('reviewed');
    // A busy machine may take longer than the answer waits.
    await expect.poll(async () => (await pulls()).length, patient).toBe(1);
    const [pull] = await pulls();
    expect(pull).toMatchObject({ head: { ref: 'gitplane/writes' }, base: { ref: 'main' } });
    await expect
      .poll(() => create(`a${Date.now()}`), patient)
      .toContain(`review: ${pull.html_url}`);
    await create('another');
    expect(await pulls()).toHaveLength(1);
    const sync = async () => JSON.parse((await reviewed.call('GET', '/sync')).text);
    expect(await sync()).toMatchObject({ review: pull.html_url });
    const args = ['status', '--kubeconfig', join(dataDir, 'kubeconfig')];
    const { stdout } = await run(process.execPath, ['dist/main.js', ...args]);
    expect(stdout).toContain(`writes wait for review: ${pull.html_url}`);
    // Gitea finds out in the background whether it can be merged.
    const merge = `/repos/bot/platform/pulls/${pull.number}/merge`;
    await expect
      .poll(async () => (await gitea.call('POST', merge, { Do: 'merge' })).status, patient)
      .toBe(200);
    await expect
      .poll(async () => (await reviewed.call('GET', `${API}/teams/another`)).code, patient)
      .toBe(200);
    await expect.poll(sync, patient).not.toHaveProperty('review');
    // The next series has a pull request of its own.
    await expect
      .poll(async () => await create(`t${Date.now()}`), patient)
      .not.toContain(pull.html_url);
    await expect.poll(async () => (await pulls()).length, patient).toBe(2);
  } catch (error) {
    throw new Error(reviewed.output(), { cause: error });
  } finally {
    await reviewed.stop();
  }
});

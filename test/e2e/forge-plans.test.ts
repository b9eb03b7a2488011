/** Plans of pull requests on a real forge: one comment, a status, annotations; found by a webhook. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { type Daemon, EXAMPLE_PLATFORM, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { GITEA_MISSING, Gitea } from '../support/gitea.ts';
import { freePort } from '../support/machine.ts';
import { encryptedFor } from './encrypted-text.ts';

const test = anyTest.skipIf(GITEA_MISSING !== undefined);
if (GITEA_MISSING) process.stderr.write(`SKIPPED: ${GITEA_MISSING}\n`);

const work = join(scratchDir(), 'work');
const tokenFile = join(scratchDir(), 'token');
const REPO = '/repos/bot/platform';
let gitea: Gitea;
let url: string;
/** Of the webhook, without TLS. */
let port: number;
let daemon: Daemon;

async function git(...args: string[]): Promise<string> {
  const name = { NAME: 'Ann Author', EMAIL: 'ann@example.com' };
  const people = Object.entries(name).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value],
    [`GIT_COMMITTER_${key}`, value],
  ]);
  const env = { ...process.env, ...Object.fromEntries(people) };
  const { code, stdout, stderr } = await run('git', ['-C', work, ...args], { env });
  if (code !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout.trim();
}

/** Commits files on top of a remote branch (null: removed), and pushes them to a branch. */
async function push(
  files: Readonly<Record<string, string | null>>,
  { from = 'main', to = 'main' } = {},
): Promise<string> {
  await git('fetch', '-q', 'origin');
  await git('checkout', '-q', '-B', 'work', `origin/${from}`);
  for (const [path, text] of Object.entries(files)) {
    if (text === null) await git('rm', '-rq', path);
    else {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), text);
    }
  }
  await git('add', '-A');
  await git('commit', '-q', '-m', 'A change');
  await git('push', '-q', 'origin', `HEAD:refs/heads/${to}`);
  return await git('rev-parse', 'HEAD');
}

const start = (dataDir?: string): Promise<Daemon> =>
  startDaemon({
    seed: undefined,
    args: [
      ...['--repo', url, '--repo-token-file', tokenFile, '--fetch-interval', '300ms'],
      ...['--forge', 'gitea', '--forge-token-file', tokenFile],
      ...['--listen-http', `127.0.0.1:${port}`, '--public-url', 'https://platform.example.com'],
    ],
    ...(dataDir === undefined ? {} : { dataDir }),
  });

async function openPull(head: string, base = 'main'): Promise<number> {
  return (await gitea.must('POST', `${REPO}/pulls`, { head, base, title: head })).number;
}

async function commentsOf(pull: number): Promise<string[]> {
  const comments = await gitea.must('GET', `${REPO}/issues/${pull}/comments`);
  return comments.map(({ body }: { body: string }) => body);
}

/** Its comments, when one has the text. */
async function commentWith(pull: number, text: string): Promise<string[]> {
  await expect.poll(async () => (await commentsOf(pull)).join('\n'), patient).toContain(text);
  return await commentsOf(pull);
}

async function statusOf(commit: string): Promise<string | undefined> {
  const { body } = await gitea.call('GET', `${REPO}/commits/${commit}/status`);
  const found = body?.statuses?.find((one: { context: string }) => one.context === 'gitplane/plan');
  return found && `${found.status}: ${found.description}`;
}

const team = (name: string, spec = '{}'): string =>
  `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\nspec: ${spec}\n`;

const patient = { timeout: 40_000 };

beforeAll(async () => {
  if (GITEA_MISSING !== undefined) return;
  gitea = await Gitea.start();
  writeFileSync(tokenFile, gitea.token);
  const { url: address, authorized } = await gitea.makeRepository('platform');
  url = address;
  port = await freePort();
  cpSync(EXAMPLE_PLATFORM, work, { recursive: true });
  await git('init', '-q', '-b', 'main');
  await git('remote', 'add', 'origin', authorized);
  await git('add', '-A');
  await git('commit', '-q', '-m', 'The platform');
  await git('push', '-q', 'origin', 'HEAD:main');
  daemon = await start();
  const secret = readFileSync(join(daemon.dataDir, 'hook.secret'), 'utf8').trim();
  await gitea.must('POST', `${REPO}/hooks`, {
    type: 'gitea',
    active: true,
    events: ['push', 'pull_request', 'pull_request_sync'],
    config: { url: `http://127.0.0.1:${port}/hooks/${secret}`, content_type: 'json', secret },
  });
}, 120_000);

afterAll(async () => {
  await daemon?.stop();
  await gitea?.remove();
});

test('a pull request gets one comment, which each push updates, and a status on each head', async () => {
  const first = await push({ 'teams/new.yaml': team('new') }, { to: 'topic' });
  const pull = await openPull('topic');
  const [comment = '', ...others] = await commentWith(pull, 'Validated');
  expect(others).toEqual([]);
  expect(comment).toContain('### Validated: 1 created');
  expect(comment).toContain('+ Team "new" (teams/new.yaml)');
  expect(comment).toContain(`Commit ${first}`);
  await expect.poll(() => statusOf(first), patient).toBe('success: Validated: 1 created');
  const second = await push({ 'teams/newer.yaml': team('newer') }, { from: 'topic', to: 'topic' });
  expect(await commentWith(pull, second)).toEqual([
    expect.stringContaining('### Validated: 2 created'),
  ]);
  await expect.poll(() => statusOf(second), patient).toBe('success: Validated: 2 created');
});

const broken =
  'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: x\nspecs: {}\n';
const owned = (name: string, user: string): string => team(name, `\n  owner:\n    user: ${user}`);
const secret = (value: string): string =>
  `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: db\n  namespace: payments\nspec:\n  data:\n    password: ${Buffer.from(value).toString('base64')}\n`;

test.each<
  [string, Readonly<Record<string, string | null>>, string | RegExp, readonly (string | RegExp)[]]
>([
  [
    'a change of access names who has it',
    { 'teams/payments.yaml': owned('payments', 'ada') },
    'success: Validated: 1 changed',
    [
      '! Team "payments" (teams/payments.yaml)',
      '**Access**',
      'closes: User ada: the rights of gitplane:team:payments',
    ],
  ],
  [
    'a broken manifest has its place',
    { 'teams/x.yaml': broken },
    /^failure: Not valid: teams\/x.yaml:5:1: /,
    ['### Not valid', '**Problems**', /\nteams\/x.yaml:5:1: .*specs/],
  ],
  [
    'the removal of everything is held',
    {
      access: null,
      config: null,
      namespaces: null,
      ownedaccesskeys: null,
      teams: null,
      users: null,
    },
    /^pending: Held: it removes \d+ objects$/,
    ['### Held', 'Gitplane-Allow-Prune: ', '- Team "payments" (teams/payments.yaml)'],
  ],
  [
    'the value of a secret is not shown',
    { 'namespaces/payments/sharedsecrets/db.yaml': secret('hunter22') },
    'success: Validated: 1 created',
    ['+ SharedSecret "payments/db" (namespaces/payments/sharedsecrets/db.yaml)'],
  ],
  [
    'nothing but files that are not manifests',
    { 'README.md': 'Read this.' },
    'success: Validated: no object changes',
    ['No object changes.'],
  ],
])('%s', async (title, files, status, texts) => {
  const branch = title.replaceAll(' ', '-');
  const head = await push(files, { to: branch });
  const pull = await openPull(branch);
  const [comment = ''] = await commentWith(pull, head);
  for (const text of texts) {
    if (typeof text === 'string') expect(comment).toContain(text);
    else expect(comment).toMatch(text);
  }
  expect(comment).not.toContain(Buffer.from('hunter22').toString('base64'));
  expect(comment).toContain(
    `https://platform.example.com/console/plan?of=refs%2Fpull%2F${pull}%2Fhead`,
  );
  if (typeof status === 'string') await expect.poll(() => statusOf(head), patient).toBe(status);
  else await expect.poll(() => statusOf(head), patient).toMatch(status);
});

test('a branch that fell behind is planned as it would be merged, or named as a conflict', async () => {
  await push(
    { 'teams/behind.yaml': team('behind'), 'teams/both.yaml': team('both') },
    { to: 'behind' },
  );
  await push({ 'teams/ahead.yaml': team('ahead') });
  const pull = await openPull('behind');
  const [comment = ''] = await commentWith(pull, 'gitplane updates this comment');
  expect(comment).toContain('### Validated: 2 created');
  expect(comment).not.toContain('ahead.yaml');
  await push({ 'teams/both.yaml': owned('both', 'ada') });
  const next = await push(
    { 'teams/both.yaml': owned('both', 'grace') },
    { from: 'behind', to: 'behind' },
  );
  const after = await commentWith(pull, next);
  expect(after).toHaveLength(1);
  expect(after[0]).toContain('### Conflict');
  expect(after[0]).toContain('\nteams/both.yaml\n');
  await expect.poll(() => statusOf(next), patient).toBe('failure: Conflict: teams/both.yaml');
});

test('problems are at their lines in a review, one for each head', async () => {
  const head = await push(
    { 'teams/y.yaml': broken.replace('name: x', 'name: y') },
    { to: 'lines' },
  );
  const pull = await openPull('lines');
  const reviews = `${REPO}/pulls/${pull}/reviews`;
  await expect.poll(async () => (await gitea.must('GET', reviews)).length, patient).toBe(1);
  const [review] = await gitea.must('GET', reviews);
  expect(review).toMatchObject({ commit_id: head });
  const commentsOfReview = async (): Promise<{ path: string; position: number; body: string }[]> =>
    await gitea.must('GET', `${reviews}/${review.id}/comments`);
  await expect
    .poll(
      async () => (await commentsOfReview()).map(({ path, position }) => `${path}:${position}`),
      patient,
    )
    .toContain('teams/y.yaml:5');
  const lines = await commentsOfReview();
  expect(lines.find(({ position }) => position === 5)?.body).toContain('specs');
});

test('encrypted values are in no comment, status, review and answer to a webhook', async () => {
  const CANARY = 'canary-71c0de';
  const keys = ['displayName', 'description', 'users', 'owner', 'name', 'data'];
  const encrypted = (text: string): Promise<string> => encryptedFor(daemon, text, keys);
  const spec = `\n  displayName: ${CANARY}\n  description: About ${CANARY}\n  owner:\n    user: ${CANARY}\n  users: [${CANARY}]`;
  const invalid = spec.replace(`[${CANARY}]`, `[${CANARY}, ${CANARY}, { a: ${CANARY} }]`);
  const first = await push(
    { 'teams/hidden.yaml': await encrypted(team(CANARY, spec)) },
    { to: 'hidden' },
  );
  const pull = await openPull('hidden');
  await commentWith(pull, first);
  const second = await push(
    {
      'teams/worse.yaml': await encrypted(team(`${CANARY}-2`, invalid)),
      'namespaces/payments/sharedsecrets/db2.yaml': await encrypted(secret(CANARY)),
    },
    { from: 'hidden', to: 'hidden' },
  );
  await commentWith(pull, second);
  await expect.poll(() => statusOf(second), patient).toMatch(/^failure: Not valid/);
  // Merged all the same, so that the commit has a status of its own.
  await push({ 'teams/merged.yaml': await encrypted(team(`${CANARY}-3`, invalid)) });
  const merged = await git('rev-parse', 'HEAD');
  const statusesOf = async (commit: string): Promise<string> =>
    JSON.stringify((await gitea.call('GET', `${REPO}/commits/${commit}/statuses`)).body);
  await expect.poll(() => statusesOf(merged), patient).toContain('Degraded');
  const told = [
    ...(await commentsOf(pull)),
    ...(await Promise.all([first, second, merged].map(statusesOf))),
    JSON.stringify(await reviewsOf(pull)),
    JSON.stringify(await gitea.must('GET', `${REPO}/pulls/${pull}`)),
    await deliveries(),
    daemon.output(),
  ];
  expect(told.join()).toContain('worse.yaml');
  for (const form of [CANARY, Buffer.from(CANARY).toString('base64').slice(0, 16)]) {
    for (const text of told) expect(text).not.toContain(form);
  }
});

async function reviewsOf(pull: number): Promise<unknown[]> {
  const reviews: { id: number }[] = await gitea.must('GET', `${REPO}/pulls/${pull}/reviews`);
  const lines = reviews.map(({ id }) =>
    gitea.must('GET', `${REPO}/pulls/${pull}/reviews/${id}/comments`),
  );
  return [...reviews, ...(await Promise.all(lines))];
}

/** Answers of the daemon to a webhook with a pushed commit, signed and not. */
async function deliveries(): Promise<string> {
  const secret = readFileSync(join(daemon.dataDir, 'hook.secret'), 'utf8').trim();
  const answers = await Promise.all(
    [`/hooks/${secret}`, '/hooks/wrong', '/hooks/'].map(async (path) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-gitea-event': 'pull_request' },
        body: '{"ref":"refs/heads/main"}',
      });
      return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`;
    }),
  );
  return answers.join();
}

function quarantines(): string[] {
  const names = readdirSync(join(daemon.dataDir, 'repo.git/objects'));
  return names.filter((name) => name.startsWith('tmp_'));
}

/** Metrics of deliveries that wait for a destination. */
async function waiting(): Promise<string[]> {
  const { text } = await daemon.call('GET', '/metrics');
  return text.match(/^gitplane_deliveries_waiting\{.*\} [^0].*$/gm) ?? [];
}

test('a restart repeats nothing, and nothing of a pull request stays in the repository', async () => {
  const head = await push({ 'teams/last.yaml': team('last') }, { to: 'last' });
  const pull = await openPull('last');
  await commentWith(pull, head);
  await expect.poll(() => statusOf(head), patient).toBe('success: Validated: 1 created');
  const updated = async (): Promise<string> =>
    (await gitea.must('GET', `${REPO}/issues/${pull}/comments`))[0].updated_at;
  const before = await updated();
  // A crash repeats what the forge has taken while the daemon waits for the answer.
  await expect.poll(waiting, patient).toEqual([]);
  await daemon.stop('SIGKILL');
  const crashed = quarantines();
  daemon = await start(daemon.dataDir);
  const plan = async () =>
    await daemon.call('POST', '/plan', { body: { ref: `refs/pull/${pull}/head` } });
  await expect.poll(async () => (await plan()).code, patient).toBe(200);
  expect(JSON.parse((await plan()).text)).toMatchObject({ to: head, verdict: 'accepted' });
  expect(await updated()).toBe(before);
  expect(await commentsOf(pull)).toHaveLength(1);
  const { body: statuses } = await gitea.call('GET', `${REPO}/commits/${head}/statuses`);
  expect(statuses).toHaveLength(1);
  const mirror = join(daemon.dataDir, 'repo.git');
  const there = await run('git', ['--git-dir', mirror, 'cat-file', '-e', head]);
  expect(there.code).not.toBe(0);
  // Maintenance removes those of a crash after an hour.
  const left = (): string[] => quarantines().filter((name) => !crashed.includes(name));
  await expect.poll(left, patient).toEqual([]);
});

test('a pull request from a fork gets no plan', async () => {
  await gitea.must('POST', '/orgs', { username: 'others' });
  await gitea.must('POST', `${REPO}/forks`, { organization: 'others', name: 'platform' });
  const fork = `http://bot:${gitea.token}@127.0.0.1:${gitea.port}/others/platform.git`;
  await push({ 'teams/fork.yaml': team('fork') }, { to: 'for-fork' });
  await git('push', '-q', fork, 'HEAD:refs/heads/forked');
  const ofFork = await openPull('others:forked');
  // The later one is planned in the same look at the forge, or in a later one.
  const pull = await openPull('for-fork');
  await commentWith(pull, 'Validated');
  expect(await commentsOf(ofFork)).toEqual([]);
});

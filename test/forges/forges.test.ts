/** Requests to the APIs of GitHub, GitLab and Gitea, and their documented answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ForgeAccess } from '../../src/forges/api-client.ts';
import type { Forge, ForgeType, Pull } from '../../src/forges/forge.ts';
import { forgeTarget } from '../../src/forges/forge-target.ts';
import { openForge } from '../../src/forges/open-forge.ts';
import { type RecordedApi, recordedApi } from './recorded-api.ts';

const SHA = '6dcb09b5b57875f334f61aebed695e2e4193db5e';
const OTHER = '8888888888888888888888888888888888888888';
const PROJECTS = { github: 'octocat/Hello-World', gitea: 'acme/platform', gitlab: 'a/b/c' };
const HOMES = {
  github: '/repos/octocat/Hello-World',
  gitea: '/repos/acme/platform',
  gitlab: '/projects/a%2Fb%2Fc',
};

function open(
  type: ForgeType,
  { url }: RecordedApi,
  access: ForgeAccess = { token: 't0k3n' },
): Forge {
  const target = { type, api: url, project: PROJECTS[type], branch: 'main' };
  const forge = openForge({ target, access, clock: { now: () => Date.now() } });
  onTestFinished(() => forge.close());
  return forge;
}

const pull: Pull = { number: 7, url: '', head: 'topic', commit: SHA, isFork: false };

test.each<[string, ForgeType | undefined, ReturnType<typeof forgeTarget>]>([
  [
    'https://github.com/acme/platform.git',
    undefined,
    { type: 'github', api: 'https://api.github.com', project: 'acme/platform', branch: 'main' },
  ],
  [
    'git@github.com:acme/platform.git',
    undefined,
    { type: 'github', api: 'https://api.github.com', project: 'acme/platform', branch: 'main' },
  ],
  [
    'ssh://git@gitlab.com:22/acme/infra/platform.git',
    undefined,
    {
      type: 'gitlab',
      api: 'https://gitlab.com/api/v4',
      project: 'acme/infra/platform',
      branch: 'main',
    },
  ],
  [
    'https://codeberg.org/acme/platform/',
    undefined,
    { type: 'gitea', api: 'https://codeberg.org/api/v1', project: 'acme/platform', branch: 'main' },
  ],
  [
    'http://127.0.0.1:3000/git/acme/platform.git',
    'gitea',
    {
      type: 'gitea',
      api: 'http://127.0.0.1:3000/git/api/v1',
      project: 'acme/platform',
      branch: 'main',
    },
  ],
  [
    'https://github.example.com/acme/platform',
    'github',
    {
      type: 'github',
      api: 'https://github.example.com/api/v3',
      project: 'acme/platform',
      branch: 'main',
    },
  ],
  ['https://forge.example.com/acme/platform.git', undefined, undefined],
  ['/srv/git/platform.git', 'gitea', undefined],
  ['https://codeberg.org/platform.git', undefined, undefined],
])('the forge of %s', (repository, type, expected) => {
  expect(forgeTarget({ repository, branch: 'main', type })).toEqual(expected);
});

test.each<[ForgeType, object]>([
  ['github', { state: 'pending', context: 'gitplane', description: 'Held: 14 of 40 go' }],
  ['gitea', { state: 'pending', context: 'gitplane', description: 'Held: 14 of 40 go' }],
  ['gitlab', { state: 'pending', name: 'gitplane', description: 'Held: 14 of 40 go' }],
])('sets a status on %s', async (type, body) => {
  const request = `POST ${HOMES[type]}/statuses/${SHA}`;
  const api = await recordedApi([{ request, status: 201, answer: { id: 1 } }]);
  const description = 'Held:\n14 of 40 go';
  const status = { commit: SHA, context: 'gitplane', state: 'pending', description } as const;
  await open(type, api).setStatus(status);
  expect(api.received).toMatchObject([{ headers: { authorization: 'Bearer t0k3n' }, body }]);
});

test('cuts a description to the limit of GitHub', async () => {
  const api = await recordedApi([{ request: `POST ${HOMES.github}/statuses/${SHA}` }]);
  const status = { commit: SHA, context: 'gitplane', state: 'failure' } as const;
  await open('github', api).setStatus({ ...status, description: 'x'.repeat(300) });
  expect(api.received[0]?.body.description).toHaveLength(140);
});

test('takes a status that GitLab has already as set', async () => {
  const request = `POST ${HOMES.gitlab}/statuses/${SHA}`;
  const message =
    'Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via "enqueue")';
  const api = await recordedApi([
    { request, status: 400, answer: { message } },
    {
      request: `GET ${HOMES.gitlab}/repository/commits/${SHA}/statuses`,
      answer: [{ name: 'gitplane', status: 'pending' }],
    },
  ]);
  const forge = open('gitlab', api);
  const status = { commit: SHA, context: 'gitplane', description: '' };
  await forge.setStatus({ ...status, state: 'pending' });
  await expect(forge.setStatus({ ...status, state: 'success' })).rejects.toMatchObject({
    problem: 'refused',
  });
});

const GITHUB_PULLS = [
  {
    number: 1347,
    html_url: 'https://github.com/octocat/Hello-World/pull/1347',
    head: { ref: 'new-topic', sha: SHA, repo: { id: 1296269 } },
    base: { ref: 'main', sha: OTHER, repo: { id: 1296269 } },
  },
  // The repository of a fork may be gone.
  { number: 2, html_url: 'x', head: { ref: 'f', sha: SHA, repo: null }, base: { ref: 'main' } },
  { number: 3, html_url: 'x', head: { ref: 'f', sha: SHA }, base: { ref: 'other' } },
];
const GITLAB_PULLS = [
  {
    iid: 1,
    web_url: 'http://example.com/example/example/merge_requests/1',
    source_branch: 'test1',
    target_branch: 'main',
    sha: OTHER,
    source_project_id: 3,
    target_project_id: 3,
  },
  { iid: 2, source_branch: 'f', sha: SHA, source_project_id: 2, target_project_id: 3 },
];

test.each<[ForgeType, string, unknown, object[]]>([
  [
    'github',
    'pulls',
    GITHUB_PULLS,
    [
      { number: 1347, head: 'new-topic', commit: SHA, isFork: false },
      { number: 2, isFork: true },
    ],
  ],
  ['gitea', 'pulls', GITHUB_PULLS, [{ number: 1347 }, { number: 2 }]],
  [
    'gitlab',
    'merge_requests',
    GITLAB_PULLS,
    [
      { number: 1, head: 'test1', commit: OTHER, isFork: false },
      { number: 2, isFork: true },
    ],
  ],
])('lists open pull requests of %s', async (type, path, answer, expected) => {
  const api = await recordedApi([{ request: `GET ${HOMES[type]}/${path}`, answer }]);
  expect(await open(type, api).openPulls()).toMatchObject(expected);
});

test.each<[ForgeType, string, unknown, object]>([
  ['github', 'pulls', GITHUB_PULLS[0], { head: 'w', base: 'main', title: 'T', body: 'B' }],
  ['gitea', 'pulls', GITHUB_PULLS[0], { head: 'w', base: 'main', title: 'T', body: 'B' }],
  [
    'gitlab',
    'merge_requests',
    GITLAB_PULLS[0],
    { source_branch: 'w', target_branch: 'main', title: 'T', description: 'B' },
  ],
])('opens a pull request on %s', async (type, path, answer, body) => {
  const api = await recordedApi([{ request: `POST ${HOMES[type]}/${path}`, status: 201, answer }]);
  const opened = await open(type, api).openPull({ head: 'w', title: 'T', body: 'B' });
  expect(opened.url).toContain('http');
  expect(api.received).toMatchObject([{ body }]);
});

const MARKER = '<!-- gitplane plan -->';

test.each<[ForgeType, string, string, string]>([
  ['github', 'issues/7/comments', 'PATCH', 'issues/comments/3'],
  ['gitea', 'issues/7/comments', 'PATCH', 'issues/comments/3'],
  ['gitlab', 'merge_requests/7/notes', 'PUT', 'merge_requests/7/notes/3'],
])('updates its own comment on %s, and no other', async (type, list, method, comment) => {
  const author = type === 'gitlab' ? 'author' : 'user';
  const own = { id: 3, body: `${MARKER}\nold`, [author]: { id: 12 } };
  // Anybody may write a comment with the marker.
  const imitation = { id: 2, body: `${MARKER}\nmine`, [author]: { id: 99 } };
  const api = await recordedApi([
    { request: 'GET /user', answer: { id: 12, login: 'gitplane' } },
    { request: `GET ${HOMES[type]}/${list}`, answer: [imitation] },
    { request: `GET ${HOMES[type]}/${list}`, answer: [imitation, own] },
    { request: `POST ${HOMES[type]}/${list}`, status: 201, answer: own },
    { request: `${method} ${HOMES[type]}/${comment}`, answer: own },
  ]);
  const forge = open(type, api);
  await forge.comment(pull, { marker: MARKER, body: 'first' });
  await forge.comment(pull, { marker: MARKER, body: 'second' });
  const writes = api.received.filter((one) => one.method !== 'GET');
  expect(writes.map((one) => [one.method, one.body.body])).toEqual([
    ['POST', `${MARKER}\nfirst`],
    [method, `${MARKER}\nsecond`],
  ]);
});

test('an app on GitHub, which has no user, knows its comment by its type', async () => {
  const list = `GET ${HOMES.github}/issues/7/comments`;
  const api = await recordedApi([
    { request: 'GET /user', status: 403, answer: { message: 'Resource not accessible' } },
    {
      request: list,
      answer: [
        { id: 1, body: `${MARKER}\nx`, user: { id: 5, type: 'User' } },
        { id: 2, body: `${MARKER}\nx`, user: { id: 6, type: 'Bot' } },
      ],
    },
    { request: `PATCH ${HOMES.github}/issues/comments/2`, answer: {} },
  ]);
  await open('github', api).comment(pull, { marker: MARKER, body: 'new' });
  expect(api.received.at(-1)?.method).toBe('PATCH');
});

const annotations = [
  { path: 'teams/a.yaml', line: 3, message: 'unknown field', isError: true },
  { path: 'teams/b.yaml', line: 1, message: 'deprecated', isError: false },
];

test('annotates with a check run on GitHub, once per commit', async () => {
  const runs = `GET ${HOMES.github}/commits/${SHA}/check-runs`;
  const api = await recordedApi([
    { request: runs, answer: { total_count: 0, check_runs: [] } },
    { request: runs, answer: { total_count: 1, check_runs: [{ id: 4 }] } },
    { request: `POST ${HOMES.github}/check-runs`, status: 201, answer: { id: 4 } },
  ]);
  const forge = open('github', api);
  await forge.annotate(pull, annotations);
  await forge.annotate(pull, annotations);
  const posts = api.received.filter(({ method }) => method === 'POST');
  expect(posts).toHaveLength(1);
  expect(posts[0]?.body).toMatchObject({
    head_sha: SHA,
    conclusion: 'failure',
    output: {
      annotations: [
        { path: 'teams/a.yaml', start_line: 3, end_line: 3, annotation_level: 'failure' },
        { annotation_level: 'warning' },
      ],
    },
  });
});

test('a token that may make no check run annotates nothing, and fails nothing', async () => {
  const api = await recordedApi([
    { request: `GET ${HOMES.github}/commits/${SHA}/check-runs`, answer: { total_count: 0 } },
    {
      request: `POST ${HOMES.github}/check-runs`,
      status: 403,
      answer: { message: 'You must authenticate via a GitHub App.' },
    },
  ]);
  await open('github', api).annotate(pull, annotations);
});

test('annotates with discussions on GitLab, and skips lines outside the difference', async () => {
  const home = `${HOMES.gitlab}/merge_requests/7`;
  const api = await recordedApi([
    { request: `GET ${home}/notes`, answer: [] },
    {
      request: `GET ${home}`,
      answer: { iid: 7, diff_refs: { base_sha: OTHER, start_sha: OTHER, head_sha: SHA } },
    },
    { request: `POST ${home}/discussions`, status: 400, answer: { message: 'line_code' } },
    { request: `POST ${home}/discussions`, status: 201, answer: { id: 'x' } },
  ]);
  await open('gitlab', api).annotate(pull, annotations);
  const posts = api.received.filter(({ method }) => method === 'POST');
  expect(posts.map(({ body }) => body.position.new_line)).toEqual([3, 1]);
});

test('reads the token file at each request', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'forge-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, 'token');
  const api = await recordedApi([{ request: `GET ${HOMES.gitea}/pulls`, answer: [] }]);
  const forge = open('gitea', api, { tokenFile });
  await expect(forge.openPulls()).rejects.toThrow(`Cannot read ${tokenFile} (ENOENT)`);
  for (const token of ['first', 'second']) {
    writeFileSync(tokenFile, `${token}\n`);
    await forge.openPulls();
  }
  writeFileSync(tokenFile, 'two\nlines');
  await expect(forge.openPulls()).rejects.toThrow(`${tokenFile} holds no token`);
  const used = api.received.map(({ headers }) => headers['authorization']);
  expect(used).toEqual(['Bearer first', 'Bearer second']);
});

test('lists a bounded number of pages', async () => {
  const full = Array.from({ length: 50 }, () => GITHUB_PULLS[0]);
  const api = await recordedApi([{ request: `GET ${HOMES.github}/pulls`, answer: full }]);
  expect(await open('github', api).openPulls()).toHaveLength(200);
});

test.each([
  [401, 'unavailable'],
  [404, 'refused'],
  [422, 'refused'],
  [502, 'unavailable'],
])('an answer %i is %s, and its text is not repeated', async (status, problem) => {
  const answer = { message: 'the token t0k3n is wrong' };
  const api = await recordedApi([{ request: `GET ${HOMES.gitea}/pulls`, status, answer }]);
  const failed = open('gitea', api).openPulls();
  await expect(failed).rejects.toMatchObject({ problem });
  await expect(failed).rejects.not.toThrow(/t0k3n/);
});

test('an answer that is no JSON, or of another form, is an error', async () => {
  const api = await recordedApi([{ request: `POST ${HOMES.gitea}/pulls`, answer: ['?'] }]);
  const opened = open('gitea', api).openPull({ head: 'w', title: 'T', body: 'B' });
  await expect(opened).rejects.toMatchObject({ problem: 'unavailable' });
});

test.each<ForgeType>(['github', 'gitea', 'gitlab'])(
  'a pull request of %s leads to a page',
  async (type) => {
    const request = type === 'gitlab' ? 'merge_requests' : 'pulls';
    const common = {
      number: 1,
      iid: 1,
      source_branch: 'w',
      sha: SHA,
      head: { ref: 'w', sha: SHA },
    };
    const url = async (address: string): Promise<string> => {
      const answer = { ...common, html_url: address, web_url: address };
      const api = await recordedApi([{ request: `POST ${HOMES[type]}/${request}`, answer }]);
      return (await open(type, api).openPull({ head: 'w', title: 't', body: 'b' })).url;
    };
    expect(await url('https://forge.example.com/ä/1')).toBe('https://forge.example.com/%C3%A4/1');
    expect(await url('javascript:alert(1)')).toBe('');
    expect(await url('no URL')).toBe('');
    expect(await url(`https://forge.example.com/${'x'.repeat(100_000)}`)).toBe('');
  },
);

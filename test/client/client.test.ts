/** The typed client against a real HTTP server: watches, repetition and refusals. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiError, ConnectionError, createClient } from '../../src/client/library.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const TEAMS = '/apis/management.gitplane.dev/v1/teams';

/** Answers the requests in order; the last answer repeats. Returns the client and the requested URLs. */
async function clientOf(answers: readonly Answer[], options = {}) {
  const urls: string[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(urls.length, answers.length - 1)];
    urls.push(request.url ?? '');
    answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { urls, client: createClient({ url: `http://127.0.0.1:${port}/`, ...options }) };
}

const json =
  (value: unknown, code = 200): Answer =>
  (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
const event = (type: string, name: string, resourceVersion: string) =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`;
const stream =
  (...lines: readonly string[]): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(lines.join(''));
  };
const cut: Answer = (request) => request.socket.destroy();
const status = (code: number) => ({
  kind: 'Status',
  reason: 'R',
  message: `refused ${code}`,
  code,
});

async function namesOf(events: AsyncIterable<{ object: { metadata: { name?: string } } }>) {
  const names: string[] = [];
  for await (const { object } of events) names.push(object.metadata.name ?? '');
  return names;
}

describe('watch', () => {
  test('goes on after the newest event or bookmark, and ends with 410', async () => {
    const { client, urls } = await clientOf([
      stream(event('ADDED', 'a', '7'), event('BOOKMARK', '', '9')),
      cut,
      stream(event('MODIFIED', 'b', '11')),
      json(status(410), 410),
    ]);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { object } of client.watch(TEAMS, { query: { resourceVersion: '5' } }))
        seen.push(object.metadata.name ?? '');
    })();
    await expect(watching).rejects.toMatchObject({ code: 410 });
    expect(seen).toEqual(['a', 'b']);
    const versions = urls.map((url) =>
      new URL(url, 'http://a').searchParams.get('resourceVersion'),
    );
    expect([...new Set(versions)]).toEqual(['5', '9', '11']);
  });

  test.each([
    ['a refusal', [json(status(503), 503)], ApiError],
    ['no answer', [cut], ConnectionError],
  ] as const)('fails where the first connection has %s', async (_what, answers, kind) => {
    const { client } = await clientOf(answers);
    await expect(namesOf(client.watch(TEAMS))).rejects.toThrow(kind);
  });

  test('ends when its signal is aborted', async () => {
    const { client } = await clientOf([stream(event('ADDED', 'a', '7'))]);
    const abort = new AbortController();
    const names: string[] = [];
    for await (const { object } of client.watch(TEAMS, { signal: abort.signal })) {
      names.push(object.metadata.name ?? '');
      abort.abort();
    }
    expect(names).toEqual(['a']);
  });
});

describe('requests', () => {
  test('are repeated without an answer, with one idempotency key', async () => {
    const keys: unknown[] = [];
    const keep =
      (answer: Answer): Answer =>
      (request, response) => {
        keys.push(request.headers['idempotency-key']);
        answer(request, response);
      };
    const { client } = await clientOf([keep(cut), keep(json({ metadata: { name: 'a' } }))]);
    await client.post(TEAMS, { body: { metadata: { name: 'a' } } });
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
  });

  test('fill the path, and never with nothing', async () => {
    const { client, urls } = await clientOf([json({})]);
    await client.get(`${TEAMS}/{name}`, { path: { name: 'a/b' } });
    expect(urls).toEqual([`/kubernetes/management${TEAMS}/a%2Fb`]);
    const nameless = client.get(`${TEAMS}/{name}`, { path: { name: '' } });
    await expect(nameless).rejects.toThrow('name is missing');
  });

  test('name another API group and root', async () => {
    const { client, urls } = await clientOf([json({})], { apiGroup: 'p.example', root: '/k/m' });
    await client.get(TEAMS);
    await client.get('/version');
    expect(urls).toEqual(['/k/m/apis/p.example/v1/teams', '/version']);
  });

  test.each([
    [json(status(422), 422), 'refused 422'],
    [json({ state: 'held' }, 409), 'The server answered 409'],
    [
      ((_request, response) => response.writeHead(502).end(' bad gateway\n')) as Answer,
      'bad gateway',
    ],
  ])('a refusal has a message and its body', async (answer, message) => {
    const { client } = await clientOf([answer]);
    await expect(client.get('/sync')).rejects.toMatchObject({ name: 'ApiError', message });
  });

  test('list yields the items of every page', async () => {
    const page = (name: string, token?: string) =>
      json({ metadata: { continue: token }, items: [{ metadata: { name } }] });
    const { client, urls } = await clientOf([page('a', 'next'), page('b')]);
    const names: string[] = [];
    for await (const { metadata } of client.list(TEAMS)) names.push(metadata.name ?? '');
    expect(names).toEqual(['a', 'b']);
    expect(urls[1]).toContain('continue=next');
  });
});

/** Webhooks as forges send them, and as nobody should. */
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServerDependencies } from '../../../src/server/dependencies.ts';
import { toStatusError } from '../../../src/server/errors.ts';
import { registerHooks } from '../../../src/server/filters/hooks.ts';

const SECRET = 'a-secret_of~32.characters-000000';
const BODY = '{"ref":"refs/heads/main"}';

const sign = (secret: string, body = BODY): string =>
  createHmac('sha256', secret).update(body).digest('hex');

function server() {
  // As in the program.
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  let notices = 0;
  const hooks = { secret: SECRET, notice: () => void notices++ };
  registerHooks(app, { hooks } as unknown as ServerDependencies);
  onTestFinished(() => app.close());
  const post = async (path: string, headers: Record<string, string> = {}, payload = BODY) => {
    const url = `/hooks/${path}`;
    return await app.inject({ method: 'POST', url, headers, payload });
  };
  return { app, post, notices: () => notices };
}

describe('a request that proves that it knows the secret is answered with 202', () => {
  test.each<[string, Record<string, string>]>([
    ['GitHub', { 'x-hub-signature-256': `sha256=${sign(SECRET)}`, 'x-hub-signature': 'sha1=0' }],
    ['Bitbucket', { 'x-hub-signature': `sha256=${sign(SECRET)}` }],
    ['GitLab', { 'x-gitlab-token': SECRET }],
    ['Gitea', { 'x-gitea-signature': sign(SECRET), 'x-gogs-signature': sign(SECRET) }],
    ['Forgejo', { 'x-forgejo-signature': sign(SECRET) }],
    ['a script, by its path alone', {}],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ])('%s', async (_forge, headers) => {
    const { post, notices } = server();
    const answer = await post(SECRET, { 'content-type': 'application/json', ...headers });
    expect(answer.statusCode).toBe(202);
    expect(notices()).toBe(1);
  });

  test('accepts a body and a content type that are absent', async () => {
    const { app, notices } = server();
    const answer = await app.inject({ method: 'POST', url: `/hooks/${SECRET}` });
    expect(answer.statusCode).toBe(202);
    expect(notices()).toBe(1);
  });
});

describe('a request that does not, does nothing', () => {
  test.each<[string, Record<string, string>]>([
    ['a signature with another secret', { 'x-hub-signature-256': `sha256=${sign('other')}` }],
    ['a signature of another body', { 'x-hub-signature-256': `sha256=${sign(SECRET, '{}')}` }],
    ['no digest', { 'x-hub-signature-256': 'sha256=' }],
    ['an empty token', { 'x-gitlab-token': '' }],
    ['another token', { 'x-gitlab-token': `${SECRET}x` }],
    ['a signature in upper case', { 'x-gitea-signature': sign(SECRET).toUpperCase() }],
    ['one right and one wrong', { 'x-gitlab-token': SECRET, 'x-gitea-signature': 'no' }],
  ])('%s', async (_what, headers) => {
    const { post, notices } = server();
    expect((await post(SECRET, headers)).statusCode).toBe(403);
    expect(notices()).toBe(0);
  });

  test.each(['', 'wrong', `${SECRET}x`, SECRET.slice(1), encodeURIComponent(`${SECRET}/`)])(
    'the path %j, signed or not',
    async (path) => {
      const { post, notices } = server();
      const headers = { 'x-hub-signature-256': `sha256=${sign(SECRET)}` };
      expect((await post(path, headers)).statusCode).toBe(404);
      expect(notices()).toBe(0);
    },
  );

  test('a body of more than 1 MiB, announced or not', async () => {
    const { app, post, notices } = server();
    const large = 'x'.repeat(1024 * 1024 + 1);
    const answer = await post(SECRET, { 'content-type': 'application/json' }, large);
    expect(answer.statusCode).toBe(413);
    expect(answer.body).toBe('The body is larger than 1048576 bytes\n');
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    expect(await streamEndlessly(`${url}/hooks/${SECRET}`)).toBe(413);
    expect(notices()).toBe(0);
  });

  test('an unauthenticated client’s body is not waited for', async () => {
    const { app } = server();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const code = await new Promise((done, fail) => {
      const headers = { 'content-length': '1000000' };
      const options = { port, method: 'POST', path: '/hooks/wrong', headers };
      const sent = request(options, (answer) => {
        done(answer.statusCode);
        sent.destroy();
      });
      sent.on('error', fail);
      // The head alone.
      sent.flushHeaders();
    });
    expect(code).toBe(404);
  });
});

describe('a flood', () => {
  test('a flood of unauthenticated clients is refused and does not keep the forge out', async () => {
    const { post, notices } = server();
    const codes = await Promise.all(Array.from({ length: 200 }, () => post('wrong')));
    expect(codes.filter(({ statusCode }) => statusCode === 404).length).toBeLessThan(60);
    expect(codes.filter(({ statusCode }) => statusCode === 429).length).toBeGreaterThan(140);
    expect((await post(SECRET)).statusCode).toBe(202);
    expect(notices()).toBe(1);
  });

  test('a flood of the forge itself is slowed down', async () => {
    const { post, notices } = server();
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(SECRET)));
    const turnedAway = answers.filter(({ statusCode }) => statusCode === 429);
    expect(turnedAway.length).toBeGreaterThan(140);
    expect(turnedAway[0]?.headers['retry-after']).toBe('1');
    expect(notices()).toBe(200 - turnedAway.length);
  });
});

/** Sends chunks until the server answers; returns the status. Undefined: the connection ended without an answer. */
function streamEndlessly(url: string): Promise<number | undefined> {
  return new Promise((done) => {
    const sent = request(url, { method: 'POST' }, (answer) => {
      answer.resume();
      clearInterval(more);
      done(answer.statusCode);
      sent.destroy();
    });
    sent.on('error', () => {
      clearInterval(more);
      done(undefined);
    });
    const more = setInterval(() => sent.write('x'.repeat(64 * 1024)), 1);
  });
}

describe('a request by another method or path', () => {
  const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

  test.each(METHODS)('%s is refused by the route itself, and does nothing', async (method) => {
    const { app, notices } = server();
    const known = await app.inject({ method, url: `/hooks/${SECRET}` });
    expect([known.statusCode, known.headers.allow]).toEqual([405, 'POST']);
    const unknown = await app.inject({ method, url: '/hooks/wrong' });
    expect([unknown.statusCode, unknown.headers.allow]).toEqual([404, undefined]);
    expect(notices()).toBe(0);
  });

  test.each([`${SECRET}/`, `${SECRET}/more`, '', `/${SECRET}`])(
    'a POST at /hooks/%s is not found',
    async (path) => {
      const { post, notices } = server();
      const answer = await post(path);
      expect(answer.statusCode).toBe(404);
      expect(notices()).toBe(0);
    },
  );
});

test('a method that takes a content type, without one, is an error of the client', async () => {
  const { app } = server();
  let unexpected = true;
  app.setErrorHandler((error, _request, reply) => {
    const known = toStatusError(error);
    unexpected = known.unexpected;
    return reply.code(known.status.code).send();
  });
  const { statusCode } = await app.inject({ method: 'QUERY' as 'GET', url: `/hooks/${SECRET}` });
  expect([statusCode, unexpected]).toEqual([400, false]);
});

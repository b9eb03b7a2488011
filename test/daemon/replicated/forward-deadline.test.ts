/** Requests that a front hands to a leader which takes them and says nothing, or stops: each of them ends. */
import { once } from 'node:events';
import { get } from 'node:http';
import { expect, test } from 'vitest';
import { VERSION_HEADER } from '../../../src/server/leader-proxy/headers.ts';
import { ask, EagerEngine, openTestFront, PlayedElection, TEAMS } from '../../support/fronts.ts';
import { openTestPlatform } from '../../support/platform.ts';
import { RecordedHistory } from '../../support/recorded-engine.ts';

const ANSWER_MS = 300;

test.each([
  ['a write', 'POST', TEAMS, '{}', {}],
  ['a read that only the leader answers', 'GET', '/sync', undefined, {}],
  ['a push', 'POST', '/git/platform.git/git-receive-pack', '0000', {}],
  [
    'a push without an announced length',
    'POST',
    '/git/platform.git/git-receive-pack',
    '0000',
    { 'transfer-encoding': 'chunked' },
  ],
] as const)(
  '%s is 503 with Retry-After where the leader does not answer',
  async (_what, method, path, body, headers) => {
    const history = new RecordedHistory();
    const platform = await openTestPlatform({ engine: new EagerEngine(history) });
    await platform.store.flush();
    const election = new PlayedElection();
    const { url } = await openTestFront({
      history,
      election,
      timeoutMs: 200,
      answerMs: ANSWER_MS,
    });
    await election.elect(() => new Promise(() => undefined));
    const begun = performance.now();
    const answer = await ask(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    expect([answer.code, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.text).toContain('may still take effect');
    expect(performance.now() - begun).toBeLessThan(ANSWER_MS * 20);
  },
);

/** A front on a state that nobody writes, with the deadlines of every day. */
async function openFront(election: PlayedElection): Promise<string> {
  const history = new RecordedHistory();
  const platform = await openTestPlatform({ engine: new EagerEngine(history) });
  await platform.store.flush();
  const front = await openTestFront({ history, election, timeoutMs: 200 });
  await front.store.ready();
  return front.url;
}

test('a write ends long before its deadline when the leader is not reached any more', async () => {
  const election = new PlayedElection();
  const url = await openFront(election);
  await election.elect(() => {
    election.isReached = false;
    return new Promise(() => undefined);
  });

  const answer = await ask(url + TEAMS, { method: 'POST', body: '{}' });

  expect([answer.code, answer.headers['retry-after']]).toEqual([503, '1']);
  expect(answer.text).toContain('may still take effect');
});

test('a write that was made is 504 at once where its replica does not hear etcd', async () => {
  const election = new PlayedElection();
  const url = await openFront(election);
  await election.elect((_request, response) => {
    election.silentMs = 1_000;
    response.writeHead(201, { [VERSION_HEADER]: String(Number.MAX_SAFE_INTEGER) }).end('{}');
  });

  const answer = await ask(url + TEAMS, { method: 'POST', body: '{}' });

  expect(answer.code).toBe(504);
  expect(answer.text).toContain('the write was made');
});

test.each([
  ['a write', TEAMS, 2, 201, 'done'],
  ['a push', '/git/platform.git/git-receive-pack', 1, 503, 'may still take effect'],
] as const)(
  '%s ends when the leader dies in its answer while the replica waits for the version of it',
  async (_what, path, asked, code, text) => {
    const history = new RecordedHistory();
    const platform = await openTestPlatform({ engine: new EagerEngine(history) });
    await platform.store.flush();
    const election = new PlayedElection();
    const { url, store } = await openTestFront({ history, election, timeoutMs: 20_000 });
    await store.ready();
    let times = 0;
    const leader = await election.elect((request, response) => {
      times += 1;
      if (times > 1) return void response.writeHead(201).end('done');
      leader.version = platform.store.resourceVersion + 1;
      response.writeHead(201, { 'content-length': '10' });
      response.write('begun', () => setImmediate(() => request.socket.destroy()));
      request.socket.once('close', async () => {
        // The replica has noticed the end of the connection when it has answered another request.
        await ask(`${url}/livez`);
        await platform.create('teams', { metadata: { name: 'next' } });
      });
    });

    const answer = await ask(url + path, { method: 'POST', body: '{}' });

    expect([answer.code, times]).toEqual([code, asked]);
    expect(answer.text).toContain(text);
  },
);

test('a watch of a leader that is paused ends when another replica leads', async () => {
  const election = new PlayedElection();
  const url = await openFront(election);
  await election.elect((_request, response) => void response.writeHead(200).write('an event'));
  const path = '/kubernetes/management/api/v1/namespaces?watch=true';
  const [watch] = await once(get(url + path, { agent: false }), 'response');
  await once(watch, 'data');
  watch.resume();
  const ended = once(watch, 'end');

  await election.elect((_request, response) => void response.end());

  await ended;
  expect(watch.complete).toBe(true);
});

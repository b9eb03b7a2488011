/** Requests that a front hands to a leader which takes them and says nothing, or stops: each of them ends. */
import { expect, test } from 'vitest';
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
      patienceMs: 200,
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

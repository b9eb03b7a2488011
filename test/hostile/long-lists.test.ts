/** Lists with more items than one call of a function can have arguments, some 125,000. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commitFiles, gitIn, hookSaid, manifest } from '../e2e/clones.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const LONG = 130_000;
const TEAM = `${API}/teams/long`;
/** As many as one file may have. */
const DOCUMENTS = 5000;
const MERGE = 'application/merge-patch+json';

let daemon: Daemon;
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon();
  clone = await daemon.clone();
});
afterAll(() => daemon.stop());

async function push(files: Readonly<Record<string, string>>): Promise<string[]> {
  await commitFiles(daemon, clone, files);
  return hookSaid(await daemon.git(['push', '-q', 'origin', 'main'], clone));
}

describe('a team of many users', () => {
  beforeAll(async () => {
    const users = Array.from({ length: LONG }, (_, at) => `u${at}`);
    const said = await push({ 'teams/long.yaml': manifest('Team', 'long', `{users: [${users}]}`) });
    expect(said).toEqual(['accepted: 1 created, 0 changed, 0 removed']);
  });

  test.each<[title: string, method: string, path: string, code: number, options?: object]>([
    ['is read', 'GET', TEAM, 200],
    [
      'is read as a table',
      'GET',
      TEAM,
      200,
      { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    ],
    ['is in a list', 'GET', `${API}/teams`, 200],
    ['is in a list of the past', 'GET', `${API}/teams?atTime=2100-01-01T00:00:00Z`, 200],
    ['has a history', 'GET', `${TEAM}/history`, 200],
    ['has a blame', 'GET', `${TEAM}/blame`, 200],
    [
      'is refused to a patch',
      'PATCH',
      TEAM,
      409,
      { body: { metadata: { labels: { a: 'b' } } }, type: MERGE },
    ],
    ['is deleted in a dry run', 'DELETE', `${TEAM}?dryRun=All`, 200],
  ])('%s', async (_title, method, path, code, options = {}) => {
    const answer = await daemon.call(method, path, options);
    expect(answer.code, answer.text.slice(0, 500)).toBe(code);
  });
});

test('a push with many documents of one name is refused with their places', async () => {
  const file = `---\n${manifest('Team', 'same')}`.repeat(DOCUMENTS);
  const names = Array.from({ length: LONG / DOCUMENTS }, (_, at) => `same/${at}.yaml`);
  const said = await push(Object.fromEntries(names.map((name) => [name, file])));
  expect(said[0]).toMatch(
    /^same\/0\.yaml:\d+:1: Team "same" is also at .* and \d+ more places; keep one of them$/,
  );
  expect(said).toContain(`${LONG} problems; nothing was changed`);
  await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
});
